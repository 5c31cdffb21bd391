//! Single streams and datagrams of an association: delays among them, scheduling, and the limits for a lying peer.
//!
//! Follows docs/stp.md §15.1 and §15.3 to §15.7, rule by rule.
//! Differs from `stp_trunks`: each case is written by hand for one rule.
//! Leaves out paths with a rate (`stp_crowds`).

use super::stp_trunk::pair::{DELAY, HERE, Liar, Pair, Sent, THERE, bytes};
use bytes::Bytes;
use skyhop_transport::stp::{
    Budgets, Class, Config, Congestion, Connection, Event, Frames, Reason, Trunk, TrunkEvent,
};
use skyhop_units::{Rate, Span, Time};
use skyhop_wire::stp::Frame;

fn frames(packet: &Sent) -> &[Frame<Bytes>] {
    packet.data.as_ref().map_or(&[], |frames| &frames.0)
}

fn has_data(packet: &Sent, id: u64) -> bool {
    frames(packet).iter().any(|frame| matches!(frame, Frame::Stream { id: other, .. } if *other == id))
}

#[test]
fn a_loss_delays_the_stream_that_has_data_in_it_and_no_other() {
    let mut pair = Pair::usual();
    // Its turn is more than one packet: then there is a packet with its data alone.
    let weights = [16, 64, 16];
    let ids = weights.map(|weight| pair.ends[0].open(Class { priority: 3, weight }).expect("it may"));
    for id in ids {
        pair.ends[0].write(id, bytes(4000));
        pair.ends[0].shutdown(id);
    }
    let mut lost = 0;
    pair.run(3000, |side, packet| {
        let others = has_data(packet, ids[0]) || has_data(packet, ids[2]);
        let hit = side == 0 && has_data(packet, ids[1]) && !others && lost == 0;
        lost += u64::from(hit);
        hit
    });
    let [first, second, third] = ids.map(|id| pair.at(1, TrunkEvent::PeerFinished(id)).expect("all of it"));
    assert_eq!((first, third, lost), (Time::ZERO + DELAY, Time::ZERO + DELAY, 1));
    assert!(second >= Time::ZERO + DELAY * 3, "{second}");
}

#[test]
fn an_opening_waits_for_no_answer_and_survives_the_loss_of_its_first_packet() {
    let mut pair = Pair::usual();
    let id = pair.ends[0].open(Class { priority: 2, weight: 9 }).expect("it may");
    pair.ends[0].write(id, bytes(5000));
    pair.run(60, |side, packet| side == 0 && packet.seq == 1);
    // The second packet has opened it.
    assert_eq!(pair.at(1, TrunkEvent::Opened(id)), Some(Time::ZERO + DELAY));
    assert!(pair.at(1, TrunkEvent::Connected).is_some());
    pair.run(1000, |_, _| false);
    assert_eq!(pair.read(1, id), 5000);
}

#[test]
fn datagrams_are_not_sent_again_and_late_ones_not_at_all() {
    let mut pair =
        Pair::met([(Config::default(), Budgets::default()), (Config::default(), Budgets::default())]);
    let soon = pair.now + Span::from_millis(500);
    assert!(pair.ends[0].send_datagram(4, bytes(300), soon));
    assert!(pair.ends[0].send_datagram(5, bytes(200), pair.now), "taken, and dropped when it would leave");
    assert!(!pair.ends[0].send_datagram(5, bytes(1440), soon), "no packet has room for it");
    let is_datagram = |packet: &Sent| frames(packet).iter().any(|f| matches!(f, Frame::Datagram { .. }));
    let before = pair.sent[0].len();
    pair.run(2000, |side, packet| side == 0 && is_datagram(packet));
    let later = &pair.sent[0][before..];
    assert_eq!(later.iter().filter(|packet| is_datagram(packet)).count(), 1);
    let told = later.iter().any(|p| frames(p).contains(&Frame::DatagramsBefore { offset: 300 }));
    assert!(told, "{later:?}");
    let stats = pair.ends[0].stats().datagrams;
    assert_eq!((stats.written, stats.sent, stats.late), (2, 1, 1));
    assert_eq!(pair.ends[1].read_datagram(), None);
    // Lost data are not charged to the credit for ever: four times the receiver's queue passes.
    let mut pair = Pair::met([paced(), paced()]);
    let mut come = 0;
    for _ in 0..1000 {
        let soon = pair.now + Span::from_millis(500);
        assert!(pair.ends[0].send_datagram(6, bytes(1000), soon));
        pair.run(10, |side, packet| side == 0 && packet.seq % 3 == 0 && is_datagram(packet));
        come += std::iter::from_fn(|| pair.ends[1].read_datagram()).count();
    }
    assert!(come > 600, "{come} of 1000");
}

