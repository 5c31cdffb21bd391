//! Memory that this process has allocated, to the byte.
//!
//! Differs from the resident set, which has pages of what is gone.
//! Leaves out stacks, and what the kernel holds for sockets.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

/// An instant to which memory is compared.
pub struct Heap(usize);

impl Heap {
    /// Memory as it is, from which growth and peak count.
    pub fn now() -> Self {
        let now = NOW.load(Ordering::Relaxed);
        PEAK.store(now, Ordering::Relaxed);
        Heap(now)
    }

    /// Bytes more than then, at the peak.
    #[allow(dead_code, reason = "not every test asks")]
    pub fn peak_growth(&self) -> usize {
        PEAK.load(Ordering::Relaxed).saturating_sub(self.0)
    }

    /// Bytes more than then, now.
    #[allow(dead_code, reason = "not every test asks")]
    pub fn growth(&self) -> usize {
        NOW.load(Ordering::Relaxed).saturating_sub(self.0)
    }
}
