//! IPv6 packets: emitted, parsed, and compared with bytes and checksums worked out by hand.
//!
//! Follows RFC 8200 §3 and §8.1, RFC 4443 §2.3 and §3.2, RFC 9293 §3.1, RFC 3168.
//! Leaves out how other programs read them, which the captures of `record` test.

use skyhop_wire::{
    Echo, Ecn, Flags, Ip, Observed, Packet, ParseError, TcpHeader, TooLarge, Transport, Udp, Version, emit,
    mark, observe, parse,
};

fn ip(version: Version) -> Ip {
    let [source, destination] = [1, 2].map(|n| [10, 0, 0, n].into());
    Ip::new(version, source, destination)
}

fn packet(transport: Transport, payload_len: u32) -> Packet {
    Packet { ip: ip(Version::V6), transport, payload_len }
}

fn segment(payload_len: u32) -> Packet {
    let tcp = TcpHeader {
        source_port: 49_152,
        destination_port: 9,
        seq: 0x0102_0304,
        ack: 77,
        flags: Flags::ACK,
        window: 512,
        ..TcpHeader::default()
    };
    packet(Transport::Tcp(tcp), payload_len)
}

fn bytes(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    let len = emit(packet, usize::MAX, &mut bytes);
    assert_eq!((len, bytes.len() as u32), (packet.wire_len(), packet.wire_len()));
    bytes
}

