//! Two ends of a TCP connection over a path whose delay, losses and order are fields.
//!
//! Expectations are from RFC 9293 (handshake, close, windows, resets), 7323, 6298, 5681 and 5961, and from Karn. Time is virtual
//! and every loss is selected by its number, so each conversation is reproducible.

use skyhop_transport::tcp::{Config, Connection, DelayedAck, Event, State, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Packet, TcpHeader, Transport};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

const A: usize = 0;
const B: usize = 1;

#[test]
fn handshake_takes_three_segments_and_agrees_on_options() {
    let config = Config { timestamps: true, window: 1_000_000, ..quick() };
    let mut pair = Pair::new([config.clone(), Config { mss: 1200, ..config }]);
    pair.run(ms(500));
    assert_eq!(pair.log.len(), 3, "{:#?}", pair.log);
    let [syn, syn_ack, ack] = [0, 1, 2].map(|i| pair.log[i].tcp());

    assert_eq!((syn.flags, syn.seq, syn.ack), (SYN, 1000, 0));
    assert_eq!((syn.mss, syn.sack_permitted), (Some(1460), true));
    // 1 MB needs a shift of 4: 1,000,000 >> 4 = 62,500. The window of a SYN itself is never scaled.
    assert_eq!((syn.window_scale, syn.window), (Some(4), 65_535));
    assert_eq!(syn.timestamps.unwrap().echo, 0);

    assert_eq!((syn_ack.flags, syn_ack.seq, syn_ack.ack), (SYN | ACK, 9000, 1001));
    assert_eq!((syn_ack.mss, syn_ack.sack_permitted), (Some(1200), true));
    assert_eq!((syn_ack.window_scale, syn_ack.window), (Some(4), 65_535));
    assert_eq!(syn_ack.timestamps.unwrap().echo, syn.timestamps.unwrap().value);

    assert_eq!((ack.flags, ack.seq, ack.ack), (ACK, 1001, 9001));
    assert_eq!((ack.mss, ack.window_scale, ack.sack_permitted), (None, None, false));
    assert_eq!(ack.window, 62_500);
    assert_eq!(ack.timestamps.unwrap().echo, syn_ack.timestamps.unwrap().value);

    assert_eq!([0, 1, 2].map(|i| pair.log[i].at), [ms(0), ms(50), ms(100)]);
    assert_eq!(pair.events, [vec![Event::Connected], vec![Event::Connected]]);
    // RFC 6691: the smaller of the two sizes, less twelve bytes of timestamps.
    pair.ends[A].write(10_000);
    pair.run(ms(600));
    assert_eq!(pair.log[3].packet.payload_len, 1188);
}

#[test]
fn options_are_used_only_if_both_ends_offer_them() {
    let full = Config { timestamps: true, window: 1_000_000, ..quick() };
    let plain = Config { variant: Variant::Reno, timestamps: false, ..full.clone() };
    for ends in [[full.clone(), plain.clone()], [plain, full]] {
        let mut pair = Pair::new(ends);
        pair.drop[A] = vec![3];
        pair.ends[A].write(20_000);
        pair.finish();
        assert_eq!(pair.ends[B].delivered(), 20_000);
        assert!(pair.log[1..].iter().all(|s| s.tcp().timestamps.is_none()));
        assert!(pair.log.iter().all(|s| s.tcp().sack.is_empty()));
    }
}

#[test]
fn a_finishes_and_b_still_sends() {
    half_close(A);
}

#[test]
fn b_finishes_and_a_still_sends() {
    half_close(B);
}

fn half_close(first: usize) {
    let second = 1 - first;
    let mut pair = Pair::open(quick());
    pair.ends[first].write(5_000);
    pair.ends[first].shutdown();
    pair.run(ms(1000));
    assert_eq!([pair.ends[first].state(), pair.ends[second].state()], [State::FinWait2, State::CloseWait]);
    assert!(pair.events[second].contains(&Event::PeerFinished));
    assert!(!pair.events[first].contains(&Event::PeerFinished));

    pair.ends[second].write(50_000);
    pair.run(ms(3000));
    assert_eq!(pair.ends[first].delivered(), 50_000, "the other direction stays open");
    pair.ends[second].shutdown();
    pair.run(ms(3040));
    assert_eq!(pair.ends[second].state(), State::LastAck);
    pair.run(ms(3200));
    assert_eq!([pair.ends[first].state(), pair.ends[second].state()], [State::TimeWait, State::Closed]);
    pair.run(ms(60_000));
    pair.assert_closed();
    assert_eq!(pair.ends[second].delivered(), 5_000);
}

