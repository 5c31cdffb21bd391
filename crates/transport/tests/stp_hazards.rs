//! Associations at their limits: senders that write little and often, peers with smaller budgets or without answers, and narrow paths.
//!
//! Follows docs/stp.md §6.4, §9, §15.3, §15.4 and §15.7.
//! Differs from `stp_streams`: each case once stopped an association, or cost it memory or time without bound.
//! Leaves out random cases (`stp_trunks`).

use super::stp_trunk::pair::{Liar, Pair, Sent, THERE, bytes};
use bytes::Bytes;
use skyhop_transport::stp::{Budgets, Class, Config, Congestion, Frames, Trunk, TrunkEvent};
use skyhop_units::{Rate, Span, Time};
use skyhop_wire::stp::{Frame, Reason};

fn usual(config: &Config) -> [(Config, Budgets); 2] {
    [(config.clone(), Budgets::default()), (config.clone(), Budgets::default())]
}

/// One packet in `every` is lost, as chance has it.
fn loses(every: u64) -> impl FnMut(usize, &Sent) -> bool {
    let mut state = 12_345_u64;
    move |_, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).is_multiple_of(every)
    }
}

/// docs/stp.md §15.2: SDs are passed on as they come, so that the lower edge may be zero while later ones have been passed on.
#[test]
fn numbers_may_begin_at_zero_and_the_first_may_be_lost() {
    let mut sender =
        Trunk::<Bytes>::connect(Config::default(), Budgets::default(), super::stp_trunk::pair::HERE, 0);
    let mut receiver = Trunk::<Bytes>::listen(Config::default(), Budgets::default(), THERE, 99);
    let id = sender.open(Class::default()).expect("the least is more");
    sender.write(id, bytes(20_000));
    let packets: Vec<Sent> = std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).collect();
    assert_eq!(packets[0].seq, 0);
    for packet in &packets[1..] {
        receiver.handle_packet(Time::ZERO, packet);
    }
    assert!(receiver.established() && receiver.poll_transmit(Time::ZERO).is_some());
}

/// docs/stp.md §6.3: a POLL for each of many small writes would be forgotten before its answer comes, and nothing be repeated.
#[test]
fn who_writes_often_over_a_long_path_gets_answers() {
    // The round trip is 100 ms: 5,000 writes a second are 500 in a round trip.
    for (every, lossy) in [(5, false), (5, true)] {
        let mut pair = Pair::met(usual(&Config { granularity: Span::from_millis(1), ..Config::default() }));
        let mut chance = loses(if lossy { 100 } else { u64::MAX });
        let id = pair.ends[0].open(Class::default()).expect("there is credit");
        let (mut written, mut read, mut most) = (0, 0, 0);
        for _ in 0..20_000 {
            for _ in 0..every {
                pair.ends[0].write(id, bytes(100));
                written += 100;
                // Each leaves alone.
                pair.drain(&mut chance);
            }
            pair.run(1, &mut chance);
            read += pair.read(1, id);
            most = most.max(written - read);
        }
        let stats = pair.ends[0].path_stats();
        assert!(stats.ignored * 50 < pair.ends[1].path_stats().stats_sent, "lossy {lossy}: {stats:?}");
        // Half a megabyte a second: some round trips' worth waits for a repeat.
        assert!(most < if lossy { 500_000 } else { 150_000 }, "lossy {lossy}: {most} bytes were late");
        assert!(pair.ends[0].unacknowledged(id) < 500_000, "lossy {lossy}");
    }
}