/// RFC 8200 §8.1: the complemented sum of the pseudo-header and everything after the IP header; 0 if the checksum is right.
fn left_over(bytes: &[u8], protocol: u16) -> u16 {
    let length = (bytes.len() - 40) as u16;
    let mut sum = u64::from(length) + u64::from(protocol);
    for pair in bytes[8..].chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[test]
fn a_syn_has_these_bytes() {
    let syn = TcpHeader {
        source_port: 49_152,
        destination_port: 9,
        seq: 0x0102_0304,
        flags: Flags::SYN,
        window: 65_535,
        mss: Some(1440),
        ..TcpHeader::default()
    };
    let mut syn = packet(Transport::Tcp(syn), 0);
    syn.ip.ecn = Ecn::Capable0;
    let written = bytes(&syn);
    let label = &written[1..4];
    assert_eq!(label[0] >> 4, 2, "the low half of the traffic class: ECT(0)");
    #[rustfmt::skip]
    let by_hand = [
        // Version 6, class 2, a label; 24 bytes behind; TCP; hop limit 64.
        0x60, label[0], label[1], label[2], 0, 24, 6, 64,
        // 2001:db8::a00:1, 2001:db8::a00:2.
        0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1,
        0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
        // Ports; sequence number; acknowledgment; six words, SYN, window; checksum; no urgent data.
        0xc0, 0x00, 0, 9, 1, 2, 3, 4, 0, 0, 0, 0, 0x60, 0x02, 0xff, 0xff, written[56], written[57], 0, 0,
        // MSS 1440.
        2, 4, 0x05, 0xa0,
    ];
    assert_eq!(written, by_hand);
    assert_eq!(left_over(&written, 6), 0);
    assert_eq!(parse(&written), Ok(syn));
    assert!(u32::from(label[0] & 15) << 16 | u32::from(label[1]) << 8 | u32::from(label[2]) > 0);
}

#[test]
fn what_is_emitted_parses_back_with_right_checksums() {
    let echo = |reply| packet(Transport::Icmp(Echo { reply, identifier: 3, sequence: 65_535 }), 57);
    let udp = |len| packet(Transport::Udp(Udp { source_port: 49_152, destination_port: 9 }), len);
    for (packet, protocol, len) in [
        (segment(0), 6, 60),
        (segment(1440), 6, 1500),
        (echo(false), 58, 105),
        (echo(true), 58, 105),
        (udp(0), 17, 48),
        (udp(1001), 17, 1049),
        (udp(65_527), 17, 65_575),
    ] {
        let written = bytes(&packet);
        assert_eq!((written.len(), left_over(&written, protocol)), (len, 0), "{packet:?}");
        assert_eq!(parse(&written), Ok(packet));
        assert_eq!(observe(&written).map(|seen| seen.packet), Ok(packet));
        let mut over_v4 = packet;
        over_v4.ip.version = Version::V4;
        assert_eq!(packet.wire_len(), over_v4.wire_len() + 20);
        if len < 2000 {
            for i in (8..written.len()).filter(|i| *i != 7) {
                let mut wrong = written.clone();
                wrong[i] ^= 0x10;
                assert!(parse(&wrong).is_err(), "byte {i} of {packet:?}");
            }
        }
    }
    // A datagram of IPv6 always has a checksum.
    let mut none = bytes(&udp(10));
    none[46..48].fill(0);
    assert_eq!(parse(&none), Err(ParseError::Checksum("UDP")));
}

#[test]
fn a_packet_too_big_quotes_what_1280_bytes_have_room_for() {
    for (quoted, mtu, len) in
        [(segment(1440), 1280, 1280), (segment(1232), 1280, 1280), (segment(100), 1280, 40 + 8 + 160)]
    {
        let message = packet(Transport::TooLarge(TooLarge::quoting(&quoted, mtu)), 0);
        assert_eq!(message.wire_len(), len);
        let mut written = bytes(&message);
        assert_eq!(left_over(&written, 58), 0);
        assert_eq!(parse(&written), Ok(message));
        assert_eq!(written[40..42], [2, 0], "type 2, code 0");
        assert_eq!(written[44..48], u32::from(mtu).to_be_bytes());
        let original = bytes(&quoted);
        // A simulated payload is zeros. The checksum of the segment, at its sixteenth byte, is not known to the router's message.
        let end = 48 + original.len().min(1232);
        let (tcp, sum) = (&written[48..end], 40 + 16);
        assert_eq!(tcp[..sum], original[..sum]);
        assert_eq!(tcp[sum + 2..], original[sum + 2..end - 48]);
        written.truncate(48 + 40 + 7);
        assert!(parse(&written).is_err());
    }
    assert_eq!(TooLarge::quoting(&segment(1440), 1280).segment(), Some((49_152, 9, 0x0102_0304)));
}

#[test]
fn packets_of_real_hosts_have_their_length_and_a_flow() {
    let of = |written: &[u8]| observe(written).expect("a packet");
    let (one, mut other) = (bytes(&segment(10)), segment(10));
    let Transport::Tcp(tcp) = &mut other.transport else { unreachable!() };
    (tcp.seq, tcp.flags) = (99, Flags::ACK | Flags::PSH);
    assert_eq!(of(&one).flow, of(&bytes(&other)).flow, "a flow is its addresses and ports");
    let Transport::Tcp(tcp) = &mut other.transport else { unreachable!() };
    tcp.source_port += 1;
    assert_ne!(of(&one).flow, of(&bytes(&other)).flow);

    // Addresses of anywhere, a checksum left to the card, and a protocol of its own.
    let mut real = one.clone();
    real[8..24].copy_from_slice(&[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(matches!(parse(&real), Err(ParseError::Unsupported(why)) if why.contains("fe80::203:405")));
    let Observed { packet: seen, flow } = of(&real);
    assert_eq!((seen.transport, seen.wire_len()), (segment(10).transport, 70));
    assert!(seen.ip.source != segment(10).ip.source && flow != of(&one).flow);
    let mut hops = one.clone();
    (hops[6], hops[7]) = (0, 3);
    assert_eq!(
        of(&hops).packet,
        Packet { ip: Ip { ttl: 3, ..ip(Version::V6) }, transport: Transport::Other(0), payload_len: 30 }
    );
    let labelled = |label| {
        let mut packet = hops.clone();
        packet[3] = label;
        of(&packet).flow
    };
    assert_ne!(labelled(1), labelled(2), "where ports are hidden, the label tells flows apart");

    // Options and fragments of IPv4.
    let mut v4 = segment(10);
    v4.ip.version = Version::V4;
    let v4 = bytes(&v4);
    let mut fragment = v4.clone();
    fragment[7] = 1;
    assert_eq!((of(&fragment).packet.transport, of(&fragment).packet.wire_len()), (Transport::Other(6), 50));
    assert_ne!(of(&fragment).flow, of(&v4).flow);
    let mut options = v4.clone();
    options.splice(20..20, [1; 4]);
    (options[0], options[3]) = (0x46, 54);
    assert_eq!((of(&options).packet.wire_len(), of(&options).flow), (54, of(&v4).flow));
    for wrong in [&[][..], &[0x45; 19], &v4[..49], &one[..69], &[0x50; 60], &[0x41; 60]] {
        assert!(observe(wrong).is_err(), "{wrong:x?}");
    }
}

#[test]
fn a_mark_changes_nothing_else() {
    for version in [Version::V4, Version::V6] {
        for ecn in [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Marked] {
            for identification in [0, 0x1234, 0xffff] {
                let mut before = segment(9);
                before.ip = Ip { ecn, identification, ..ip(version) };
                let mut written = bytes(&before);
                mark(&mut written);
                let mut after = Packet { ip: Ip { ecn: Ecn::Marked, ..before.ip }, ..before };
                if version == Version::V6 {
                    after.ip.identification = 0;
                }
                assert_eq!(parse(&written), Ok(after));
                assert_eq!(observe(&written).map(|seen| seen.packet), Ok(after));
            }
        }
    }
    mark(&mut []);
    mark(&mut [0x45, 0]);
}