#[test]
fn both_may_finish_at_the_same_time() {
    let mut pair = Pair::open(quick());
    let both = |pair: &Pair| [pair.ends[A].state(), pair.ends[B].state()];
    pair.ends[A].shutdown();
    pair.ends[B].shutdown();
    pair.run(ms(240));
    assert_eq!(both(&pair), [State::FinWait1; 2]);
    pair.run(ms(260));
    assert_eq!(both(&pair), [State::Closing; 2]);
    pair.run(ms(320));
    assert_eq!(both(&pair), [State::TimeWait; 2]);
    pair.run(ms(60_000));
    pair.assert_closed();
    assert_eq!(pair.log.len(), 3 + 4, "a FIN and its acknowledgment each way");
}

#[test]
fn a_lost_syn_is_sent_again_after_the_initial_timeout() {
    let mut pair = Pair::new([quick(), quick()]);
    pair.drop[A] = vec![0, 1];
    pair.run(ms(10_000));
    let syns: Vec<Time> = pair.log.iter().filter(|s| s.tcp().flags == SYN).map(|s| s.at).collect();
    assert_eq!(syns, [ms(0), ms(1000), ms(3000)]);
    assert_eq!(pair.events, [vec![Event::Connected], vec![Event::Connected]]);
    assert_eq!((pair.ends[A].stats().timeouts, pair.ends[A].stats().segments_retransmitted), (2, 2));
    assert_eq!(pair.ends[A].stats().rtt.count, 0, "Karn: a SYN sent twice measures nothing");
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    let mut pair = Pair::new([quick(), quick()]);
    pair.drop[B] = vec![0];
    pair.ends[A].write(10_000);
    pair.run(ms(10_000));
    assert_eq!([pair.events[A][0], pair.events[B][0]], [Event::Connected; 2]);
    assert_eq!(pair.ends[B].delivered(), 10_000);
    let answers: Vec<Time> = pair.log.iter().filter(|s| s.tcp().flags == SYN | ACK).map(|s| s.at).collect();
    assert_eq!(answers, [ms(50), ms(1050)]);
}

#[test]
fn a_lost_third_segment_of_the_handshake_is_made_up_for() {
    // With data after it the data open the connection; without, the SYN-ACK is repeated and answered.
    for (bytes, by) in [(2_000, ms(160)), (0, ms(1_200))] {
        let mut pair = Pair::new([quick(), quick()]);
        pair.drop[A] = vec![1];
        pair.run(ms(100));
        pair.ends[A].write(bytes);
        pair.run(by);
        assert_eq!(pair.events[B].first(), Some(&Event::Connected), "{bytes} bytes");
        assert_eq!(pair.ends[B].delivered(), bytes);
    }
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut pair = Pair::open(quick());
    pair.drop[A] = vec![pair.count[A]];
    pair.ends[A].shutdown();
    pair.run(ms(1199));
    assert_eq!(pair.ends[B].state(), State::Established);
    pair.run(ms(1300));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::FinWait2, State::CloseWait]);
    let fins: Vec<Time> = pair.log.iter().filter(|s| s.tcp().flags.has(Flags::FIN)).map(|s| s.at).collect();
    assert_eq!(fins, [ms(200), ms(1200)]);
}

#[test]
fn a_lost_last_acknowledgment_is_repeated_from_time_wait() {
    let mut pair = Pair::open(quick());
    pair.ends[A].shutdown();
    pair.run(ms(400));
    pair.drop[A] = vec![pair.count[A]];
    pair.ends[B].shutdown();
    pair.run(ms(600));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::TimeWait, State::LastAck]);
    pair.run(ms(1600));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::TimeWait, State::Closed]);
    pair.run(ms(60_000));
    pair.assert_closed();
}

