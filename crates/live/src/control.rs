//! Control messages between two hosts inside an association, in addition to STP's packets: questions about an older association,
//! and checks of an address.
//!
//! Follows RFC 9000 §8.2 (validation of a new path) and §10.3 (stateless reset).
//! Differs: in place of §10.3's token, which everyone can read once it was used, there is a question inside a new association, so
//! that only a host with the key can end anything. Leaves out the times of questions (`probes`, `roaming`).

use crate::handshake::{INDEX_MASK, index_of, kind};

/// A control message. It is shorter than any STP packet, by which the two are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// Question whether the receiver still knows the association with this index of its own.
    Ask(u32),
    /// Answer: the association is known.
    Here(u32),
    /// Answer: the association is unknown.
    Gone(u32),
    /// Challenge of an address: the receiver returns these bytes.
    Challenge([u8; 8]),
    /// The bytes of a challenge received.
    Response([u8; 8]),
    /// The sender forgets the association.
    Bye,
}

/// Smallest STP packet, which is its header; shorter contents of a sealed packet are a control message.
pub(crate) const STP_MIN: usize = 12;

impl Message {
    pub fn emit(self, out: &mut Vec<u8>) {
        let (number, index, token) = match self {
            Message::Bye => return out.push(6),
            Message::Ask(index) => (1, index, None),
            Message::Here(index) => (2, index, None),
            Message::Gone(index) => (3, index, None),
            Message::Challenge(token) => (4, 0, Some(token)),
            Message::Response(token) => (5, 0, Some(token)),
        };
        out.push(number);
        match token {
            Some(token) => out.extend_from_slice(&token),
            None => out.extend_from_slice(&index.to_be_bytes()[1..]),
        }
    }

    pub fn parse(contents: &[u8]) -> Option<Self> {
        let (number, rest) = contents.split_first()?;
        let index = || (rest.len() == 3).then(|| index_of(rest));
        match number {
            1 => Some(Message::Ask(index()?)),
            2 => Some(Message::Here(index()?)),
            3 => Some(Message::Gone(index()?)),
            4 => Some(Message::Challenge(rest.try_into().ok()?)),
            5 => Some(Message::Response(rest.try_into().ok()?)),
            6 => rest.is_empty().then_some(Message::Bye),
            _ => None,
        }
    }
}

const UNKNOWN_LEN: usize = 12;

/// An unproven message that the association of a sealed packet is unknown; it quotes the packet's first bytes.
pub fn unknown_packet(sealed: &[u8]) -> Option<Vec<u8>> {
    let mut packet = sealed.get(..UNKNOWN_LEN)?.to_vec();
    packet[0] = kind::UNKNOWN;
    Some(packet)
}

/// The index and the counter quoted in such a message.
pub fn parse_unknown(packet: &[u8]) -> Option<(u32, u64)> {
    let counter = packet.get(4..UNKNOWN_LEN)?.try_into().ok()?;
    let whole = packet.len() == UNKNOWN_LEN && packet[0] == kind::UNKNOWN;
    whole.then(|| (index_of(&packet[1..4]) & INDEX_MASK, u64::from_be_bytes(counter)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back_and_are_shorter_than_stp() {
        let token = *b"12345678";
        let index = 0xab_cdef;
        for message in [
            Message::Ask(index),
            Message::Here(index),
            Message::Gone(index),
            Message::Challenge(token),
            Message::Response(token),
            Message::Bye,
        ] {
            let mut bytes = Vec::new();
            message.emit(&mut bytes);
            assert!(bytes.len() < STP_MIN);
            assert_eq!(Message::parse(&bytes), Some(message));
            assert_eq!(Message::parse(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(Message::parse(&[]), None);
        assert_eq!(Message::parse(&[9, 1, 2, 3]), None);
    }
}
