//! A client, a splice and a server, packet by packet.
//!
//! Expectations are from HT 4.3.1 (early acknowledgment, numbers kept, the FIN end to end), RFC 9293 (windows, resets) and RFC
//! 1122 §4.2.3.5 (100 s). The client is 10 ms away, the server 300 ms: a terrestrial and a satellite path.

use crate::common::*;
use skyhop_splice::{Close, Config, Event, Protocol, ServerOpening, Side};
use skyhop_transport::tcp::{self, DelayedAck, State, Variant};
use skyhop_units::Span;
use skyhop_wire::{Flags, Packet};

fn plain() -> tcp::Config {
    tcp::Config { mss: 1000, delayed_ack: DelayedAck::None, ..tcp::Config::default() }
}

fn net(config: Config) -> Net {
    let ends = [plain(), plain()];
    Net::new(ends, config, [Path::clean(10), Path::clean(300)], [1000, 2000, 3000, 4000])
}

fn split() -> Config {
    Config::split(plain(), plain(), 50_000)
}

/// Sequence number and length of packets with payload on a side, towards the splice or from it.
fn data(net: &Net, end: usize, inwards: bool) -> Vec<(u32, u32)> {
    let of = |(_, e, i, p): &&(_, usize, bool, Packet)| *e == end && *i == inwards && p.payload_len > 0;
    net.log.iter().filter(of).map(|(.., p)| (header(p).seq, p.payload_len)).collect()
}

#[test]
fn data_is_acknowledged_early_and_a_fin_is_not() {
    let mut net = net(split());
    net.offer([10_000, 0]);
    // Four round trips of 20 ms: the handshake, and slow start from two segments.
    net.run_until(ms(85));
    assert_eq!((net.ends[CLIENT].acknowledged(), net.ends[SERVER].delivered()), (10_000, 0));
    assert_eq!(net.splice.held(), 10_000);
    assert!(!net.ends[CLIENT].fin_acknowledged());
    // The SYN leaves at 10 ms; the handshake, two segments and four take 600 ms each, and the last four arrive.
    net.run_until(ms(10 + 3 * 600 + 299));
    assert_eq!(net.ends[SERVER].delivered(), 6_000);
    net.run_until(ms(10 + 3 * 600 + 300));
    assert_eq!(net.ends[SERVER].delivered(), 10_000);
    net.run_until(ms(10 + 4 * 600 + 9));
    assert!(!net.ends[CLIENT].fin_acknowledged());
    net.run_until(ms(10 + 4 * 600 + 10));
    assert!(net.ends[CLIENT].fin_acknowledged());
    net.run();
    assert!(net.clean(CLIENT) && net.clean(SERVER));
    let [client, server] = Side::BOTH;
    let all = [
        Event::Opened(client),
        Event::Finished(client),
        Event::Opened(server),
        Event::Finished(server),
        Event::Closed,
    ];
    assert_eq!(net.events, all);
    assert_eq!(
        (net.moved, net.released, net.splice.stats().held_max),
        ([10_000, 0], [10_000, 0], [10_000, 0])
    );
}

#[test]
fn the_addresses_on_both_sides_are_those_of_the_ends() {
    for config in [split(), Config::spoof(plain(), 50_000)] {
        let mut net = net(config);
        net.offer([2_000, 2_000]);
        net.run();
        for (_, end, inwards, packet) in &net.log {
            // Data from client to server have the client's source, on either side.
            let forward = (*end == CLIENT) == *inwards;
            let from = if forward { 1 } else { 2 };
            assert_eq!(packet.ip.source.octets(), [10, 0, 0, from]);
            assert_eq!(packet.ip.destination.octets(), [10, 0, 0, 3 - from]);
        }
    }
}

#[test]
fn back_pressure_reaches_the_sender() {
    let mut net = net(split());
    net.offer([1_000_000, 0]);
    net.run_until(ms(1000));
    net.cut(SERVER);
    net.run_until(ms(60_000));
    // The buffer is full, the sender knows, and holds back the rest.
    assert_eq!(net.splice.held_from(Side::Client), 50_000);
    assert_eq!(net.splice.stats().held_max, [50_000, 0]);
    let sent = net.ends[CLIENT].acknowledged();
    assert_eq!(sent, net.splice.stats().released[0] + 50_000);
    let beyond = net.ends[CLIENT].stats().bytes_sent - sent;
    assert!(beyond < 100, "{beyond} bytes of probes in a minute");
}

