//! Node addresses, numbered within 10.0.0.0/8.

use std::net::Ipv4Addr;

/// The address of a node: 10.0.0.1 is node 0.
pub fn address(node: u32) -> Ipv4Addr {
    // Below 10.0.1.0 no address ends in 0, which makes captures of small networks easy to read.
    Ipv4Addr::from(0x0a00_0001 + (node & 0x00ff_ffff))
}
