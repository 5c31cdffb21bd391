//! Addresses of nodes, in 10.0.0.0/8 by their numbers.

use std::net::Ipv4Addr;

/// The address of a node: 10.0.0.1 is node 0.
pub fn address(node: u32) -> Ipv4Addr {
    // No address ends in 0 below 10.0.1.0, which is enough to read a capture by.
    Ipv4Addr::from(0x0a00_0001 + (node & 0x00ff_ffff))
}
