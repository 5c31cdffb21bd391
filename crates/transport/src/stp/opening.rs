//! Opening of a connection: the identity that both ends agree on.
//!
//! Follows docs/stp.md §3.2 and §5: ports and instance are in every packet, the connection count in BGN and BGNAK.
//! Differs from the wire: addresses are the caller's.
//! Leaves out the packets that carry it (`transmit`).

/// Identity of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// This end's port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// Chosen by the initiator; a listener takes it from the BGN.
    pub instance: u16,
    /// The initiator's connection count; a listener takes it from the BGN.
    pub count: u32,
}