/// docs/stp.md §15.4: budgets that were only assumed cannot be taken back; what goes beyond the peer's is refused for ever.
#[test]
fn a_guaranteed_rate_assumes_no_budgets() {
    let config = Config {
        congestion: Congestion::Rate,
        max_rate: Rate::from_bps(50_000_000),
        window: 64 << 20,
        ..Config::default()
    };
    let small =
        Budgets { first_window: 16 << 10, stream_window: 48 << 20, streams: 16, ..Budgets::default() };
    let mut pair =
        Pair::new([(config.clone(), Budgets::default()), (Config { window: 1 << 20, ..config }, small)]);
    let paused = pair.ends[0].open(Class::default()).expect("the least is more");
    let read = pair.ends[0].open(Class::default()).expect("the least is more");
    pair.ends[0].write(paused, bytes(2_000_000));
    let mut got = 0;
    for _ in 0..1000 {
        pair.ends[0].write(read, bytes(1000));
        pair.run(100, |_, _| false);
        got += pair.read(1, read);
    }
    assert!(got >= 990_000, "{got} bytes beside a stream that is not read");
    assert_eq!((pair.ends[1].stats().refused, pair.ends[0].path_stats().packets_retransmitted), (0, 0));
    assert_eq!((0..30).filter(|_| pair.ends[0].open(Class::default()).is_some()).count(), 14, "of 16");
}

/// docs/stp.md §6.4: datagrams are sent once, so that nothing large is ever missing again.
#[test]
fn a_path_becomes_narrower_under_datagrams_alone() {
    for lossy in [false, true] {
        let mut pair = Pair::met(usual(&Config { packet_size: 1444, base_size: 1224, ..Config::default() }));
        let mut chance = loses(if lossy { 10 } else { u64::MAX });
        let id = pair.ends[0].open(Class::default()).expect("there is credit");
        pair.ends[0].write(id, bytes(100_000));
        pair.run(5000, |_, _| false);
        assert_eq!(pair.ends[0].packet_size(), 1444);
        let mut seconds = |pair: &mut Pair, seconds: u64, most: usize| {
            let mut refused = 0;
            for _ in 0..seconds * 50 {
                for len in [1380, 200] {
                    let until = pair.now + Span::from_millis(500);
                    refused += u32::from(!pair.ends[0].send_datagram(id, bytes(len), until));
                    pair.run(10, |side, packet| packet.wire_len() > most || chance(side, packet));
                    while pair.ends[1].read_datagram().is_some() {}
                }
            }
            refused
        };
        // Losses alone change nothing.
        assert_eq!((seconds(&mut pair, 60, 1444), pair.ends[0].packet_size()), (0, 1444), "lossy {lossy}");
        seconds(&mut pair, 10, 1340);
        let size = pair.ends[0].packet_size();
        assert!((1320..=1340).contains(&size), "lossy {lossy}: {size}");
        assert_eq!(seconds(&mut pair, 1, 1340), 50, "who sends is told that they are too large");
    }
}

/// docs/stp.md §15.7: a datagram that fits a packet waits for one without an answer beside it.
#[test]
fn a_datagram_as_large_as_a_packet_is_not_dropped_beside_an_answer() {
    let mut pair = Pair::met(usual(&Config::default()));
    let id = pair.ends[0].open(Class::default()).expect("there is credit");
    pair.ends[0].write(id, bytes(1));
    pair.run(500, |_, _| false);
    let until = Time::MAX;
    let largest =
        (1..=1500).rev().find(|len| pair.ends[0].send_datagram(5, bytes(*len), until)).expect("some fit");
    for n in 0..200 {
        // An answer to data that come the other way is due when the datagram is written.
        pair.ends[1].write(id, bytes(3000));
        while let Some(packet) = pair.ends[1].poll_transmit(pair.now) {
            pair.ends[0].handle_packet(pair.now, &packet);
        }
        assert!(pair.ends[0].send_datagram(5, bytes(largest - n % 30), until));
        pair.run(10, |_, _| false);
        pair.read(0, id);
        while pair.ends[1].read_datagram().is_some() {}
    }
    pair.run(1000, |_, _| false);
    assert_eq!((pair.ends[0].stats().datagrams.late, pair.ends[1].stats().datagrams.received), (0, 201));
}