#[test]
fn who_does_not_read_stops_one_stream_and_no_other() {
    let small = Budgets { stream_window: 20_000, ..Budgets::default() };
    let config = || Config { window: 100_000, ..Config::default() };
    let mut pair = Pair::met([(config(), small), (config(), small)]);
    let [slow, fast] = [0; 2].map(|_| pair.ends[0].open(Class::default()).expect("it may"));
    pair.ends[0].write(slow, bytes(90_000));
    for _ in 0..40 {
        pair.ends[0].write(fast, bytes(5_000));
        pair.run(200, |_, _| false);
        assert_eq!(pair.read(1, fast), 5_000);
    }
    assert_eq!((pair.ends[1].readable(slow), pair.ends[1].held_bytes()), (20_000, 20_000));
    assert_eq!(pair.ends[0].unsent(slow), 70_000);
    let mut read = 0;
    for _ in 0..20 {
        read += pair.read(1, slow);
        pair.run(200, |_, _| false);
    }
    assert_eq!((read, pair.ends[0].unacknowledged(slow)), (90_000, 0));
}

#[test]
fn those_who_stop_reading_leave_room_for_those_who_read() {
    let budgets = Budgets { stream_window: 900_000, first_window: 16_384, ..Budgets::default() };
    let config = || Config { window: 1_000_000, ..Config::default() };
    let mut pair = Pair::met([(config(), budgets), (config(), budgets)]);
    let mut stalled = Vec::new();
    let mut reads = Vec::new();
    for round in 0..6 {
        // A stream that is read for a while, and one that is never read.
        let [grown, never] = [0; 2].map(|_| pair.ends[0].open(Class::default()).expect("it may"));
        pair.ends[0].write(grown, bytes(2_000_000));
        pair.ends[0].write(never, bytes(2_000_000));
        let mut before = 0;
        for _ in 0..30 {
            pair.run(20, |_, _| false);
            before += pair.read(1, grown);
        }
        pair.run(500, |_, _| false);
        stalled.push((pair.ends[1].readable(grown), pair.ends[1].readable(never)));
        reads.push(before);
        assert!(before > 100_000, "{before} bytes of the stream of round {round}, beside {stalled:?}");
    }
    assert!(stalled[0].0 > 300_000, "a stream alone has up to half of the window: {stalled:?}");
    assert!(stalled.iter().all(|(_, never)| *never == 16_384), "{stalled:?}");
    let sum: u64 = stalled.iter().map(|(grown, never)| grown + never).sum();
    assert!(sum < 1_000_000 && sum == pair.ends[1].held_bytes());
}

/// Bytes that 20 streams of one owner hold, of which twelve were read for a while, and those of a later stream that is read, in
/// as many round trips as it has; `owners` are the numbers of both.
fn beside_a_hoarder([hoarder, other]: [u32; 2]) -> (u64, usize, u64) {
    let budgets = Budgets { stream_window: 1_500_000, first_window: 16_384, ..Budgets::default() };
    let config = || Config { window: 2_000_000, ..Config::default() };
    let mut pair = Pair::met([(config(), budgets), (config(), budgets)]);
    for round in 0..20 {
        let id = pair.ends[0].open(Class::default()).expect("it may");
        pair.ends[0].write(id, bytes(2_000_000));
        pair.run(80, |_, _| false);
        pair.ends[1].assign(id, hoarder);
        for _ in 0..30 {
            pair.run(20, |_, _| false);
            if round < 12 {
                pair.read(1, id);
            }
        }
        pair.ends[1].unreserve(id);
        pair.run(500, |_, _| false);
    }
    let held = pair.ends[1].held_bytes();
    let id = pair.ends[0].open(Class::default()).expect("it may");
    pair.ends[0].write(id, bytes(20_000_000));
    pair.run(100, |_, _| false);
    pair.ends[1].assign(id, other);
    let mut read = 0;
    for _ in 0..500 {
        pair.run(10, |_, _| false);
        read += pair.read(1, id);
    }
    (held, read, pair.ends[1].held_by(hoarder))
}

