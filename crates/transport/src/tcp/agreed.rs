//! Options agreed on by both ends' SYNs, except timestamps.
//!
//! Follows RFC 2018 §2 (SACK permitted), RFC 7323 §2 (window scale), RFC 3168 §6.1.1 (ECN).
//! Leaves out the segment size (`path_mtu`) and options that open a connection at once (`opening`).

use super::config::Config;
use skyhop_wire::{Flags, TcpHeader};

#[derive(Debug)]
pub(super) struct Agreed {
    pub sack: bool,
    /// True if both ends use ECN.
    pub ecn: bool,
    /// Shifts of received and sent windows.
    pub scale_in: u8,
    pub scale_out: u8,
}

impl Agreed {
    /// Options that an end offers; [`Agreed::meet`] agrees on them.
    pub fn offer(config: &Config) -> Self {
        Self { sack: config.sack(), ecn: config.ecn, scale_in: 0, scale_out: config.window_scale() }
    }

    /// Handles the peer's SYN, or its answer.
    pub fn meet(&mut self, tcp: &TcpHeader) {
        self.sack &= tcp.sack_permitted;
        // RFC 3168 §6.1.1: requested with ECE and CWR, granted with ECE alone.
        let both = tcp.flags.has(Flags::ECE) && tcp.flags.has(Flags::CWR);
        self.ecn &= if tcp.flags.has(Flags::ACK) { tcp.flags.has(Flags::ECE) && !both } else { both };
        // RFC 7323 §2.2 and §2.3: both or neither, and at most 14.
        match tcp.window_scale {
            Some(scale) => self.scale_in = scale.min(14),
            None => self.scale_out = 0,
        }
    }

    /// The shift that a SYN announces; in an answer only if the other end's SYN had one, or needed none.
    pub fn announced_scale(&self, answering: bool) -> Option<u8> {
        (!answering || self.scale_out > 0 || self.scale_in > 0).then_some(self.scale_out)
    }

    /// The ECN flags of a SYN, or of an answer.
    pub fn ecn_flags(&self, answering: bool) -> Flags {
        match (self.ecn, answering) {
            (false, _) => Flags(0),
            (true, true) => Flags::ECE,
            (true, false) => Flags::ECE | Flags::CWR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_end_lacks_is_not_agreed_on() {
        let config = Config { ecn: true, window: 1_000_000, ..Config::default() };
        let syn = TcpHeader {
            flags: Flags::SYN | Flags::ECE | Flags::CWR,
            sack_permitted: true,
            window_scale: Some(20),
            ..TcpHeader::default()
        };
        let answer = Flags::SYN | Flags::ACK;
        // The header received, then SACK, ECN, and both shifts.
        for (tcp, sack, ecn, scales) in [
            (syn, true, true, (14, 4)),
            (TcpHeader { sack_permitted: false, ..syn }, false, true, (14, 4)),
            (TcpHeader { window_scale: None, ..syn }, true, true, (0, 0)),
            (TcpHeader { flags: Flags::SYN | Flags::ECE, ..syn }, true, false, (14, 4)),
            (TcpHeader { flags: answer | Flags::ECE, ..syn }, true, true, (14, 4)),
            // A host that reflects unknown flags.
            (TcpHeader { flags: answer | Flags::ECE | Flags::CWR, ..syn }, true, false, (14, 4)),
        ] {
            let mut agreed = Agreed::offer(&config);
            assert_eq!(agreed.ecn_flags(false), Flags::ECE | Flags::CWR);
            agreed.meet(&tcp);
            let Agreed { scale_in, scale_out, .. } = agreed;
            assert_eq!((agreed.sack, agreed.ecn, (scale_in, scale_out)), (sack, ecn, scales), "{tcp:?}");
            assert_eq!(agreed.announced_scale(true), (scales != (0, 0)).then_some(scale_out));
        }
    }
}