/// docs/stp.md §9: answers to a peer that takes none are bounded, and so are the streams that it has contradicted.
#[test]
fn resets_without_answers_are_bounded() {
    let budgets = Budgets { streams: 100, ..Budgets::default() };
    let reset = |id: u64| Frame::Reset { id, reason: 1, end: 0 };
    let mut liar = Liar::new(Config::default(), budgets);
    let taken = (0..10_000).filter(|n| liar.say(vec![reset(2 * n)])).count();
    assert!((1000..1300).contains(&taken), "{taken} resets of streams that were never opened");
    assert!(liar.end.held() < 1300);

    let mut liar = Liar::new(Config::default(), budgets);
    let contradicts = |id: u64| {
        let opening = Some(Class::default());
        let data = |len| Some(bytes(len));
        vec![
            Frame::Stream { id, opening, offset: 0, end: false, data: data(2) },
            Frame::Stream { id, opening: None, offset: 0, end: true, data: data(1) },
        ]
    };
    let taken = (0..1000).filter(|n| liar.say(contradicts(2 * n))).count();
    assert_eq!((taken, liar.end.streams()), (100, 0));
    // Each answer lets the peer open another.
    assert!((0..100).all(|n| liar.say(vec![reset(2 * n)])));
    assert!((100..200).all(|n| liar.say(contradicts(2 * n))));
}

/// docs/stp.md §15.3: a direction that was closed may be stopped.
#[test]
fn stopping_what_was_closed_ends_it() {
    let mut pair = Pair::met(usual(&Config::default()));
    let id = pair.ends[0].open(Class::default()).expect("there is credit");
    pair.ends[0].write(id, bytes(60_000_000));
    pair.ends[0].shutdown(id);
    pair.run(500, |_, _| false);
    pair.ends[0].stop_writing(id);
    let before = pair.sent[0].len();
    pair.ends[1].shutdown(id);
    for _ in 0..20 {
        pair.run(100, |_, _| false);
        pair.read(1, id);
    }
    assert!(pair.sent[0].len() - before < 20_000, "{} packets", pair.sent[0].len() - before);
    assert!(pair.at(1, TrunkEvent::PeerFinished(id)).is_some());
    assert!(pair.at(0, TrunkEvent::Closed(id)).is_some());
}

/// docs/stp.md §15.1: the end of an association takes nothing from a reader.
#[test]
fn data_that_have_arrived_are_read_after_the_peers_end() {
    let mut pair = Pair::met(usual(&Config::default()));
    let id = pair.ends[0].open(Class::default()).expect("there is credit");
    pair.ends[0].write(id, bytes(100_000));
    pair.ends[0].shutdown(id);
    pair.run(500, |_, _| false);
    pair.ends[1].shutdown(id);
    pair.run(500, |_, _| false);
    pair.ends[0].close();
    pair.run(2000, |_, _| false);
    assert!(!pair.ends[1].is_over());
    assert_eq!(pair.read(1, id), 100_000);
    pair.run(2000, |_, _| false);
    assert!(pair.at(1, TrunkEvent::Closed(id)).is_some());
    assert!(pair.at(0, TrunkEvent::Ended(Reason::Finished)).is_some());
    assert!(pair.ends.iter().all(Trunk::is_over));
}

/// docs/stp.md §15.3: a change of class that comes before the opening is ignored, so that the opening has it when it is sent again.
#[test]
fn a_class_that_changed_while_the_opening_was_lost_applies() {
    let mut pair = Pair::met(usual(&Config::default()));
    let id = pair.ends[0].open(Class { priority: 6, weight: 16 }).expect("there is credit");
    pair.ends[0].write(id, bytes(100));
    let lost: Sent = pair.ends[0].poll_transmit(pair.now).expect("the opening");
    assert!(lost.data.as_ref().is_some_and(|frames: &Frames<Bytes>| !frames.0.is_empty()));
    let class = Class { priority: 1, weight: 16 };
    pair.ends[0].prioritize(id, class);
    pair.run(2000, |_, _| false);
    assert_eq!((pair.ends[0].class(id), pair.ends[1].class(id)), (Some(class), Some(class)));
}

/// Reads all datagrams that have arrived.
fn datagrams(pair: &mut Pair, side: usize) -> usize {
    std::iter::from_fn(|| pair.ends[side].read_datagram()).count()
}

