//! Memory of received packets, used again.
//!
//! Each packet's data have memory of their own, so that data which a stream holds for long keep nothing else.
//! Differs from the allocator, which searches for memory of a packet's size; here the memory freed last is the next to be used.
//! Leaves out packets so small that the allocator is fast.

use bytes::Bytes;
use std::sync::{Arc, Mutex, PoisonError};

/// Length from which memory is used again, bytes.
const LEAST: usize = 1024;
/// Bytes that are kept while they are unused.
const KEPT_MAX: usize = 1 << 20;

type UnusedMemory = Arc<Mutex<Vec<Vec<u8>>>>;

/// The unused memory.
#[derive(Debug, Default)]
pub(super) struct PacketBuffers {
    free: UnusedMemory,
}

impl PacketBuffers {
    /// A copy of a packet's data.
    pub fn copy(&self, data: &[u8]) -> Bytes {
        if data.len() < LEAST {
            return Bytes::copy_from_slice(data);
        }
        // A budget counts the data: memory that is much larger would hold more than it says.
        let fits = |bytes: &Vec<u8>| (data.len()..=data.len() + data.len() / 4).contains(&bytes.capacity());
        let used = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop().filter(fits);
        let mut bytes = used.unwrap_or_else(|| Vec::with_capacity(data.len()));
        bytes.extend_from_slice(data);
        Bytes::from_owner(Lent { bytes, home: self.free.clone() })
    }
}

/// Memory in use. It returns when the last part of the data is dropped.
struct Lent {
    bytes: Vec<u8>,
    home: UnusedMemory,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let mut free = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if (free.len() + 1) * bytes.capacity() <= KEPT_MAX {
            free.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_little_of_it_is_kept() {
        let buffers = PacketBuffers::default();
        let kept = || buffers.free.lock().unwrap().iter().map(Vec::capacity).sum::<usize>();
        let first = buffers.copy(&[1; 1400]);
        let part = first.slice(1000..);
        drop(first);
        assert_eq!((kept(), &part[..]), (0, &[1; 400][..]), "a part of it is in use");
        let at = part.as_ptr() as usize - 1000;
        drop(part);
        let second = buffers.copy(&[2; 1300]);
        assert_eq!((second.as_ptr() as usize, &second[..]), (at, &[2; 1300][..]));
        let many: Vec<Bytes> = (0..2000).map(|_| buffers.copy(&[3; 1400])).collect();
        drop((second, many));
        assert!((KEPT_MAX / 2..=KEPT_MAX).contains(&kept()), "{} bytes", kept());
        let large = buffers.copy(&[4; 9000]);
        assert!(large.iter().all(|byte| *byte == 4));
        let small = buffers.copy(&[5; 10]);
        assert_eq!(&small[..], [5; 10]);
    }
}