#[test]
fn an_end_that_waits_for_its_last_acknowledgment_takes_a_reset_for_it() {
    // A has forgotten the connection when B's FIN comes again. RFC 9293 3.10.7.4: in LAST-ACK a reset closes, and no
    // error is signalled.
    let mut pair = Pair::open(quick());
    pair.ends[A].shutdown();
    pair.run(ms(400));
    pair.drop[A] = (0..3).map(|i| pair.count[A] + i).collect();
    pair.ends[B].shutdown();
    pair.run(ms(60_000));
    assert!(pair.log.iter().any(|s| s.from == A && s.tcp().flags.has(Flags::RST)), "A answers with a reset");
    pair.assert_closed();
}

#[test]
fn a_late_copy_of_data_after_the_close_is_no_error() {
    // B has closed and answers with a reset, which A in TIME-WAIT accepts silently.
    let mut pair = Pair::open(quick());
    pair.ends[A].write(1_000);
    pair.ends[A].shutdown();
    pair.run(ms(400));
    pair.ends[B].shutdown();
    pair.run(ms(600));
    assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::TimeWait, State::Closed]);
    let copy = pair.log.iter().find(|s| s.from == A && s.packet.payload_len > 0).unwrap().packet;
    pair.ends[B].handle_packet(pair.now, &copy);
    pair.run(ms(60_000));
    pair.assert_closed();
}

#[test]
fn a_closed_port_refuses() {
    let mut pair = Pair::new([quick(), quick()]);
    pair.ends[B].shutdown();
    pair.run(ms(60_000));
    let reset = pair.log[1].tcp();
    // RFC 9293 3.10.7.1: <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>.
    assert_eq!((reset.flags, reset.seq, reset.ack), (Flags::RST | ACK, 0, 1001));
    assert_eq!(pair.events[A], [Event::Reset]);
    assert_eq!((pair.ends[A].state(), pair.log.len()), (State::Closed, 2));
}

#[test]
fn only_a_reset_at_the_next_number_expected_breaks_the_connection() {
    // RFC 5961 3.2: elsewhere in the window it is challenged, outside of it ignored.
    for (offset, answered, state) in [
        (0i64, 0, State::Closed),
        (1, 1, State::Established),
        (9_000, 1, State::Established),
        (10_000_000, 0, State::Established),
        (-1, 0, State::Established),
        (-5_000, 0, State::Established),
    ] {
        let mut pair = Pair::open(quick());
        pair.ends[A].write(30_000);
        pair.run(ms(1_500));
        let (next, before) = (pair.log.last().unwrap().tcp().ack, pair.log.len());
        let seq = next.wrapping_add(offset as u32);
        pair.forge(B, TcpHeader { flags: Flags::RST, seq, ..TcpHeader::default() }, 0);
        pair.run(ms(2_000));
        assert_eq!(pair.ends[B].state(), state, "reset at {offset}");
        assert_eq!(pair.events[B].contains(&Event::Reset), state == State::Closed, "reset at {offset}");
        assert_eq!(pair.log.len() - before, answered, "answers to a reset at {offset}");
    }
}

#[test]
fn a_receiver_that_does_not_read_closes_the_window_and_is_probed_until_it_does() {
    let config = Config { window: 10_000, mss: 1000, initial_window: 20_000, ..quick() };
    let mut pair = Pair::open(config);
    pair.reads[B] = false;
    pair.ends[A].write(40_000);
    pair.run(ms(60_000));
    assert_eq!(pair.ends[B].delivered(), 10_000, "exactly the window");
    let closed = pair.log.iter().position(|s| s.from == B && s.tcp().window == 0).expect("the window closes");
    let probes: Vec<&Sent> = pair.log[closed..].iter().filter(|s| s.from == A).collect();
    // RFC 9293 3.8.6.1: the first after a timeout, then at exponentially growing intervals: 1, 2, 4, 8, 16, 32 s.
    assert!((5..=7).contains(&probes.len()), "{} probes in a minute", probes.len());
    assert!(probes.iter().all(|s| s.packet.payload_len <= 1));
    let gaps: Vec<f64> = probes.windows(2).map(|w| w[1].at.since(w[0].at).as_secs_f64()).collect();
    assert!(gaps.windows(2).all(|w| (1.9..2.1).contains(&(w[1] / w[0]))), "gaps of {gaps:?} s");
    let stats = pair.ends[A].stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 0), "a closed window is no congestion");

    pair.reads[B] = true;
    pair.ends[B].read();
    pair.run(ms(60_200));
    assert!((20_000..=40_000).contains(&pair.ends[B].delivered()), "the window opens without a probe");
    pair.finish();
    assert_eq!(pair.ends[B].delivered(), 40_000);
    assert!((60.0..61.5).contains(&pair.now.as_secs_f64()), "done by {}", pair.now);
}