/// docs/stp.md §15.5: a POLL and a BGN come beside the only datagram, so it must leave them room, or each packet has none for it.
#[test]
fn the_largest_datagram_leaves_room_for_what_comes_beside_it() {
    for early in [true, false] {
        let mut pair = if early { Pair::new(usual(&Config::default())) } else { Pair::usual() };
        let fits = |pair: &mut Pair, len: &usize| pair.ends[0].send_datagram(5, bytes(*len), Time::MAX);
        let largest = (1..=1500).rev().find(|len| fits(&mut pair, len)).expect("a datagram");
        pair.run(500, |_, _| false);
        assert_eq!((datagrams(&mut pair, 1), pair.ends[0].stats().datagrams.late), (1, 0), "{largest}");
        assert!(largest > 1380 && pair.sent[0].len() < 12, "{largest}, {}", pair.sent[0].len());
    }
}

/// docs/stp.md §15.4: packets are refused for the resets that they would cause, not for what this end says of its own: two ends that had
/// much to say refused each other's packets, and so each other's words, for ever.
#[test]
fn ends_that_have_much_to_say_hear_each_other() {
    let mut pair = Pair::met(usual(&Config::default()));
    let id = pair.ends[0].open(Class::default()).expect("there is credit");
    pair.ends[0].write(id, bytes(1000));
    pair.run(500, |_, _| false);
    assert_eq!(pair.read(1, id), 1000);
    for n in 0..20_000 {
        for end in &mut pair.ends {
            end.prioritize(id, Class { priority: (n % 7) as u8, weight: 16 });
        }
    }
    pair.ends[0].write(id, bytes(1000));
    pair.run(5000, |_, _| false);
    assert_eq!((pair.read(1, id), pair.ends[0].stats().refused, pair.ends[1].stats().refused), (1000, 0, 0));
}

/// docs/stp.md §9: nothing new is sent after the END: datagrams that got credit then were ignored, and repeated until both ends gave up.
#[test]
fn datagrams_without_credit_are_dropped_at_the_end() {
    let mut pair = Pair::met(usual(&Config::default()));
    let id = pair.ends[0].open(Class::default()).expect("there is credit");
    pair.ends[0].write(id, bytes(100_000));
    pair.ends[0].shutdown(id);
    pair.run(1000, |_, _| false);
    pair.ends[1].shutdown(id);
    (0..362).for_each(|_| assert!(pair.ends[0].send_datagram(1, bytes(1000), Time::MAX)));
    pair.run(2000, |_, _| false);
    (0..100).for_each(|_| assert!(pair.ends[0].send_datagram(1, bytes(1000), Time::MAX)));
    pair.ends[0].close();
    pair.run(1000, |_, _| false);
    let (read, before) = (datagrams(&mut pair, 1), pair.sent[0].len());
    pair.run(200_000, |_, _| false);
    let stats = pair.ends[0].stats().datagrams;
    assert_eq!((stats.written, stats.sent + stats.late), (462, 462));
    assert_eq!((read as u64, datagrams(&mut pair, 1)), (stats.sent, 0));
    assert!(stats.late > 50 && pair.sent[0].len() - before < 20, "{stats:?}");
    assert_eq!(pair.read(1, id), 100_000);
}

/// docs/stp.md §6.4: where each report tells of one datagram, chance loses six in a row. A probe tells that the path is no narrower; and
/// if chance loses three of those, too, datagrams that are refused ask for the next: time is lost, but not all.
#[test]
fn losses_of_datagrams_are_no_narrower_path() {
    for (len, every_ms, most) in [(400, 20, 0), (1000, 100, 60), (1400, 100, 3000)] {
        let mut pair = Pair::met(usual(&Config { packet_size: 1444, base_size: 1224, ..Config::default() }));
        let id = pair.ends[0].open(Class::default()).expect("there is credit");
        pair.ends[0].write(id, bytes(100_000));
        pair.run(5000, |_, _| false);
        assert_eq!(pair.ends[0].packet_size(), 1444);
        let (mut chance, mut refused) = (loses(3), 0);
        for _ in 0..6000 {
            let until = pair.now + Span::from_millis(500);
            refused += u32::from(!pair.ends[0].send_datagram(id, bytes(len), until));
            pair.run(every_ms, &mut chance);
            datagrams(&mut pair, 1);
        }
        println!("{len} B: {refused} of 6000 refused");
        assert!(refused <= most, "{len} B: {refused} of 6000 refused");
    }
}