#[test]
fn an_owner_whose_streams_are_not_read_leaves_a_quarter_to_others() {
    // Of 2 MB an eighth is for first windows; of the rest an owner has three quarters, and of what is left another one as much.
    let (held, read, owned) = beside_a_hoarder([1, 2]);
    assert_eq!(held, owned);
    assert!((1_250_000..1_650_000).contains(&held), "{held}");
    let round_trips = 50;
    assert!((round_trips * 110_000..round_trips * 230_000).contains(&read), "{read}");
    let (_, without, _) = beside_a_hoarder([0, 0]);
    assert!(without < read / 5, "{without} read without owners, {read} with them");
}

#[test]
fn an_owner_who_holds_three_quarters_may_open_no_more_and_others_may() {
    let budgets = Budgets { stream_window: 1_500_000, first_window: 16_384, ..Budgets::default() };
    let config = || Config { window: 2_000_000, ..Config::default() };
    let mut pair = Pair::met([(config(), budgets), (config(), budgets)]);
    let mut ids = Vec::new();
    while pair.ends[1].admits(if ids.is_empty() { 0 } else { 1 }) {
        let id = pair.ends[0].open(Class::default()).expect("it may");
        pair.ends[0].write(id, bytes(100_000));
        ids.push(id);
        pair.run(200, |_, _| false);
        pair.ends[1].assign(id, 1);
    }
    // Those that have not been answered count as much as those that hold their data.
    assert_eq!((ids.len(), pair.ends[1].held_by(1)), (91, 91 * 16_384));
    assert!(pair.ends[1].admits(2) && pair.ends[1].admits(0));
    ids.iter().for_each(|id| pair.ends[1].unreserve(*id));
    assert!(!pair.ends[1].admits(1), "all are full");
    pair.read(1, ids[0]);
    pair.read(1, ids[1]);
    assert!(pair.ends[1].admits(1));
    // What a stream holds goes with it to another owner.
    for id in &ids[..90] {
        pair.ends[1].assign(*id, 2);
    }
    assert_eq!([1, 2].map(|owner| pair.ends[1].held_by(owner)), [16_384, 90 * 16_384]);
    assert!(pair.ends[1].admits(1) && !pair.ends[1].admits(2));
    for id in &ids {
        pair.ends[1].reset(*id, Reason::Aborted);
    }
    assert_eq!([1, 2].map(|owner| pair.ends[1].held_by(owner)), [0, 0]);
    assert!(pair.ends[1].admits(1));
}

#[test]
fn connections_of_one_owner_share_its_memory_alike() {
    let budgets = Budgets { stream_window: 1_500_000, first_window: 16_384, ..Budgets::default() };
    let config = || Config { window: 2_000_000, ..Config::default() };
    let mut pair = Pair::met([(config(), budgets), (config(), budgets)]);
    let mut ids = Vec::new();
    // Each begins when those before it have taken all they may.
    for _ in 0..8 {
        let id = pair.ends[0].open(Class::default()).expect("it may");
        pair.ends[0].write(id, bytes(200_000_000));
        pair.run(100, |_, _| false);
        pair.ends[1].assign(id, 1);
        pair.ends[1].unreserve(id);
        ids.push(id);
        for _ in 0..200 {
            pair.run(10, |_, _| false);
            ids.iter().for_each(|id| _ = pair.read(1, *id));
        }
    }
    let mut read = [0_u64; 8];
    for _ in 0..500 {
        pair.run(10, |_, _| false);
        ids.iter().zip(&mut read).for_each(|(id, read)| *read += pair.read(1, *id) as u64);
    }
    let (sum, squares) =
        (read.iter().sum::<u64>() as f64, read.iter().map(|r| (*r as f64).powi(2)).sum::<f64>());
    assert!(sum * sum / 8.0 / squares > 0.95, "{read:?}");
    assert!(sum / 50.0 > 1_000_000.0, "{sum} in 50 round trips");
}