#[test]
fn a_window_update_that_is_lost_is_asked_for() {
    let config = Config { window: 10_000, mss: 1000, initial_window: 20_000, ..quick() };
    let mut pair = Pair::open(config);
    pair.reads[B] = false;
    pair.ends[A].write(20_000);
    pair.run(ms(5_500));
    pair.drop[B] = vec![pair.count[B]];
    pair.reads[B] = true;
    pair.ends[B].read();
    pair.run(ms(20_000));
    assert_eq!(pair.ends[B].delivered(), 20_000);
}

#[test]
fn reading_from_a_small_buffer_does_not_wait_for_a_probe() {
    // 1080 bytes are left of 4000 when the receiver reads: less than a segment, so it must announce the room.
    let mut pair = Pair::open(Config { window: 4_000, initial_window: 20_000, ..quick() });
    pair.reads[B] = false;
    pair.ends[A].write(5_840);
    pair.run(ms(600));
    assert_eq!(pair.ends[B].delivered(), 2_920);
    pair.reads[B] = true;
    pair.ends[B].read();
    pair.run(ms(1_000));
    assert_eq!(pair.ends[B].delivered(), 5_840);
}

#[test]
fn a_window_smaller_than_a_segment_is_used() {
    // RFC 9293 3.8.6.2.1: half of the largest window ever offered may be sent, even if it is not a full segment.
    let mut pair = Pair::open(Config { window: 1_000, ..quick() });
    pair.ends[A].write(20_000);
    pair.run(ms(5_000));
    assert_eq!(pair.ends[B].delivered(), 20_000);
    assert_eq!(pair.largest_flight(), 1_000);
}

#[test]
fn an_end_that_has_used_its_window_can_still_acknowledge_and_finish() {
    // The first of A's segments is lost and the others fill the window: the acknowledgments in A's segments must count all the
    // same.
    let mut pair = Pair::open(Config { window: 4_000, mss: 1000, initial_window: 4_000, ..quick() });
    pair.drop[A] = vec![pair.count[A]];
    pair.ends[A].write(4_000);
    pair.run(ms(240));
    pair.ends[A].shutdown();
    pair.ends[B].write(20_000);
    pair.run(ms(1_100));
    assert_eq!((pair.ends[A].delivered(), pair.ends[B].acknowledged()), (20_000, 20_000));
    pair.run(ms(1_400));
    assert_eq!((pair.ends[B].delivered(), pair.ends[B].state()), (4_000, State::CloseWait));
}

#[test]
fn an_initial_window_smaller_than_a_segment_still_sends() {
    let mut pair = Pair::open(Config { initial_window: 500, ..quick() });
    pair.ends[A].write(20_000);
    pair.run(ms(5_000));
    assert_eq!(pair.ends[B].delivered(), 20_000);
}

#[test]
fn a_window_of_a_gigabyte_is_announced_and_used() {
    let config = Config { window: 1 << 30, initial_window: 200_000_000, mss: 60_000, ..quick() };
    let mut pair = Pair::open(config);
    assert_eq!(pair.log[0].tcp().window_scale, Some(14));
    // The largest window that can be announced is 65,535 shifted by 14.
    assert_eq!(pair.log[2].tcp().window, 65_535);
    pair.ends[A].write(400_000_000);
    // The window of a SYN is not scaled, so the first flight has at most 65,535 bytes, and the second as much as cwnd permits.
    pair.run(ms(290));
    assert_eq!(pair.ends[A].in_flight(), 60_000);
    pair.run(ms(340));
    let flight = pair.ends[A].in_flight();
    assert!((199_900_000..=200_100_000).contains(&flight), "{flight} bytes in flight");
    pair.finish();
    assert_eq!(pair.ends[B].delivered(), 400_000_000);
}