#[test]
fn a_dead_server_is_a_reset_after_a_hundred_seconds_and_not_before() {
    for opening in [ServerOpening::Syn, ServerOpening::Data, ServerOpening::EndToEnd] {
        let mut net = net(Config { opening, ..split() });
        net.offer([20_000, 0]);
        net.run_until(ms(1900));
        net.cut(SERVER);
        // Its last word came in the second before.
        net.run_until(ms(100_000));
        assert!(!net.reset(CLIENT) && !net.ends[CLIENT].fin_acknowledged());
        net.run_until(ms(105_000));
        assert!(net.reset(CLIENT), "{opening:?}: {:?}", net.states());
        assert_eq!(net.events.last(), Some(&Event::Broken(Side::Server)));
        assert!(!net.events.contains(&Event::Closed));
        assert_eq!(net.splice.poll_timeout(), None);
    }
}

#[test]
fn an_early_close_promises_what_it_does_not_keep() {
    let mut net = net(Config { close: Close::Early, ..split() });
    net.promises_kept = false;
    net.offer([20_000, 0]);
    while !net.ends[CLIENT].fin_acknowledged() {
        assert!(net.step());
    }
    assert!(net.ends[SERVER].delivered() < 20_000, "the client knows of an end that has not come");
}

#[test]
fn each_direction_closes_by_itself() {
    let mut net = net(split());
    net.offer([3_000, 400_000]);
    net.run_until(ms(4_000));
    // The client's half is closed and known to be, the other goes on.
    assert_eq!(net.states(), [State::FinWait2, State::Closing]);
    assert!((10_000..400_000).contains(&net.ends[CLIENT].delivered()));
    net.run();
    assert!(net.clean(CLIENT) && net.clean(SERVER));
    assert_eq!(net.ends[CLIENT].delivered(), 400_000);
}

#[test]
fn a_server_that_is_opened_with_the_first_data_sees_nothing_before() {
    let mut net = net(Config { opening: ServerOpening::Data, ..split() });
    net.ends[CLIENT].read();
    net.drain();
    net.bytes = [0, 0];
    net.run_until(ms(5));
    assert!(net.log.iter().all(|(_, end, ..)| *end == CLIENT));
    net.bytes = [1_000, 1_000];
    net.run_until(ms(35));
    assert!(net.log.iter().any(|(_, end, _, p)| *end == SERVER && header(p).flags == Flags::SYN));
    net.run();
    assert!(net.clean(CLIENT) && net.clean(SERVER));
}

#[test]
fn spoofing_keeps_numbers_and_segments() {
    let mut net = net(Config::spoof(plain(), 50_000));
    net.offer([20_500, 7_300]);
    net.run();
    assert!(net.clean(CLIENT) && net.clean(SERVER));
    for (from, to, initial, bytes) in [(CLIENT, SERVER, 1000, 20_500), (SERVER, CLIENT, 2000, 7_300)] {
        let (before, after) = (data(&net, from, true), data(&net, to, false));
        assert_eq!(before, after);
        assert_eq!(before[0], (initial + 1, 1000));
        assert_eq!(before.iter().map(|s| s.1).sum::<u32>(), bytes);
    }
    // The answer to the SYN has gone all the way; that to the data has not.
    let at = |end: usize, inwards: bool, what: &dyn Fn(&Packet) -> bool| {
        net.log.iter().find(|(_, e, i, p)| *e == end && *i == inwards && what(p)).unwrap().0
    };
    assert_eq!(at(CLIENT, false, &|p| header(p).flags.has(Flags::SYN)), ms(10 + 600));
    assert_eq!(at(CLIENT, false, &|p| header(p).ack > 1001), ms(10 + 600 + 20));
}

#[test]
fn spoofing_offers_an_end_no_more_than_the_other_does() {
    let rich = tcp::Config { timestamps: true, ..plain() };
    let poor = tcp::Config { variant: Variant::Reno, mss: 700, ..plain() };
    for ends in [[poor.clone(), rich.clone()], [rich.clone(), poor]] {
        let paths = [Path::clean(10), Path::clean(300)];
        let mut net = Net::new(ends, Config::spoof(rich.clone(), 50_000), paths, [1, 2, 3, 4]);
        net.offer([20_000, 20_000]);
        net.run();
        assert!(net.clean(CLIENT) && net.clean(SERVER));
        let established = || net.log.iter().filter(|(.., p)| !header(p).flags.has(Flags::SYN));
        assert!(established().all(|(.., p)| header(p).timestamps.is_none() && header(p).sack.is_empty()));
        let sizes = [data(&net, CLIENT, true), data(&net, SERVER, true)].map(|d| d[0].1);
        assert_eq!(sizes, [700, 700]);
    }
}