#[test]
fn a_stream_with_a_limited_window_has_no_more_and_goes_on_when_the_limit_changes() {
    let small = Budgets { stream_window: 900_000, first_window: 16_384, ..Budgets::default() };
    let equal = Budgets { stream_window: 900_000, first_window: 900_000, ..Budgets::default() };
    for budgets in [small, equal] {
        let config = || Config { window: 1_000_000, ..Config::default() };
        let mut pair = Pair::met([(config(), budgets), (config(), budgets)]);
        let id = pair.ends[0].open(Class::default()).expect("it may");
        pair.ends[0].write(id, bytes(5_000_000));
        pair.run(200, |_, _| false);
        let (mut read, mut rounds) = (0, 0);
        // Less than any end must take counts as that.
        for (limit, holds) in
            [(50_000, 50_000), (1, 16_384), (200_000, 200_000), (30_000, 30_000), (u64::MAX, 900_000)]
        {
            pair.ends[1].limit_window(id, limit);
            // What was promised before is read first.
            for _ in 0..4 {
                read += pair.read(1, id);
                pair.run(300, |_, _| false);
            }
            rounds += 1;
            let held = pair.ends[1].readable(id);
            assert!(
                held <= holds && (limit == u64::MAX || held >= holds / 2),
                "{held} with a limit of {limit}"
            );
        }
        while rounds < 100 && read < 5_000_000 {
            read += pair.read(1, id);
            pair.run(300, |_, _| false);
            rounds += 1;
        }
        assert_eq!((read, pair.ends[0].unacknowledged(id)), (5_000_000, 0));
    }
}

#[test]
fn the_window_is_used_up_to_the_end_beside_streams_that_nobody_reads() {
    let budgets = Budgets { stream_window: 4_000_000, ..Budgets::default() };
    let config = || Config { window: 1_000_000, ..Config::default() };
    for reads in 1..20 {
        let mut pair = Pair::met([(config(), budgets), (config(), budgets)]);
        let [stalled, live] = [0; 2].map(|_| pair.ends[0].open(Class::default()).expect("it may"));
        pair.ends[0].write(stalled, bytes(410_000));
        pair.run(1000, |_, _| false);
        pair.ends[0].write(live, bytes(10_000_000));
        for _ in 0..reads {
            pair.run(50, |_, _| false);
            pair.read(1, live);
        }
        // Nothing is read any more: only arrivals can trigger the announcement of the remaining window.
        pair.run(2000, |_, _| false);
        let held = pair.ends[1].held_bytes();
        assert!(held > 990_000, "{held} bytes after {reads} reads");
    }
}

/// A guaranteed rate keeps packets waiting, so that their order is visible.
fn paced() -> (Config, Budgets) {
    let config = Config { congestion: Congestion::Rate, max_rate: Some(Rate::mbit(1)), ..Config::default() };
    (config, Budgets::default())
}

