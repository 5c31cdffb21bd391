//! Keys by which a gateway tells the sockets of its poller apart.
//!
//! Follows epoll(7), which gives a socket's number back with its events. Leaves out the keys of the thread itself (`daemon`), which are
//! the smallest.

/// The first key of connections, with two keys each: the socket's, and the client's if there is no far gateway.
pub const FIRST_FLOW: usize = 1024;
/// Keys of the sockets for intercepted datagrams, one for each version of IP.
pub const UDP_LISTENERS: usize = 8;
/// The first key of UDP flows.
pub const FIRST_UDP: usize = 1 << 40;
/// The two keys of a connection, after its first one.
pub const FAR: usize = 0;
pub const USER: usize = 1;
