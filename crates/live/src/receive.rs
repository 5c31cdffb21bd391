//! Receiving datagrams: many with one call of the kernel, each with all that the kernel says of it.
//!
//! Follows recvmmsg(2), ip(7), ipv6(7), udp(7) (UDP_GRO) and socket(7) (SO_TIMESTAMPNS).
//! Differs from `quinn-udp`, which sets these options: its room for control messages ends before the ECN field of combined datagrams.
//! Leaves out sending.

use crate::kernel_address::address;
use skyhop_wire::Ecn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;
use std::time::Duration;

/// Datagrams read by one call of the kernel, each perhaps combined from many.
pub(crate) const BATCH: usize = 8;
/// Room for control messages: a time (32 bytes), GRO's size (24), an address (40 with IPv6) and the ECN field (24), with some to spare.
const CONTROL: usize = 192;

/// Datagrams combined by the kernel: those of one sender with the same ECN field, all as long as the first except the last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    /// Bytes of all.
    pub len: usize,
    /// Bytes of each but the last.
    pub stride: usize,
    /// Source.
    pub from: Option<SocketAddr>,
    /// Destination, one of this host's addresses.
    pub at: Option<IpAddr>,
    /// ECN field.
    pub field: Ecn,
    /// The kernel's time of arrival since 1970.
    pub stamp: Option<Duration>,
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

/// Reads available datagrams into `buffers`, one for each run. Returns the number of runs.
pub(crate) fn receive(
    socket: RawFd,
    buffers: &mut [&mut [u8]; BATCH],
    runs: &mut [Run; BATCH],
) -> io::Result<usize> {
    let mut controls = [Control([0; CONTROL]); BATCH];
    // SAFETY: all zeros is a valid value of these structures.
    let (mut names, mut parts, mut messages) = unsafe {
        std::mem::zeroed::<([libc::sockaddr_storage; BATCH], [libc::iovec; BATCH], [libc::mmsghdr; BATCH])>()
    };
    for (place, buffer) in buffers.iter_mut().enumerate() {
        parts[place] = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let message = &mut messages[place].msg_hdr;
        message.msg_name = (&raw mut names[place]).cast();
        message.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        message.msg_iov = &raw mut parts[place];
        message.msg_iovlen = 1;
        message.msg_control = controls[place].0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL;
    }
    let count = loop {
        // SAFETY: the messages name buffers that outlive the call, with their lengths.
        let count = unsafe {
            libc::recvmmsg(
                socket,
                messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(count) {
            Ok(count) => break count,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    };
    for place in 0..count {
        let len = messages[place].msg_len as usize;
        // SAFETY: the kernel has filled in the message, and the address.
        runs[place] = unsafe {
            let from = address(&names[place]);
            told(&messages[place].msg_hdr, Run { len, stride: len, from, ..Run::default() })
        };
    }
    Ok(count)
}

/// The run with what its control messages say.
///
/// # Safety
/// The kernel must have filled in the message, whose control messages must still exist.
unsafe fn told(message: &libc::msghdr, mut run: Run) -> Run {
    let field = |byte: u8| match byte & 3 {
        1 => Ecn::Capable1,
        2 => Ecn::Capable0,
        3 => Ecn::Marked,
        _ => Ecn::NotCapable,
    };
    // SAFETY: as above.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: it points to a header within the control messages, or is null.
    while let Some(header) = unsafe { next.as_ref() } {
        // SAFETY: each message has a value of the type that its manual names; they need not be aligned.
        unsafe {
            let value = libc::CMSG_DATA(header);
            match (header.cmsg_level, header.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => run.field = field(value.read()),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    run.field = field(value.cast::<libc::c_int>().read_unaligned() as u8);
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let address = value.cast::<libc::in_pktinfo>().read_unaligned().ipi_addr;
                    run.at = Some(Ipv4Addr::from(address.s_addr.to_ne_bytes()).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let address = value.cast::<libc::in6_pktinfo>().read_unaligned().ipi6_addr;
                    run.at = Some(Ipv6Addr::from(address.s6_addr).into());
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    run.stride = value.cast::<libc::c_int>().read_unaligned().max(1) as usize;
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = value.cast::<libc::timespec>().read_unaligned();
                    run.stamp = u64::try_from(time.tv_sec)
                        .ok()
                        .map(|seconds| Duration::new(seconds, time.tv_nsec as u32));
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(message, header);
        }
    }
    run
}