#[test]
fn weights_share_the_path_and_priorities_go_before() {
    let mut pair = Pair::met([paced(), paced()]);
    let weights = [16, 64];
    let ids = weights.map(|weight| pair.ends[0].open(Class { priority: 3, weight }).expect("it may"));
    for id in ids {
        pair.ends[0].write(id, bytes(1_000_000));
    }
    pair.run(4000, |_, _| false);
    let [light, heavy] = ids.map(|id| 1e6 - pair.ends[0].unsent(id) as f64);
    assert!((heavy / light / 4.0 - 1.0).abs() < 0.02, "{light} B and {heavy} B by weights of 1 to 4");
    // The stream with the small weight receives a large one.
    pair.ends[0].prioritize(ids[0], Class { priority: 3, weight: 64 });
    pair.run(4000, |_, _| false);
    let more = ids.map(|id| 1e6 - pair.ends[0].unsent(id) as f64);
    assert!(((more[1] - heavy) / (more[0] - light) - 1.0).abs() < 0.02, "{more:?}");
    let urgent = pair.ends[0].open(Class { priority: 0, weight: 1 }).expect("it may");
    pair.ends[0].write(urgent, bytes(10_000));
    let before = pair.sent[0].len();
    pair.run(100, |_, _| false);
    let turns: Vec<bool> = pair.sent[0][before..]
        .iter()
        .filter(|packet| packet.data.is_some())
        .map(|packet| has_data(packet, urgent))
        .collect();
    assert!(turns[..7].iter().all(|is| *is), "{turns:?}");
    // The peer's direction has the class of the opening, or the one it received later.
    pair.run(500, |_, _| false);
    for (id, len) in [(ids[0], 300_000), (urgent, 50_000)] {
        pair.ends[1].write(id, bytes(len));
    }
    pair.run(380, |_, _| false);
    assert!(pair.ends[1].unsent(urgent) < 10_000 && pair.ends[1].unsent(ids[0]) > 290_000);
}

#[test]
fn more_streams_than_the_peer_takes_have_to_wait() {
    let few = Budgets { streams: 17, ..Budgets::default() };
    let mut pair = Pair::usual();
    pair.ends[1] = Trunk::listen(Config::default(), few, THERE, 1000);
    let open = |pair: &mut Pair| -> Vec<u64> {
        std::iter::from_fn(|| pair.ends[0].open(Class::default())).collect()
    };
    let mut ids = open(&mut pair);
    assert_eq!(ids.len(), 16, "what every peer takes");
    pair.run(1000, |_, _| false);
    assert!(pair.at(0, TrunkEvent::MayOpen).is_some());
    ids.extend(open(&mut pair));
    assert_eq!(ids.len(), 17);
    // One stream ends while all others remain: its slot is free for another.
    for end in &mut pair.ends {
        end.shutdown(ids[0]);
    }
    pair.run(1000, |_, _| false);
    ids.remove(0);
    ids.extend(open(&mut pair));
    assert_eq!(ids.len(), 17);
    pair.run(1000, |_, _| false);
    // Half of them end, in both directions, and are replaced by others.
    for id in &ids[..9] {
        pair.ends[0].shutdown(*id);
        pair.ends[1].shutdown(*id);
    }
    pair.run(1000, |_, _| false);
    assert!(ids[..9].iter().all(|id| pair.at(1, TrunkEvent::Closed(*id)).is_some()));
    ids.drain(..9);
    // Credit comes in steps: for the last of them once the first are in use.
    ids.extend(open(&mut pair));
    assert!(ids.len() >= 12, "{}", ids.len());
    pair.run(1000, |_, _| false);
    ids.extend(open(&mut pair));
    assert_eq!(ids.len(), 17);
    // A reset also frees the slot, from either end.
    pair.run(1000, |_, _| false);
    for (n, id) in ids[..9].iter().enumerate() {
        pair.ends[n % 2].reset(*id, Reason::Aborted);
    }
    pair.run(1000, |_, _| false);
    let first = open(&mut pair).len();
    pair.run(1000, |_, _| false);
    assert_eq!(first + open(&mut pair).len(), 9);
}

