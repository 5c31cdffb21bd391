//! Options on which both ends have agreed by their SYNs, timestamps apart.
//!
//! Follows RFC 2018 §2 (SACK permitted), RFC 7323 §2 (window scale), RFC 3168 §6.1.1 (ECN).
//! Differs from nothing there.
//! Leaves out the size of segments, which `path_mtu` settles, and what opens a connection at once, which is `opening`'s.

use super::config::Config;
use skyhop_wire::{Flags, TcpHeader};

#[derive(Debug)]
pub(super) struct Agreed {
    pub sack: bool,
    /// Both ends understand marks.
    pub ecn: bool,
    /// Shifts of the windows that come and go.
    pub scale_in: u8,
    pub scale_out: u8,
}

impl Agreed {
    /// Options that an end offers; [`Agreed::meet`] agrees on them.
    pub fn offer(config: &Config) -> Self {
        Self { sack: config.sack(), ecn: config.ecn, scale_in: 0, scale_out: config.window_scale() }
    }

    /// The peer's SYN, or its answer, has come.
    pub fn meet(&mut self, tcp: &TcpHeader) {
        self.sack &= tcp.sack_permitted;
        // RFC 3168 §6.1.1: asked with ECE and CWR, granted with ECE alone.
        let both = tcp.flags.has(Flags::ECE) && tcp.flags.has(Flags::CWR);
        self.ecn &= if tcp.flags.has(Flags::ACK) { tcp.flags.has(Flags::ECE) && !both } else { both };
        // RFC 7323 §2.2 and §2.3: both or none, and 14 at most.
        match tcp.window_scale {
            Some(scale) => self.scale_in = scale.min(14),
            None => self.scale_out = 0,
        }
    }

    /// The shift that a SYN announces: an answer only if the other end's had one, or none was needed there.
    pub fn announced_scale(&self, answering: bool) -> Option<u8> {
        (!answering || self.scale_out > 0 || self.scale_in > 0).then_some(self.scale_out)
    }

    /// The flags of a SYN, or of an answer, about marks.
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
        // The header that is met, then SACK, ECN, and both shifts.
        for (tcp, sack, ecn, scales) in [
            (syn, true, true, (14, 4)),
            (TcpHeader { sack_permitted: false, ..syn }, false, true, (14, 4)),
            (TcpHeader { window_scale: None, ..syn }, true, true, (0, 0)),
            (TcpHeader { flags: Flags::SYN | Flags::ECE, ..syn }, true, false, (14, 4)),
            (TcpHeader { flags: answer | Flags::ECE, ..syn }, true, true, (14, 4)),
            // A host that reflects flags it does not know.
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
