//! Addresses as the kernel writes them.
//!
//! Follows ip(7) and ipv6(7): a family, and a structure of that family.
//! Differs from `socket2`, whose addresses own their memory: here they are in the buffers of messages.
//! Leaves out addresses of other families.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// The address in a structure of the kernel; `None` if it is of another family than IPv4 and IPv6.
///
/// # Safety
/// The kernel must have filled it in.
pub(crate) unsafe fn address(of: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(of.ss_family) {
        libc::AF_INET => {
            // SAFETY: of that family it is of this type.
            let of = unsafe { &*(&raw const *of).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(of.sin_addr.s_addr));
            Some(SocketAddr::new(ip.into(), u16::from_be(of.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let of = unsafe { &*(&raw const *of).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(of.sin6_addr.s6_addr);
            let port = u16::from_be(of.sin6_port);
            Some(SocketAddr::V6(SocketAddrV6::new(ip, port, 0, of.sin6_scope_id)))
        }
        _ => None,
    }
}