#[test]
fn a_reset_ends_both_directions_and_gives_back_what_was_held() {
    let config = || Config { window: 100_000, ..Config::default() };
    let budgets = Budgets { stream_window: 60_000, ..Budgets::default() };
    let mut pair = Pair::met([(config(), budgets), (config(), budgets)]);
    // Data of more than the association's window in all, in streams that are aborted unread, by either end.
    for round in 0..10 {
        let id = pair.ends[0].open(Class::default()).expect("it may");
        pair.ends[0].write(id, bytes(70_000));
        pair.ends[0].shutdown(id);
        pair.run(160, |side, packet| side == 0 && packet.seq % 5 == 0 && has_data(packet, id));
        pair.ends[round % 2].reset(id, Reason::Refused);
        pair.run(1000, |_, _| false);
        assert!(pair.at(1 - round % 2, TrunkEvent::Reset(id, Reason::Refused)).is_some(), "{round}");
        let after = pair.sent[0].iter().skip_while(|p| {
            !frames(p).iter().any(|f| matches!(f, Frame::Reset { id: other, .. } if *other == id))
        });
        assert!(!after.skip(1).any(|packet| has_data(packet, id)), "{round}: sent again what nobody wants");
        assert_eq!((pair.ends[1].held_bytes(), pair.ends[0].streams()), (0, 0), "{round}");
    }
    let id = pair.ends[0].open(Class::default()).expect("it may");
    pair.ends[0].write(id, bytes(50_000));
    pair.run(1000, |_, _| false);
    assert_eq!(pair.read(1, id), 50_000, "the window is as large as it was");
    pair.ends[0].reset(id, Reason::Aborted);
    pair.ends.iter_mut().for_each(Trunk::close);
    pair.run(3000, |_, _| false);
    for side in [0, 1] {
        assert!(pair.at(side, TrunkEvent::Ended(Reason::Finished)).is_some());
    }
}

#[test]
fn packets_become_smaller_with_their_path_and_larger_again() {
    let mut pair =
        Pair::met([(Config::default(), Budgets::default()), (Config::default(), Budgets::default())]);
    let id = pair.ends[0].open(Class::default()).expect("it may");
    pair.ends[0].write(id, bytes(12_000_000));
    pair.run(300, |_, _| false);
    assert_eq!(pair.ends[0].packet_size(), 1440);
    let mut lost = 0;
    pair.run(6000, |_, packet| {
        let narrow = packet.wire_len() > 1300;
        lost += u64::from(narrow);
        narrow
    });
    let size = pair.ends[0].packet_size();
    assert!((1280..=1300).contains(&size) && lost > 0, "{size}");
    assert!(pair.ends[0].stats().split > 0);
    pair.run(30_000, |_, packet| packet.wire_len() > 1300);
    assert_eq!((pair.read(1, id), pair.ends[0].unacknowledged(id)), (12_000_000, 0));
}

#[test]
fn other_versions_are_refused_by_name() {
    let mut trunk = Trunk::<Bytes>::connect(Config::default(), Budgets::default(), HERE, 1);
    let mut old = Connection::<Bytes>::listen(Config::default(), THERE, 5);
    let opening = trunk.poll_transmit(Time::ZERO).expect("a BGN");
    // Version 1 does not interpret the data.
    old.handle_packet(Time::ZERO, &opening.map(|_| bytes(20)));
    let answer = old.poll_transmit(Time::ZERO).expect("an END");
    assert_eq!(answer.control.as_ref().and_then(|c| c.end).map(|e| e.reason), Some(Reason::Versions(1, 1)));
    trunk.handle_packet(Time::ZERO, &answer.map(|_| Frames::default()));
    assert_eq!(trunk.poll_event(), Some(TrunkEvent::Ended(Reason::Versions(1, 1))));
    assert!(trunk.is_over() && trunk.open(Class::default()).is_none());

    let mut old = Connection::<Bytes>::connect(Config::default(), HERE, 1);
    old.write(bytes(10));
    let mut trunk = Trunk::<Bytes>::listen(Config::default(), Budgets::default(), THERE, 5);
    let opening = old.poll_transmit(Time::ZERO).expect("a BGN");
    trunk.handle_packet(Time::ZERO, &opening.map(|_| Frames::default()));
    let answer = trunk.poll_transmit(Time::ZERO).expect("an END");
    old.handle_packet(Time::ZERO, &answer.map(|_| bytes(1)));
    assert_eq!(old.poll_event(), Some(Event::Reset(Reason::Versions(2, 2))));
}

fn piece(id: u64, offset: u64, end: bool, len: usize) -> Frame<Bytes> {
    let opening = Some(Class::default());
    Frame::Stream { id, opening, offset, end, data: (len > 0).then(|| bytes(len)) }
}