/// docs/stp.md §15.5: a datagram that is larger than half of the peer's budget needs credit before half of it is used, and one that is
/// larger than all of it never has enough.
#[test]
fn a_datagram_that_needs_most_of_the_budget_stops_no_others() {
    let config = Config { packet_size: 8972, ..Config::default() };
    let small = Budgets { datagram_window: 4096, ..Budgets::default() };
    for (one, two, arrive) in [(2047, 2050, 22), (100, 4000, 22), (100, 5000, 21)] {
        let mut pair = Pair::met([(config.clone(), Budgets::default()), (config.clone(), small)]);
        let mut read = 0;
        assert!(pair.ends[0].send_datagram(1, bytes(one), Time::MAX));
        pair.run(1000, |_, _| false);
        read += datagrams(&mut pair, 1);
        assert!(pair.ends[0].send_datagram(1, bytes(two), Time::MAX));
        (0..20).for_each(|_| assert!(pair.ends[0].send_datagram(1, bytes(10), Time::MAX)));
        for _ in 0..20 {
            pair.run(200, |_, _| false);
            read += datagrams(&mut pair, 1);
        }
        assert_eq!((read, pair.ends[0].stats().datagrams.late), (arrive, 22 - arrive as u64), "{one}, {two}");
    }
}

/// docs/stp.md §3.2, §5: the receiver's clock wraps after 71.6 minutes, and a host that slept has asked nothing meanwhile.
#[test]
fn pauses_of_minutes_stop_nothing() {
    let transfer = |pair: &mut Pair, id: u64, most: usize| {
        let mut got = 0;
        (0..most).any(|_| {
            pair.run(10, |_, _| false);
            got += pair.read(1, id);
            got == 1_000_000
        })
    };
    for short_s in [5, 20, 59] {
        let mut pair = Pair::met(usual(&Config::default()));
        let id = pair.ends[0].open(Class::default()).expect("there is credit");
        pair.ends[0].write(id, bytes(1_000_000));
        assert!(transfer(&mut pair, id, 500));
        pair.run((1 << 32) / 1000 - 1000 * short_s, |_, _| false);
        pair.ends[0].write(id, bytes(1_000_000));
        assert!(transfer(&mut pair, id, 100), "{short_s} s before the clock wraps");
    }
    let mut pair = Pair::met(usual(&Config::default()));
    let id = pair.ends[0].open(Class::default()).expect("there is credit");
    pair.ends[0].write(id, bytes(1_000_000));
    pair.run(110, |_, _| false);
    pair.wire.clear();
    pair.now += Span::from_secs(600);
    assert!(transfer(&mut pair, id, 1000), "{:?}", pair.events);
}

/// Writes so many bytes to each stream.
fn write(pair: &mut Pair, side: usize, ids: &[u64], len: usize) {
    for id in ids {
        pair.ends[side].write(*id, bytes(len));
    }
}