#[test]
fn sequence_numbers_wrap_without_anyone_noticing() {
    for variant in VARIANTS {
        let config = Config { variant, ..quick() };
        let converse = |initial| {
            let mut pair = Pair::with_numbers([config.clone(), config.clone()], initial);
            pair.drop = [vec![9, 11, 18, 19, 20, 21], vec![4, 5]];
            pair.late[A] = vec![(14, Span::from_millis(30))];
            pair.run(ms(200));
            for (end, bytes) in [(A, 200_000), (B, 30_000)] {
                pair.ends[end].write(bytes);
                pair.ends[end].shutdown();
            }
            pair.run(ms(300_000));
            pair.assert_closed();
            assert_eq!([pair.ends[A].delivered(), pair.ends[B].delivered()], [30_000, 200_000]);
            let seen = |s: &Sent| {
                (s.at, s.from, s.tcp().seq.wrapping_sub(pair.initial[s.from]), s.packet.payload_len)
            };
            pair.log.iter().map(seen).collect::<Vec<_>>()
        };
        let straight = converse([1000, 9000]);
        let wrapping = converse([u32::MAX - 20_000, u32::MAX - 3]);
        assert_eq!(straight, wrapping, "{variant:?}");
    }
}

#[test]
fn more_than_four_gigabytes_go_through_one_connection() {
    let config = Config { mss: 65_000, window: 1 << 30, initial_window: 1 << 26, ..quick() };
    let mut pair = Pair::with_numbers([config.clone(), config], [7, 8]);
    pair.keep_log = false;
    pair.drop[A] = vec![1000, 66_000, 66_100];
    pair.run(ms(200));
    let bytes = 5 << 30;
    pair.ends[A].write(bytes);
    pair.ends[A].shutdown();
    pair.ends[B].shutdown();
    pair.run(ms(300_000));
    assert_eq!((pair.ends[A].delivered(), pair.ends[B].delivered()), (0, bytes));
    pair.assert_closed();
}

#[test]
fn every_second_segment_is_acknowledged_and_a_lone_one_after_the_timeout() {
    let delayed_ack = DelayedAck::OneShot(Span::from_millis(200));
    let mut pair = Pair::open(Config { delayed_ack, mss: 1000, initial_window: 5_000, ..quick() });
    pair.ends[A].write(5_000);
    pair.run(ms(1_000));
    // Five segments arrive at 250 ms: two acknowledgments at once, the fifth's 200 ms later.
    assert_eq!(pair.acknowledgments(B, ms(200)), [(ms(250), 2_000), (ms(250), 4_000), (ms(450), 5_000)]);
}

#[test]
fn a_heartbeat_acknowledges_at_its_beats() {
    let delayed_ack = DelayedAck::Heartbeat(Span::from_millis(200));
    for (written_at, acknowledged_at) in [(205, 400), (345, 400), (355, 600)] {
        let mut pair = Pair::open(Config { delayed_ack, mss: 1000, ..quick() });
        pair.run(ms(written_at));
        pair.ends[A].write(1_000);
        pair.run(ms(1_000));
        // 50 ms on the way, then the wait for the beat.
        assert_eq!(
            pair.acknowledgments(B, ms(201)),
            [(ms(acknowledged_at), 1_000)],
            "sent at {written_at} ms"
        );
    }
}

#[test]
fn data_going_back_carries_the_acknowledgment() {
    let delayed_ack = DelayedAck::OneShot(Span::from_millis(200));
    let mut pair = Pair::open(Config { delayed_ack, mss: 1000, ..quick() });
    pair.ends[A].write(1_000);
    pair.run(ms(300));
    pair.ends[B].write(1_000);
    pair.run(ms(2_000));
    let from_b: Vec<&Sent> = pair.log.iter().filter(|s| s.from == B && s.at > ms(200)).collect();
    assert_eq!(from_b.len(), 1);
    assert_eq!((from_b[0].at, from_b[0].tcp().ack, from_b[0].packet.payload_len), (ms(300), 2001, 1_000));
}