#[test]
fn losses_beyond_the_splice_are_its_own_to_repair() {
    for config in [split(), Config::spoof(plain(), 50_000)] {
        let mut lossy = Path::clean(300);
        // Each twelfth packet from the splice.
        lossy.pass[0] = (1..=12).map(|n| n != 12).collect();
        let mut net = Net::new([plain(), plain()], config, [Path::clean(10), lossy], [1, 2, 3, 4]);
        net.offer([200_000, 0]);
        net.run();
        assert_eq!(net.ends[SERVER].delivered(), 200_000);
        assert!(net.clean(CLIENT) && net.clean(SERVER));
        // The client repeats nothing but its FIN, which waits for the end, and bytes that ask for the window.
        let repeats = net.ends[CLIENT].stats().bytes_sent - 200_000;
        assert!(repeats < 20, "{repeats} bytes");
        let repaired = data(&net, SERVER, false).len();
        assert!((205..260).contains(&repaired), "{repaired} segments of 200 beyond the splice");
    }
}

#[test]
fn a_server_that_refuses_is_a_client_refused() {
    for (opening, state) in [(ServerOpening::EndToEnd, State::SynSent), (ServerOpening::Syn, State::FinWait1)]
    {
        let mut net = net(Config { opening, ..split() });
        // A server that listens no more.
        net.ends[SERVER].shutdown();
        net.offer([1_000, 1_000]);
        net.run_until(ms(500));
        assert_eq!(net.states()[CLIENT], state);
        net.run();
        assert!(net.reset(CLIENT) && net.states() == [State::Closed; 2]);
        assert_eq!(net.events.last(), Some(&Event::Broken(Side::Server)));
        assert_eq!(net.ends[SERVER].delivered(), 0);
    }
}

#[test]
fn each_side_has_parameters_of_its_own() {
    let sides = [tcp::Config { mss: 500, ..plain() }, plain()].map(|config| Protocol::Tcp(Box::new(config)));
    let mut net = net(Config { sides, ..split() });
    net.offer([20_000, 20_000]);
    net.run();
    assert_eq!(data(&net, CLIENT, true)[0].1, 500);
    assert_eq!(data(&net, SERVER, false)[1].1, 1000);
    assert!(net.clean(CLIENT) && net.clean(SERVER));
}

/// A case of `properties.rs`: the window update that follows 310 bytes of room is lost, and a byte that probed the window is
/// outstanding. Without the cut the timer goes on for ever and sends nothing.
#[test]
fn a_probe_that_is_outstanding_gets_through_a_window_below_half_of_the_largest() {
    let reno = |mss, window| tcp::Config {
        variant: Variant::Reno,
        mss,
        window,
        delayed_ack: DelayedAck::None,
        timestamps: false,
        rto_max: Span::from_secs(4),
        ..tcp::Config::default()
    };
    let satellite =
        tcp::Config { delayed_ack: DelayedAck::OneShot(Span::from_millis(200)), ..reno(401, 2000) };
    let pattern = |s: &str| s.bytes().map(|b| b == b'1').collect::<Vec<_>>();
    let paths = [
        Path {
            delay_ms: 231,
            pass: [pattern("10000"), pattern("100")],
            late_ms: vec![36, 0, 0, 17, 13, 36, 0, 0, 52, 0, 37, 0, 0, 38, 32, 18],
            twice: vec![false],
        },
        Path {
            delay_ms: 181,
            pass: [pattern("11010110"), pattern("1101100010101110101101001101100110010000")],
            late_ms: vec![2, 15],
            twice: vec![false],
        },
    ];
    let config =
        Config { give_up: Span::from_secs(100_000), ..Config::split(satellite, reno(1204, 2000), 15_773) };
    let mut net = Net::new([reno(402, 2276), reno(1137, 2000)], config, paths, [0; 4]);
    net.offer([20_853, 32_215]);
    net.run();
    assert_eq!(net.states(), [State::Closed; 2]);
    assert_eq!([CLIENT, SERVER].map(|end| net.ends[1 - end].delivered()), [20_853, 32_215]);
}
