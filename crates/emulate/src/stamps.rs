//! Times at which the kernel passed frames to a device, which a sleeping reader would see later.
//!
//! Follows packet(7) and SO_TIMESTAMPNS of socket(7): a packet socket for frames that leave by the device, with one byte of each.
//! Differs from a capture: only the first frame after a rest matters, so the socket's buffer holds a few stamps and the kernel
//! drops the others.
//! Leaves out frames that arrive by the device, which its filter drops.

use libc::{c_int, c_void, socklen_t};
use skyhop_units::Time;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Size of the socket's buffer, bytes, which the kernel doubles; and a number of stamps that exceeds its capacity even for the
/// smallest frames.
const MEMORY: c_int = 8192;
const MOST: usize = 64;
/// `SCM_TIMESTAMPNS` is the option's number.
const TIMESTAMP: c_int = libc::SO_TIMESTAMPNS;

/// Stamps of the frames that leave by a device.
pub struct Stamps {
    fd: OwnedFd,
}

impl Stamps {
    /// Stamps of a device of the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// The kernel has no packet sockets, or does not allow one.
    pub fn open(device: u32) -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no memory is handed over.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let stamps = Self { fd };
        let mut outgoing = [
            // The packet's type; one byte of outgoing packets, nothing of others.
            instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0, 0, PACKET_TYPE),
            instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, u32::from(libc::PACKET_OUTGOING)),
            instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 1),
            instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
        ];
        let program = libc::sock_fprog { len: outgoing.len() as u16, filter: outgoing.as_mut_ptr() };
        stamps.set(libc::SO_ATTACH_FILTER, &program)?;
        stamps.set(libc::SO_TIMESTAMPNS, &(1 as c_int))?;
        stamps.set(libc::SO_RCVBUF, &MEMORY)?;
        // SAFETY: zero is a value of each of its fields.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = device as c_int;
        let len = size_of_val(&address) as socklen_t;
        // SAFETY: the address lives through the call and has the length given.
        match unsafe { libc::bind(stamps.fd.as_raw_fd(), (&raw const address).cast(), len) } {
            0 => Ok(stamps),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn set<T>(&self, option: c_int, value: &T) -> io::Result<()> {
        let len = size_of::<T>() as socklen_t;
        let value: *const T = value;
        // SAFETY: the value lives through the call and has the length given.
        match unsafe {
            libc::setsockopt(self.fd.as_raw_fd(), libc::SOL_SOCKET, option, value.cast::<c_void>(), len)
        } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Time of the first frame since `empty`, when the device had none. Discards all earlier stamps.
    pub fn first_since(&self, empty: Time, of_day: impl Fn(u64) -> Time) -> Option<Time> {
        let stamps = std::iter::from_fn(|| self.next()).take(MOST).map(of_day);
        stamps.fold(None, |first, stamp| first.or((stamp >= empty).then_some(stamp)))
    }

    /// The next stamp, in nanoseconds of the wall clock.
    fn next(&self) -> Option<u64> {
        let mut byte = 0u8;
        let mut control = [0u64; 8];
        let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // SAFETY: zero is a value of each of its fields.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: everything that the message points to lives through the call and has the length given.
        if unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) } < 0 {
            return None;
        }
        // SAFETY: the kernel has written whole headers into `control`, which is aligned for them.
        unsafe {
            let mut header = libc::CMSG_FIRSTHDR(&raw const message);
            while !header.is_null() {
                if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == TIMESTAMP {
                    let stamp = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                    return Some(stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64);
                }
                header = libc::CMSG_NXTHDR(&raw const message, header);
            }
        }
        None
    }
}

/// The place of a packet's type in the filter's memory: `SKF_AD_OFF + SKF_AD_PKTTYPE`.
const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RunClock;
    use crate::namespace::Namespace;
    use crate::netlink::Netlink;
    use skyhop_units::Span;
    use std::net::UdpSocket;

    /// The first index of a namespace is loopback's.
    const LOOPBACK: u32 = 1;

    /// Sends a frame over loopback; the times before and after it.
    fn send(clock: &RunClock) -> [Time; 2] {
        let before = clock.now();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
        [before, clock.now()]
    }

    /// Checks the stamps of a namespace in which nobody else sends: a few frames of others fill the socket's buffer.
    fn check(stamps: &Stamps) {
        let clock = RunClock::start();
        let first_since = |at: Time| stamps.first_since(at, |ns| clock.of_day(ns));
        // The kernel starts to stamp frames a little later, on a busy machine much later; until then stamps are made when they are
        // read.
        let stamped = (0..100).any(|_| {
            clock.sleep(Span::from_millis(50));
            let sent = send(&clock);
            clock.sleep(Span::from_millis(1));
            first_since(sent[0]).is_some_and(|came| came <= sent[1])
        });
        assert!(stamped, "no frame of a hundred has its instant");
        let first = send(&clock);
        let second = send(&clock);
        let came = first_since(second[0]).unwrap();
        assert!(
            came >= second[0] && came <= second[1],
            "{came:?} is not in {second:?}; the first is in {first:?}"
        );
        // A full buffer has no room for another stamp, and is empty once read.
        for _ in 0..100 {
            send(&clock);
        }
        let late = send(&clock);
        assert_eq!(first_since(late[0]), None);
        let third = send(&clock);
        let came = first_since(third[0]).unwrap();
        assert!(came >= third[0] && came <= third[1], "{came:?} is not in {third:?}");
    }

    #[test]
    fn the_first_frame_that_is_not_read_yet_has_its_instant() {
        let made = Namespace::with(|| {
            Netlink::open()?.set_up(LOOPBACK, None, None)?;
            Ok(Stamps::open(LOOPBACK))
        });
        match made {
            Ok((namespace, Ok(stamps))) => namespace.within(|| check(&stamps)).unwrap(),
            Ok((_, Err(why))) => println!("skipped: no packet socket here: {why}"),
            Err(why) => println!("skipped: no namespace here: {why}"),
        }
    }
}