#[test]
fn out_of_order_data_and_gap_fillers_are_acknowledged_at_once() {
    let delayed_ack = DelayedAck::OneShot(Span::from_millis(200));
    let mut pair = Pair::open(Config { delayed_ack, mss: 1000, initial_window: 3_000, ..quick() });
    pair.late[A] = vec![(pair.count[A], Span::from_millis(20))];
    pair.ends[A].write(3_000);
    pair.run(ms(300));
    assert_eq!(pair.acknowledgments(B, ms(200)), [(ms(250), 0), (ms(250), 0), (ms(270), 3_000)]);
    assert_eq!(pair.ends[A].stats().segments_retransmitted, 0, "two duplicates are no signal");
}

#[test]
fn a_segment_sent_twice_is_not_measured() {
    // Karn: the acknowledgment may belong to either. Timestamps identify the transmission (RFC 7323 4).
    for (timestamps, samples) in [(false, 1), (true, 2)] {
        let mut pair = Pair::open(Config { timestamps, mss: 1000, ..quick() });
        assert_eq!(pair.ends[A].stats().rtt.count, 1, "the SYN's");
        pair.drop[A] = vec![pair.count[A]];
        pair.ends[A].write(500);
        pair.run(ms(5_000));
        let stats = pair.ends[A].stats();
        assert_eq!((stats.timeouts, stats.rtt.count), (1, samples));
        let hundred = Some(Span::from_millis(100));
        assert_eq!((stats.rtt.min, stats.rtt.max), (hundred, hundred));
    }
}

#[test]
fn the_timeout_doubles_up_to_its_limit_and_is_reset_by_a_fresh_sample() {
    let mut pair = Pair::open(Config { mss: 1000, rto_max: Span::from_secs(10), ..quick() });
    let first = pair.count[A];
    pair.drop[A] = (first..first + 6).collect();
    pair.ends[A].write(1_000);
    pair.run(ms(41_000));
    let sent: Vec<Time> = pair.log.iter().filter(|s| s.from == A && s.at >= ms(200)).map(|s| s.at).collect();
    let gaps: Vec<f64> = sent.windows(2).map(|w| w[1].since(w[0]).as_secs_f64()).collect();
    assert_eq!(gaps, [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]);
    assert_eq!(pair.ends[B].delivered(), 1_000);

    // Karn: the timeout is kept until a segment sent once is acknowledged ...
    pair.drop[A] = vec![pair.count[A]];
    pair.ends[A].write(1_000);
    pair.run(ms(50_999));
    assert_eq!(pair.ends[B].delivered(), 1_000);
    pair.run(ms(51_200));
    assert_eq!(pair.ends[B].delivered(), 2_000);
    pair.ends[A].write(1_000);
    pair.run(ms(51_400));
    // ... and then it is computed from the round trips: a second, the minimum.
    pair.drop[A] = vec![pair.count[A]];
    pair.ends[A].write(1_000);
    pair.run(ms(52_399));
    assert_eq!(pair.ends[B].delivered(), 3_000);
    pair.run(ms(52_500));
    assert_eq!(pair.ends[B].delivered(), 4_000);
}

#[test]
fn after_a_timeout_slow_start_begins_with_one_segment_and_half_the_window() {
    let mut pair = Pair::open(Config { mss: 1000, initial_window: 10_000, ..quick() });
    let first = pair.count[A];
    pair.drop[A] = (first..first + 10).collect();
    pair.ends[A].write(10_000);
    pair.run(ms(1_200));
    // RFC 5681 3.1: ssthresh is half of what was in flight, cwnd one segment.
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (1_000, Some(5_000)));
    assert_eq!(pair.ends[A].stats().segments_retransmitted, 1);
    pair.run(ms(1_320));
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].stats().segments_retransmitted), (2_000, 3));
    pair.run(ms(1_420));
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].stats().segments_retransmitted), (4_000, 7));
    pair.finish();
    assert_eq!(pair.ends[B].delivered(), 10_000);
}

