//! A router's message about a packet larger than the next link's MTU, in the form that the packet's sender reads.
//!
//! Follows RFC 792 and RFC 1191 §4 for IPv4, RFC 4443 §3.2 for IPv6.
//! Differs from the network's own message, whose addresses have 32 bits: this one quotes the packet's own bytes.
//! Leaves out the occasion and the path of a message, which are the network's.

use crate::offload::{fold, sum};
use skyhop_wire::{Packet, Transport, emit};

/// Largest size of a message, bytes: RFC 1812 §4.3.2.3, RFC 4443 §2.4.
const MOST: [usize; 2] = [576, 1280];

/// The message of `router`, which is the network's, with the addresses and bytes of the packet `about`.
pub fn too_large(router: &Packet, about: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    emit(router, usize::MAX, &mut bytes);
    let Transport::TooLarge(_) = router.transport else { return bytes };
    match about.first().map(|first| first >> 4) {
        Some(4) if about.len() >= 20 => {
            bytes.truncate(28);
            bytes.extend_from_slice(&about[..about.len().min(MOST[0] - 28)]);
            bytes[16..20].copy_from_slice(&about[12..16]);
            let total = bytes.len() as u16;
            bytes[2..4].copy_from_slice(&total.to_be_bytes());
            bytes[10..12].copy_from_slice(&[0; 2]);
            let header = !fold(sum(&bytes[..20]));
            bytes[10..12].copy_from_slice(&header.to_be_bytes());
            bytes[22..24].copy_from_slice(&[0; 2]);
            let body = !fold(sum(&bytes[20..]));
            bytes[22..24].copy_from_slice(&body.to_be_bytes());
        }
        Some(6) if about.len() >= 40 => {
            bytes.truncate(48);
            bytes.extend_from_slice(&about[..about.len().min(MOST[1] - 48)]);
            bytes[24..40].copy_from_slice(&about[8..24]);
            let behind = bytes.len() - 40;
            bytes[4..6].copy_from_slice(&(behind as u16).to_be_bytes());
            bytes[42..44].copy_from_slice(&[0; 2]);
            let body = !fold(sum(&bytes[8..]) + behind as u64 + 58);
            bytes[42..44].copy_from_slice(&body.to_be_bytes());
        }
        _ => {}
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_wire::{Ip, TooLarge, Version, observe};

    #[test]
    fn it_goes_to_the_packets_own_source_and_quotes_its_own_bytes() {
        for (v6, len) in [(false, 1500), (false, 60), (true, 1500), (true, 700)] {
            let mut about: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
            about[0] = if v6 { 0x60 } else { 0x45 };
            let length = if v6 { 4..6 } else { 2..4 };
            let said = if v6 { len - 40 } else { len } as u16;
            about[length].copy_from_slice(&said.to_be_bytes());
            about[if v6 { 6 } else { 9 }] = 17;
            let packet = observe(&about).unwrap().packet;
            let version = if v6 { Version::V6 } else { Version::V4 };
            let (source, destination) = ([10, 0, 0, 9].into(), packet.ip.source);
            let ip = Ip { identification: 5, ..Ip::new(version, source, destination) };
            let transport = Transport::TooLarge(TooLarge::quoting(&packet, 1300));
            let message = too_large(&Packet { ip, transport, payload_len: 0 }, &about);
            let (at, from, most) = if v6 { (48, 8, 1280) } else { (28, 12, 576) };
            assert_eq!(message.len(), most.min(at + len), "{v6} {len}");
            assert_eq!(message[at..], about[..message.len() - at]);
            let to = if v6 { &message[24..40] } else { &message[16..20] };
            assert_eq!(to, &about[from..from + to.len()]);
            // A checksum is right if the sum of everything is all ones.
            let body =
                if v6 { sum(&message[8..]) + message.len() as u64 - 40 + 58 } else { sum(&message[20..]) };
            assert_eq!(fold(body), 0xffff);
            assert!(v6 || fold(sum(&message[..20])) == 0xffff);
            assert_eq!(observe(&message).unwrap().packet.wire_len(), message.len() as u32);
            let mtu = if v6 { &message[46..48] } else { &message[26..28] };
            assert_eq!(mtu, 1300u16.to_be_bytes());
        }
    }
}
