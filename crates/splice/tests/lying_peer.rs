//! Malicious peers on either side at any time, with headers that deviate from honest ones.
//!
//! The splice must not panic, no burst is endless, the bound holds, and only bytes within a window are passed on.

use crate::common::*;
use proptest::prelude::*;
use skyhop_splice::Side;
use skyhop_units::Span;
use skyhop_wire::{Flags, Packet, SackBlocks, TcpHeader, Timestamps, Transport};

#[derive(Debug, Clone)]
struct Lie {
    flags: u8,
    seq: i64,
    ack: i64,
    window: u16,
    payload: u32,
    timestamps: Option<(u32, u32)>,
    sack: Vec<(i64, i64)>,
    syn_options: bool,
}

fn lie() -> impl Strategy<Value = Lie> {
    let near = || prop_oneof![3 => Just(0i64), 2 => -3_000i64..3_000, 1 => -100_000i64..100_000, 1 => any::<i32>().prop_map(i64::from)];
    let payload = prop_oneof![Just(0u32), 1u32..3_000, 0u32..65_000];
    let flags = prop_oneof![3 => Just(0x10u8), 1 => Just(0x02u8), 1 => Just(0x12u8), 2 => any::<u8>()];
    let sack = prop::collection::vec((near(), near()), 0..4);
    let timestamps = prop::option::of(any::<(u32, u32)>());
    (flags, near(), near(), any::<u16>(), payload, timestamps, sack, any::<bool>()).prop_map(
        |(flags, seq, ack, window, payload, timestamps, sack, syn_options)| Lie {
            flags,
            seq,
            ack,
            window,
            payload,
            timestamps,
            sack,
            syn_options,
        },
    )
}

fn made_up(net: &Net, end: usize, lie: &Lie) -> Packet {
    // A lie is close to the last packet that the end sent or received.
    let last = |inwards: bool| {
        net.log.iter().rev().find(|(_, e, i, _)| *e == end && *i == inwards).map(|(.., p)| header(p))
    };
    let (seq, ack) = (last(true).map_or(0, |h| h.seq), last(false).map_or(0, |h| h.seq));
    let shifted = |base: u32, by: i64| base.wrapping_add(by as u32);
    let mut sack = SackBlocks::default();
    for &(left, right) in &lie.sack {
        sack.push(shifted(ack, left), shifted(ack, right));
    }
    let tcp = TcpHeader {
        source_port: 9,
        destination_port: 9,
        seq: shifted(seq, lie.seq),
        ack: shifted(ack, lie.ack),
        flags: Flags(lie.flags),
        window: lie.window,
        mss: lie.syn_options.then_some(lie.window),
        window_scale: lie.syn_options.then_some(lie.payload as u8),
        sack_permitted: lie.syn_options,
        timestamps: lie.timestamps.map(|(value, echo)| Timestamps { value, echo }),
        opening: None,
        sack,
    };
    Packet { ip: net.log[0].3.ip, transport: Transport::Tcp(tcp), payload_len: lie.payload }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_segments_do_no_harm(
        config in config(),
        start in 0usize..40,
        lies in prop::collection::vec((0usize..2, lie()), 1..60),
    ) {
        let mut net = Net::new([tcp_plain(), tcp_plain()], config, [Path::clean(10), Path::clean(50)], [1000, 2000, 3000, 4000]);
        net.promises_kept = false;
        net.offer([20_000, 20_000]);
        for _ in 0..start {
            net.step();
        }
        for (end, lie) in lies {
            let before = net.moved[end];
            let packet = made_up(&net, end, &lie);
            net.splice.handle_packet(net.now, Side::BOTH[end], &packet);
            net.ends_may_be_beyond = true;
            net.drain();
            // At most a window's worth comes into order at once.
            prop_assert!(net.moved[end] - before <= net.buffer);
            prop_assert!(net.splice.held_from(Side::BOTH[end]) <= net.buffer);
            net.step();
        }
        // Ends that were told different stories may contradict each other for ever (RFC 5961 7 knows of it), but they do so
        // no faster than the path carries it.
        let from = net.now;
        let steps = (0..2_000).take_while(|_| net.step()).count();
        let took = net.now.since(from);
        prop_assert!(steps < 2_000 || took >= Span::from_millis(200), "{} steps in {}", steps, took);
    }
}

fn tcp_plain() -> skyhop_transport::tcp::Config {
    skyhop_transport::tcp::Config { mss: 1000, window: 30_000, ..Default::default() }
}