#[test]
fn a_late_duplicate_does_not_turn_the_echoed_clock_back() {
    // RFC 7323 4.3: TS.Recent takes only values that are not older than itself.
    let mut pair = Pair::open(Config { timestamps: true, ..quick() });
    pair.ends[A].write(1_000);
    pair.run(ms(1_000));
    pair.ends[A].write(1_000);
    pair.run(ms(2_000));
    let data: Vec<&Sent> = pair.log.iter().filter(|s| s.packet.payload_len > 0).collect();
    let (old, fresh) = (data[0].packet, data[1].tcp().timestamps.unwrap().value);
    pair.ends[B].handle_packet(pair.now, &old);
    pair.run(ms(2_500));
    let answer = pair.log.last().unwrap();
    assert_eq!((answer.from, answer.at), (B, ms(2_000)), "an old segment is acknowledged again");
    assert_eq!(answer.tcp().timestamps.unwrap().echo, fresh);
}

#[test]
fn what_is_written_after_the_end_is_not_sent() {
    let mut pair = Pair::open(quick());
    pair.ends[A].write(1_000);
    pair.ends[A].shutdown();
    pair.run(ms(210));
    pair.ends[A].write(5_000);
    pair.ends[B].shutdown();
    pair.run(ms(60_000));
    assert_eq!(pair.ends[B].delivered(), 1_000);
    pair.assert_closed();
}

#[test]
fn stopping_takes_back_what_has_not_been_sent() {
    let mut pair = Pair::open(Config { mss: 1000, initial_window: 4_000, ..quick() });
    pair.ends[A].write(1_000_000);
    pair.run(ms(240));
    pair.ends[A].stop_writing();
    pair.ends[B].shutdown();
    pair.run(ms(60_000));
    assert_eq!(pair.ends[B].delivered(), 4_000);
    pair.assert_closed();
}

const SYN: Flags = Flags::SYN;
const ACK: Flags = Flags::ACK;
const ONE_WAY: Span = Span::from_millis(50);
const VARIANTS: [Variant; 4] =
    [Variant::Reno, Variant::NewReno, Variant::NewRenoSlowButSteady, Variant::SackNewReno];