#[test]
fn what_goes_beyond_a_budget_is_refused_whole() {
    let budgets = Budgets { stream_window: 30_000, streams: 20, ..Budgets::default() };
    let mut liar = Liar::new(Config { window: 70_000, ..Config::default() }, budgets);
    assert!(liar.say(vec![piece(0, 0, false, 1000)]));
    assert!(!liar.say(vec![piece(2, 0, false, 10), piece(0, 29_500, false, 501)]), "one byte too many");
    assert_eq!(liar.end.readable(2), 0, "none of it was taken");
    assert!(liar.say(vec![piece(0, 29_500, false, 500), piece(2, 29_999, false, 1)]));
    // A piece counts also where the frame that opens its stream lies before it in the same packet.
    let later = |offset| match piece(8, offset, false, 1) {
        Frame::Stream { id, offset, end, data, .. } => Frame::Stream { id, opening: None, offset, end, data },
        other => other,
    };
    for offset in [30_000, 1 << 61] {
        assert!(!liar.say(vec![piece(8, 0, false, 0), later(offset)]), "{offset}");
    }
    // The third would exceed the association's budget.
    assert!(!liar.say(vec![piece(4, 10_000, false, 1)]));
    assert!(liar.say(vec![piece(4, 9_999, false, 1)]));
    assert!(!liar.say(vec![piece(4, 10_000, false, 1)]));
    assert!(!liar.say(vec![Frame::Reset { id: 4, reason: 1, end: 10_001 }]));
    assert!(liar.say(vec![piece(0, 1000, false, 1000)]), "what fills a gap is within it");
    assert_eq!(liar.end.held_bytes(), 70_000);
    // Streams beyond the twentieth, and streams that the liar may not open.
    assert!(liar.say(vec![piece(38, 0, true, 0)]));
    assert!(!liar.say(vec![piece(40, 0, true, 0)]));
    assert!(!liar.say(vec![Frame::Reset { id: 4_000, reason: 1, end: 0 }]));
    let before = liar.end.stats().accepted;
    assert!(liar.say(vec![piece(1, 0, true, 0), piece(77, 0, false, 5)]));
    assert_eq!(liar.end.stats().accepted, before);
    // A stream is opened once and never again, also after it has ended.
    let opened = |liar: &mut Liar| {
        std::iter::from_fn(|| liar.end.poll_event()).filter(|e| matches!(e, TrunkEvent::Opened(38))).count()
    };
    assert_eq!(opened(&mut liar), 1);
    liar.end.reset(38, Reason::Aborted);
    assert!(liar.say(vec![piece(38, 0, true, 0)]));
    assert_eq!(opened(&mut liar), 0);
}

#[test]
fn an_end_that_moves_breaks_the_stream_and_not_the_association() {
    let mut liar = Liar::new(Config::default(), Budgets::default());
    for (id, frames) in [
        (0, vec![piece(0, 0, true, 10), piece(0, 10, false, 1)]),
        (2, vec![piece(2, 0, true, 10), piece(2, 0, true, 5)]),
        (4, vec![piece(4, 100, false, 10), piece(4, 0, true, 50)]),
    ] {
        assert!(liar.say(frames));
        let reset = std::iter::from_fn(|| liar.end.poll_event())
            .any(|event| event == TrunkEvent::Reset(id, Reason::Protocol));
        assert!(reset, "{id}");
    }
    assert!(liar.say(vec![piece(6, 0, false, 7)]));
    assert_eq!(liar.end.readable(6), 7);
}

/// Alternate bytes: pieces are bounded, and one that fills a gap is still accepted.
#[test]
fn tiny_pieces_cost_no_more_than_the_window() {
    let config = Config { window: 256_000, ..Config::default() };
    let mut liar = Liar::new(config, Budgets { stream_window: 256_000, ..Budgets::default() });
    let mut taken = 0;
    for n in 0..5_000 {
        taken += u64::from(liar.say(vec![piece(0, 1 + 2 * n, false, 1)]));
    }
    assert_eq!(taken, 256_000 / 128);
    for n in 0..taken {
        assert!(liar.say(vec![piece(0, 2 * n, false, 1)]), "{n}");
    }
    assert_eq!(liar.end.readable(0), 2 * taken);
}