/// docs/stp.md §15.4: what fills gaps is accepted, however many pieces wait behind them: otherwise both ends waited for ever.
#[test]
fn many_pieces_behind_gaps_are_put_in_order() {
    let small = Config { window: 64 << 10, ..Config::default() };
    let budgets =
        Budgets { streams: 4096, stream_window: 16 << 10, first_window: 16 << 10, ..Budgets::default() };
    let mut pair = Pair::met([(Config::default(), Budgets::default()), (small, budgets)]);
    let ids: Vec<u64> = (0..1600).filter_map(|_| pair.ends[0].open(Class::default())).collect();
    let read = |pair: &mut Pair| ids.iter().map(|id| pair.read(1, *id)).sum::<usize>();
    write(&mut pair, 0, &ids, 1);
    pair.run(3000, |_, _| false);
    assert_eq!(read(&mut pair), 1600);
    write(&mut pair, 0, &ids[..1500], 1);
    pair.run(20, |side, packet| side == 0 && packet.data.is_some());
    // Each packet brings the last stream forward, and adds pieces of others.
    for some in ids[..1500].chunks(100) {
        write(&mut pair, 0, &ids[1599..], 1);
        write(&mut pair, 0, some, 1);
        pair.run(5, |_, _| false);
    }
    let mut got = 0;
    for _ in 0..20 {
        pair.run(500, |_, _| false);
        got += read(&mut pair);
    }
    assert_eq!((ids.len(), got), (1600, 3015), "{} refused", pair.ends[1].stats().refused);
}

/// docs/stp.md §15.3: after an outage in which both ends reset all streams, neither refuses what causes no reset.
#[test]
fn both_ends_may_reset_all() {
    let both = || {
        let config = Config { congestion: Congestion::Window, ..Config::default() };
        (config, Budgets { streams: 4096, ..Budgets::default() })
    };
    let mut pair = Pair::met([both(), both()]);
    let mut ids = Vec::new();
    for side in [0, 1] {
        ids.extend((0..4000).filter_map(|_| pair.ends[side].open(Class::default())));
    }
    for side in [0, 1] {
        write(&mut pair, side, &ids, 1);
    }
    pair.run(30_000, |_, _| false);
    for id in &ids {
        pair.read(0, *id);
        pair.read(1, *id);
    }
    pair.run(2000, |_, _| false);
    for side in [0, 1] {
        write(&mut pair, side, &ids, 20);
    }
    pair.run(30_000, |_, _| true);
    for side in [0, 1] {
        ids.iter().for_each(|id| pair.ends[side].reset(*id, Reason::Aborted));
    }
    pair.run(30_000, |_, _| true);
    pair.run(120_000, |_, _| false);
    let live = pair.ends.each_ref().map(|end| (end.established(), end.held()));
    let id = pair.ends[0].open(Class::default()).expect("all are free again");
    pair.ends[0].write(id, bytes(100));
    pair.run(1000, |_, _| false);
    assert_eq!(pair.read(1, id), 100, "{live:?}");
}

/// docs/stp.md §15.3: with a guaranteed rate a stream is reset at an end that the peer has not allowed: its limit does not grow again.
#[test]
fn a_reset_beyond_the_limit_is_accepted() {
    let rate = Rate::from_bps(50_000_000);
    let config =
        Config { congestion: Congestion::Rate, max_rate: rate, initial_credit: 1000, ..Config::default() };
    let small = Budgets { first_window: 16 << 10, stream_window: 48 << 20, ..Budgets::default() };
    let mut pair =
        Pair::new([(config, Budgets::default()), (Config { window: 1 << 20, ..Config::default() }, small)]);
    let id = pair.ends[0].open(Class::default()).expect("there is credit");
    let other = pair.ends[0].open(Class::default()).expect("there is credit");
    pair.ends[0].write(id, bytes(500_000));
    pair.run(300, |_, _| false);
    pair.ends[0].reset(id, Reason::Aborted);
    pair.ends[0].write(other, bytes(10_000));
    pair.run(2000, |_, _| false);
    assert_eq!(pair.read(1, other), 10_000);
}

/// docs/stp.md §15.1: a stream that the peer opens before it knows of this end's END is not accepted, as nothing can be sent in it.
#[test]
fn no_stream_is_accepted_after_the_own_end() {
    let mut pair = Pair::usual();
    pair.ends[0].close();
    pair.run(1, |_, _| false);
    let id = pair.ends[1].open(Class::default()).expect("there is credit");
    pair.ends[1].write(id, bytes(1000));
    pair.run(5000, |_, _| false);
    assert_eq!(
        (pair.at(0, TrunkEvent::Opened(id)), pair.at(1, TrunkEvent::Reset(id, Reason::Refused)).is_some()),
        (None, true)
    );
}