/// Acknowledges each segment, so that times in the tests are those of the path.
fn quick() -> Config {
    Config { delayed_ack: DelayedAck::None, ..Config::default() }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

#[derive(Debug)]
struct Sent {
    at: Time,
    from: usize,
    packet: Packet,
}

impl Sent {
    fn tcp(&self) -> TcpHeader {
        let Transport::Tcp(tcp) = self.packet.transport else { panic!("not TCP: {:?}", self.packet) };
        tcp
    }
}

/// Two ends and the path between them: 50 ms in each direction, without a rate.
struct Pair {
    now: Time,
    ends: [Connection; 2],
    initial: [u32; 2],
    /// Packets sent by each end.
    count: [usize; 2],
    /// Numbers of lost packets, counted from 0 for each sender.
    drop: [Vec<usize>; 2],
    /// Numbers of delayed packets, and their delay.
    late: [Vec<(usize, Span)>; 2],
    /// True if the application reads arriving data.
    reads: [bool; 2],
    /// Arrival, receiver, packet; in order of arrival.
    wire: VecDeque<(Time, usize, Packet)>,
    keep_log: bool,
    log: Vec<Sent>,
    events: [Vec<Event>; 2],
}

impl Pair {
    fn new(configs: [Config; 2]) -> Self {
        Self::with_numbers(configs, [1000, 9000])
    }

    fn with_numbers([a, b]: [Config; 2], initial: [u32; 2]) -> Self {
        let [here, there] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let active = Connection::connect(a, here, there, initial[A]);
        let passive = Connection::listen(b, there, here, initial[B]);
        Self {
            now: Time::ZERO,
            ends: [active, passive],
            initial,
            count: [0; 2],
            drop: Default::default(),
            late: Default::default(),
            reads: [true; 2],
            wire: VecDeque::new(),
            keep_log: true,
            log: Vec::new(),
            events: Default::default(),
        }
    }

    /// A connected pair, at 200 ms.
    fn open(config: Config) -> Self {
        let mut pair = Self::new([config.clone(), config]);
        pair.run(ms(200));
        assert_eq!([pair.ends[A].state(), pair.ends[B].state()], [State::Established; 2]);
        pair
    }

    /// Delivers packets and fires timers until `until`, the new time.
    fn run(&mut self, until: Time) {
        self.drain();
        while let Some(next) = self.next().filter(|at| *at <= until) {
            self.advance(next);
        }
        self.now = until;
    }

    /// Runs until no event is left; the time is then that of the last event.
    fn finish(&mut self) {
        self.drain();
        for _ in 0..1_000_000 {
            let Some(next) = self.next() else { return };
            self.advance(next);
        }
        panic!("no end by {}", self.now);
    }

    fn next(&self) -> Option<Time> {
        let arrival = self.wire.front().map(|w| w.0);
        let timers = self.ends.iter().filter_map(Connection::poll_timeout);
        timers.chain(arrival).min()
    }

    fn advance(&mut self, at: Time) {
        assert!(at >= self.now, "a timer for {at}, which has passed at {}", self.now);
        self.now = at;
        while let Some((_, to, packet)) = self.wire.pop_front_if(|w| w.0 <= at) {
            self.ends[to].handle_packet(at, &packet);
            self.drain();
        }
        for end in &mut self.ends {
            if end.poll_timeout().is_some_and(|t| t <= at) {
                end.handle_timeout(at);
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        for from in [A, B] {
            loop {
                while let Some(event) = self.ends[from].poll_event() {
                    if let (Event::Received(_), true) = (event, self.reads[from]) {
                        self.ends[from].read();
                    }
                    self.events[from].push(event);
                }
                let Some(packet) = self.ends[from].poll_transmit(self.now) else { break };
                self.carry(from, packet);
            }
        }
    }

    fn carry(&mut self, from: usize, packet: Packet) {
        let number = self.count[from];
        self.count[from] += 1;
        if self.keep_log {
            self.log.push(Sent { at: self.now, from, packet });
        }
        if !self.drop[from].contains(&number) {
            let late = self.late[from].iter().find(|l| l.0 == number).map_or(Span::ZERO, |l| l.1);
            let at = self.now + ONE_WAY + late;
            let place = self.wire.partition_point(|w| w.0 <= at);
            self.wire.insert(place, (at, 1 - from, packet));
        }
    }

    /// Delivers a segment to `to` that its peer never sent.
    fn forge(&mut self, to: usize, header: TcpHeader, payload_len: u32) {
        let genuine = self.log.iter().find(|s| s.from != to).expect("a packet to imitate");
        let packet = Packet { transport: Transport::Tcp(header), payload_len, ..genuine.packet };
        self.ends[to].handle_packet(self.now, &packet);
        self.drain();
    }

    /// Acknowledgments of `from` after `since`: times, and total payload acknowledged.
    fn acknowledgments(&self, from: usize, since: Time) -> Vec<(Time, u32)> {
        let sent = self.log.iter().filter(|s| s.from == from && s.at > since);
        sent.map(|s| (s.at, s.tcp().ack - self.initial[1 - from] - 1)).collect()
    }

    /// Largest number of unacknowledged payload bytes of A.
    fn largest_flight(&self) -> u32 {
        let (mut sent, mut acknowledged, mut largest) = (0, 0, 0);
        for s in &self.log {
            let tcp = s.tcp();
            match s.from {
                A if s.packet.payload_len > 0 => {
                    sent = sent.max(tcp.seq - self.initial[A] - 1 + s.packet.payload_len);
                }
                B if tcp.flags.has(ACK) => acknowledged = acknowledged.max(tcp.ack - self.initial[A] - 1),
                _ => {}
            }
            largest = largest.max(sent - acknowledged);
        }
        largest
    }

    /// Asserts that both ends have reported the peer's end and the close, once each, and no timer is left.
    fn assert_closed(&self) {
        for (end, name) in [(A, "A"), (B, "B")] {
            let count = |wanted: Event| self.events[end].iter().filter(|e| **e == wanted).count();
            let told = [Event::Connected, Event::PeerFinished, Event::Closed, Event::Reset].map(count);
            assert_eq!(told, [1, 1, 1, 0], "{name}: {:?}", self.events[end]);
            assert_eq!(self.ends[end].state(), State::Closed, "{name}");
            assert_eq!(self.ends[end].poll_timeout(), None, "{name}");
        }
    }
}
