//! A sender receives acknowledgments one by one, and its transmissions are compared with the rules of loss recovery.
//!
//! Expectations are from RFC 5681, 6582, 3042 and the seven rules of HK's appendix, cited by number in the tests. Segments have
//! 1000 bytes and are identified by numbers; the peer is a script.

use crate::script::{ISS, PEER, Script, blocks_of, config, segments};
use skyhop_transport::tcp::{Config, Variant};
use skyhop_units::{Span, Time};
use skyhop_wire::{SackBlocks, TcpHeader, Transport};

#[test]
fn three_duplicates_and_not_two_repeat_the_segment_asked_for() {
    for variant in ALL {
        let mut s = Script::new(variant, 10);
        assert_eq!(s.send(20), segments(0..10));
        assert_eq!([s.ack(1), s.ack(2)], [[10, 11], [12, 13]]);
        assert_eq!([s.dup(2), s.dup(2)], [NOTHING, NOTHING], "{variant:?}");
        assert_eq!(s.dup(2), [2], "{variant:?}");
        assert_eq!(s.end.stats().fast_retransmits, 1);
        // RFC 5681 3.2: half of twelve segments, and three for the duplicates.
        assert_eq!((s.end.ssthresh(), s.end.cwnd()), (Some(6_000), 9_000), "{variant:?}");
    }
}

#[test]
fn limited_transmit_sends_a_new_segment_on_each_of_two_duplicates() {
    let config = Config { limited_transmit: true, ..config(Variant::SackNewReno, 10) };
    let mut s = Script::with(config);
    s.send(20);
    assert_eq!([s.dup(0), s.dup(0), s.dup(0)], [[10], [11], [0]]);
    assert_eq!(s.end.ssthresh(), Some(5_000), "what limited transmit sent does not count");
}

#[test]
fn a_repeated_acknowledgment_is_no_duplicate_if_it_moves_the_window_or_carries_data() {
    // RFC 5681 2.
    let mut s = Script::new(Variant::NewReno, 10);
    s.send(20);
    for window in [59_000, 58_000, 57_000, 58_000, 59_000] {
        s.window = window;
        assert_eq!(s.dup(0), NOTHING);
    }
    for n in 0..5 {
        let sent = s.feed(TcpHeader { seq: PEER + 1 + n * 100, ..s.header(0) }, 100);
        assert!(sent.iter().all(|p| p.payload_len == 0));
    }
    assert_eq!(s.end.stats().fast_retransmits, 0);
}

#[test]
fn reno_leaves_recovery_at_the_first_new_acknowledgment() {
    let mut s = Script::new(Variant::Reno, 10);
    s.send(40);
    s.dups(0, 3);
    assert_eq!(s.end.cwnd(), 8_000);
    // Each further duplicate inflates by one, and the eleventh segment goes when there is room.
    assert_eq!(s.dups(0, 6), [10, 11, 12, 13]);
    // Segment 4 was lost too: Reno does not repeat it, and takes the window back to ssthresh.
    assert_eq!(s.ack(4), NOTHING);
    assert_eq!((s.end.cwnd(), s.end.ssthresh()), (5_000, Some(5_000)));
}

#[test]
fn newreno_repairs_one_hole_a_round_trip() {
    for variant in [Variant::NewReno, Variant::NewRenoSlowButSteady] {
        let mut s = Script::new(variant, 10);
        s.send(10);
        assert_eq!(s.dups(0, 6), [0]);
        for hole in [2, 4, 7] {
            assert_eq!(s.ack(hole), [hole], "{variant:?}: a partial acknowledgment names the next hole");
            assert_eq!(s.dups(hole, 3), NOTHING, "{variant:?}: and duplicates repeat nothing more");
        }
        assert_eq!(s.ack(10), NOTHING);
        let stats = s.end.stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts, stats.segments_retransmitted), (1, 0, 4));
        assert_eq!(s.end.ssthresh(), Some(5_000), "one cut for all four");
    }
}

/// Brakmo and Peterson 1995, 3.1: a window is reduced once for its losses, and again for a loss in the next window.
#[test]
fn vegas_cuts_once_for_a_window_and_again_for_the_next() {
    let mut s = Script::new(Variant::Vegas, 12);
    let ms = Span::from_millis;
    assert_eq!(s.send(200), [0]);
    s.now += ms(100);
    assert_eq!(s.ack(1).len(), 12);
    s.now += ms(100);
    // The first loss: 12 - 12 / 4, and one for each of four duplicates.
    assert_eq!((s.dups(1, 4), s.end.cwnd()), (vec![1, 13], 13_000));
    s.now += ms(50);
    // Segment 5 was lost too, and sent before the cut: duplicates inflate, and nothing is cut.
    assert_eq!((s.ack(5), s.end.cwnd()), (NOTHING, 9_111));
    assert_eq!((s.dups(5, 4), s.end.cwnd()), (vec![5, 14], 10_111));
    s.now += ms(50);
    assert_eq!((s.ack(15), s.end.cwnd()), (segments(15..24), 9_000));
    s.now += ms(100);
    // The next window: 9 - 9 / 4 rounded down, and four.
    assert_eq!((s.dups(15, 4), s.end.cwnd()), (vec![15, 24, 25], 11_000));
}

/// RFC 6675 section 5, step (4): three duplicates are a signal even if fewer than three segments are known to have arrived, and the
/// first segment counts as lost.
#[test]
fn three_duplicates_of_little_data_repeat_the_front_before_the_timeout() {
    let mut s = Script::new(Variant::Sack, 10);
    for _ in 0..10 {
        s.end.write(100);
        assert_eq!(s.drain().len(), 1, "a segment of 100 bytes");
    }
    for n in 2..5 {
        let mut sack = SackBlocks::default();
        sack.push(ISS + 1 + 100, ISS + 1 + 100 * n);
        let sent = s.feed(TcpHeader { sack, ..s.header(0) }, 0);
        let fronts = sent.iter().filter(|p| matches!(p.transport, Transport::Tcp(h) if h.seq == ISS + 1));
        assert_eq!(fronts.count(), usize::from(n == 4), "{n}: {sent:?}");
    }
    assert_eq!((s.end.stats().fast_retransmits, s.end.stats().timeouts), (1, 0));
}

#[test]
fn the_impatient_variant_restarts_its_timer_once_and_the_steady_one_each_time() {
    // RFC 6582 3.2 step 3 and 4.
    for (variant, deadline_ms) in [(Variant::NewReno, 1_100), (Variant::NewRenoSlowButSteady, 1_300)] {
        let mut s = Script::new(variant, 10);
        s.send(10);
        s.dups(0, 5);
        let began = s.now;
        assert_eq!(s.end.poll_timeout(), Some(began + Span::from_secs(1)));
        for hole in [2, 4, 6] {
            s.now += Span::from_millis(100);
            s.ack(hole);
        }
        assert_eq!(s.end.poll_timeout(), Some(began + Span::from_millis(deadline_ms)), "{variant:?}");
    }
}

#[test]
fn rule_1_the_first_segment_of_all_may_be_repaired() {
    // snd_recover begins as snd_una, so that duplicates of the very first acknowledgment count.
    for variant in ALL {
        let mut s = Script::new(variant, 10);
        s.send(10);
        assert_eq!(s.dups(0, 3), [0], "{variant:?}");
    }
}

#[test]
fn rule_2_duplicates_below_snd_recover_are_no_new_signal() {
    for variant in ALL {
        let mut s = Script::new(variant, 10);
        s.send(10);
        // After a timeout snd_recover is snd_max: ten segments are under way, and duplicates below the tenth
        // stem from repeats.
        assert_eq!(s.time_out(), [0], "{variant:?}");
        assert_eq!(s.ack(1), [1, 2]);
        let cwnd = s.end.cwnd();
        assert_eq!(s.dups(1, 6), NOTHING, "{variant:?}");
        assert_eq!((s.end.cwnd(), s.end.stats().fast_retransmits), (cwnd, 0), "{variant:?}");
    }
}

#[test]
fn duplicates_at_recover_after_a_timeout_answer_its_needless_repeats_and_begin_nothing() {
    // RFC 6582 3.2 step 2: a recovery begins if more than `recover` is acknowledged. All that was under way has arrived, and the
    // timer sent it again: each repeat is answered by a duplicate of the highest acknowledgment, which is `recover`. RACK probes
    // before its timer, and counts no duplicates.
    for variant in EVERY.into_iter().filter(|v| *v != Variant::Cubic) {
        let mut s = Script::new(variant, 10);
        assert_eq!(s.send(20), segments(0..10));
        assert_eq!(s.time_out(), [0], "{variant:?}");
        assert_eq!(s.ack(10)[..2], [10, 11], "{variant:?}");
        let ssthresh = s.end.ssthresh();
        s.dups(10, 6);
        let stats = s.end.stats();
        assert_eq!((stats.fast_retransmits, s.end.ssthresh()), (0, ssthresh), "{variant:?}");
        assert!(stats.segments_retransmitted <= 1, "{variant:?}: {}", stats.segments_retransmitted);
    }
}

#[test]
fn duplicates_beyond_recover_after_a_timeout_begin_a_recovery() {
    for variant in EVERY {
        let mut s = Script::new(variant, 10);
        s.send(40);
        s.time_out();
        for n in 10..=14 {
            s.now += Span::from_millis(100);
            s.ack(n);
        }
        assert!(s.highest >= 18, "{variant:?}: {}", s.highest);
        s.now += Span::from_millis(100);
        // From here on segment 14 is missing; variants with SACK are informed of later arrivals.
        for arrived in 16..19 {
            let block = (15, arrived);
            s.sack(14, if variant.recovery().sack() { std::slice::from_ref(&block) } else { &[] });
        }
        assert_eq!(s.end.stats().fast_retransmits, 1, "{variant:?}");
    }
}

#[test]
fn an_outage_is_no_round_trip() {
    // RFC 6298 3 (Karn): all data arrive, then no acknowledgment for five minutes, and the first one answers a repeat. It names
    // segments sent once, before the outage; Linux takes no sample from it, and neither does this.
    let rtt = Span::from_millis(100);
    for variant in EVERY.into_iter().chain([Variant::Bbr]) {
        for dsack in [false, true] {
            let mut s = Script::over(Config { dsack, ..config(variant, 10) }, rtt);
            s.send(200);
            while s.now < Time::ZERO + Span::from_secs(300) {
                s.time_out();
            }
            s.now += rtt;
            // All had arrived. RFC 2883: the first block names the duplicate.
            s.sack(s.highest, if dsack { &[(0, 1)] } else { &[] });
            let stats = s.end.stats();
            assert_eq!((stats.rtt.count, stats.rtt.max), (1, Some(rtt)), "{variant:?} {dsack}: the SYN's");
            // A repeat is measured again, and the timer is that of the path.
            for _ in 0..3 {
                s.now += rtt;
                s.ack(s.highest);
            }
            let stats = s.end.stats();
            assert!(stats.rtt.count > 1, "{variant:?} {dsack}");
            assert_eq!((stats.rtt.min, stats.rtt.max), (Some(rtt), Some(rtt)), "{variant:?} {dsack}");
            let wait = s.end.poll_timeout().unwrap().since(s.now);
            assert!(wait <= Span::from_secs(1), "{variant:?} {dsack}: {wait:?}");
        }
    }
}

#[test]
fn what_answers_a_needless_repeat_measures_nothing() {
    let rtt = Span::from_millis(100);
    let mut s = Script::over(config(Variant::Cubic, 10), rtt);
    s.send(10);
    // The probe (RFC 8985 7.3), whose original had arrived: the acknowledgments of all others were lost, and the answer to the probe
    // tells of them.
    assert_eq!(s.time_out(), [9]);
    s.now += Span::from_millis(20);
    s.sack(0, &[(9, 10)]);
    s.now += rtt;
    s.sack(8, &[(9, 10), (9, 10)]);
    let stats = s.end.stats();
    assert_eq!((stats.duplicates_reported, stats.rtt.count, stats.rtt.max), (1, 1, Some(rtt)));
}

#[test]
fn a_timestamp_tells_the_repeat_from_the_original() {
    // RFC 7323 4.1: the answer echoes the repeat's timestamp, so that it is a sample.
    let rtt = Span::from_millis(100);
    for variant in [Variant::Cubic, Variant::Bbr, Variant::Reno] {
        let mut s = Script::over(Config { timestamps: true, mss: 1012, ..config(variant, 10) }, rtt);
        s.send(200);
        while s.now < Time::ZERO + Span::from_secs(300) {
            s.time_out();
        }
        let sent_at = s.now;
        s.now += rtt;
        let timestamps = Some(Script::echo(sent_at));
        s.feed(TcpHeader { timestamps, ..s.header(s.highest) }, 0);
        let samples = s.end.stats().rtt;
        assert_eq!((samples.count, samples.max), (2, Some(rtt)), "{variant:?}");
    }
}

#[test]
fn after_a_timeout_sack1_sends_all_again_and_rfc_6675_only_what_is_missing() {
    // ns-2's agent clears its scoreboard with the timeout and with each new acknowledgment; RFC 6675 5.1 may keep it.
    for (variant, again) in [(Variant::Sack1, [3, 4]), (Variant::Sack, [6, 7])] {
        let mut s = Script::new(variant, 10);
        s.send(14);
        assert_eq!(s.time_out(), [0], "{variant:?}");
        assert_eq!(s.sack(1, &[(3, 6)]), [1, 2], "{variant:?}");
        assert_eq!(s.sack(2, &[(3, 6)]), again, "{variant:?}");
    }
}

#[test]
fn a_hole_that_the_peer_shows_after_a_timeout_begins_facks_recovery() {
    // ns-2's FACK has no `recover` to be passed: blocks three beyond the hole are enough, and cut the window once more.
    let mut s = Script::new(Variant::Fack, 10);
    s.send(30);
    assert_eq!(s.time_out(), [0]);
    assert_eq!(s.end.ssthresh(), Some(5_000));
    s.now += Span::from_millis(100);
    assert_eq!(s.sack(1, &[(5, 9)]), [1]);
    assert_eq!((s.end.stats().fast_retransmits, s.end.ssthresh()), (1, Some(2_000)));
}

#[test]
fn a_stall_of_facks_ends_when_nothing_is_outstanding() {
    // A repeat considered lost stops FACK until the timer expires; once all is acknowledged there is no timer, and more to send.
    let mut s = Script::new(Variant::Fack, 10);
    assert_eq!(s.send(12), segments(0..10));
    assert_eq!(s.sack(0, &[(4, 9)]), [0]);
    assert_eq!(s.sack(1, &[(4, 9)]), [1]);
    assert_eq!(s.time_out(), [1]);
    assert_eq!(s.sack(2, &[(4, 9)]), [2, 3]);
    // Neither has come, and something else has.
    assert!(s.sack(2, &[(4, 10)]).is_empty());
    assert_eq!(s.ack(10), [10, 11]);
}

#[test]
fn an_age_is_the_timers_and_no_round_trip() {
    // ns-2 times a segment through a repair; what is reported as round trips is without it.
    let rtt = Span::from_millis(100);
    for variant in [Variant::Sack1, Variant::Fack] {
        let mut s = Script::over(config(variant, 10), rtt);
        s.send(60);
        s.now += rtt;
        s.ack(2);
        let blocks = variant.recovery().sack();
        for arrived in 4..10 {
            s.now += rtt / 10;
            let block = (3, arrived);
            s.sack(2, if blocks { std::slice::from_ref(&block) } else { &[] });
        }
        s.now += rtt * 20;
        s.ack(s.highest);
        let stats = s.end.stats().rtt;
        assert!(stats.max <= Some(rtt * 2), "{variant:?}: {:?}", stats.max);
        let wait = s.end.poll_timeout().map(|at| at.since(s.now));
        assert!(wait.is_none_or(|wait| wait >= Span::from_secs(1)), "{variant:?}: {wait:?}");
    }
}

#[test]
fn rule_2_duplicates_at_snd_recover_are_a_new_signal() {
    let mut s = Script::new(Variant::SackNewReno, 10);
    s.send(10);
    s.dups(0, 3);
    s.ack(10);
    s.send(10);
    assert_eq!(s.dups(10, 3).first(), Some(&10));
    assert_eq!(s.end.stats().fast_retransmits, 2);
}

#[test]
fn rule_2_one_cut_for_all_that_was_under_way() {
    for variant in [Variant::NewReno, Variant::NewRenoSlowButSteady, Variant::SackNewReno] {
        let mut s = Script::new(variant, 10);
        s.send(30);
        s.dups(0, 9);
        s.ack(5);
        s.dups(5, 9);
        s.ack(8);
        s.dups(8, 9);
        assert_eq!((s.end.ssthresh(), s.end.stats().fast_retransmits), (Some(5_000), 1), "{variant:?}");
    }
}

#[test]
fn rule_3_the_window_after_recovery_is_ssthresh_or_what_is_outstanding_and_one() {
    for variant in [Variant::NewReno, Variant::SackNewReno] {
        // Nothing outstanding: a segment more, or two as RFC 6582 has it, and no burst of five.
        let mut s = Script::new(variant, 10);
        s.send(10);
        s.dups(0, 9);
        s.ack(10);
        let cwnd = s.end.cwnd();
        assert!((1_000..=2_000).contains(&cwnd), "{variant:?}: {cwnd}");
        // Three outstanding: four.
        let mut s = Script::new(variant, 10);
        s.send(40);
        s.dups(0, 9);
        assert_eq!(s.highest, 14);
        assert_eq!(s.ack(11).first(), Some(&14));
        assert_eq!(s.end.cwnd(), 4_000, "{variant:?}");
        // More outstanding than ssthresh: ssthresh.
        let mut s = Script::new(variant, 10);
        s.send(40);
        s.dups(0, 12);
        assert_eq!(s.highest, 17);
        s.ack(10);
        assert_eq!(s.end.cwnd(), 5_000, "{variant:?}");
    }
}

#[test]
fn rule_4_a_partial_acknowledgment_deflates_by_what_it_acknowledges_less_one() {
    for variant in [Variant::NewReno, Variant::SackNewReno] {
        let mut s = Script::new(variant, 10);
        s.send(40);
        s.dups(0, 9);
        // 5 + 3 on entry, 6 for further duplicates.
        assert_eq!(s.end.cwnd(), 14_000, "{variant:?}");
        s.ack(4);
        assert_eq!(s.end.cwnd(), 14_000 - 4_000 + 1_000, "{variant:?}");
    }
}

#[test]
fn rule_4_without_sack_a_partial_acknowledgment_repeats_and_then_sends() {
    let mut s = Script::new(Variant::NewReno, 10);
    s.send(40);
    assert_eq!(s.dups(0, 9), [0, 10, 11, 12, 13]);
    // The window reaches from 4 to 15 now: the repeat, and one new segment.
    assert_eq!(s.ack(4), [4, 14]);
}

#[test]
fn rule_5_a_hole_is_eligible_when_a_segment_three_beyond_it_is_held() {
    let mut s = Script::new(Variant::SackNewReno, 10);
    s.send(10);
    // 0 and 4 are lost. 7 is three beyond 4.
    for held in [2, 3, 4] {
        s.sack(0, &[(1, held)]);
    }
    assert_eq!(s.end.stats().fast_retransmits, 1);
    assert_eq!(s.sack(0, &[(5, 6), (1, 4)]), NOTHING);
    assert_eq!(s.sack(0, &[(5, 7), (1, 4)]), NOTHING, "6 is two beyond");
    assert_eq!(s.sack(0, &[(5, 8), (1, 4)]), [4], "7 is three beyond");
}

#[test]
fn rule_5_a_segment_is_repeated_once() {
    let mut s = Script::new(Variant::SackNewReno, 10);
    s.send(10);
    let mut sent = Vec::new();
    for held in 2..=10 {
        sent.extend(s.sack(0, &[(1, held)]));
    }
    // And although nothing but duplicates comes:
    sent.extend((0..20).flat_map(|_| s.sack(0, &[(1, 10)])));
    assert_eq!(sent, [0]);
}

#[test]
fn rule_6_each_acknowledgment_repeats_one_segment_or_else_inflates_by_one() {
    let mut s = Script::new(Variant::SackNewReno, 12);
    s.send(40);
    // 0, 1, 2, 3 are lost, and the rest arrives.
    let answers: Vec<Vec<u64>> = (5..=12).map(|held| s.sack(0, &[(4, held)])).collect();
    // Third duplicate: 0. Then one of 1, 2, 3 for each, and the window stays 6 + 3.
    assert_eq!(answers[..6], [NOTHING, NOTHING, vec![0], vec![1], vec![2], vec![3]]);
    assert_eq!(answers[6..], [NOTHING, NOTHING], "two inflate, to 11, with 12 under way");
    assert_eq!(s.end.cwnd(), 11_000);
    assert_eq!(s.sack(0, &[(4, 12)]), NOTHING);
    assert_eq!(s.sack(0, &[(4, 12)]), [12], "and the thirteenth segment is new");
}

#[test]
fn rule_7_after_a_timeout_what_the_receiver_holds_is_not_sent_again() {
    let mut s = Script::new(Variant::SackNewReno, 10);
    s.send(14);
    assert_eq!(s.time_out(), [0]);
    // The receiver holds 3 to 5 and 8, and says so with its acknowledgments from now on.
    assert_eq!(s.sack(1, &[(3, 6), (8, 9)]), [1, 2]);
    assert_eq!(s.sack(6, &[(8, 9)]), [6, 7]);
    assert_eq!(s.sack(9, &[]), [9, 10, 11, 12]);
}

#[test]
fn a_burst_of_losses_is_repaired_in_one_round_trip_with_one_cut() {
    // 20 segments under way, every second one of the first twelve is lost.
    let lost = [0, 2, 4, 6, 8, 10];
    let arrived: Vec<u64> = (0..20).filter(|n| !lost.contains(n)).collect();
    let mut s = Script::new(Variant::SackNewReno, 20);
    s.send(20);
    let mut repaired = Vec::new();
    for n in 1..=arrived.len() {
        // The latest three blocks, as a receiver would name them.
        let blocks = blocks_of(&arrived[..n]);
        repaired.extend(s.sack(0, &blocks[..blocks.len().min(3)]));
    }
    assert_eq!(repaired, lost, "all within the acknowledgments of one window");
    let stats = s.end.stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 0));
    assert_eq!(s.end.ssthresh(), Some(10_000));
    s.ack(20);
    assert_eq!(s.end.stats().segments_retransmitted, 6);

    // NewReno needs as many round trips as there are holes.
    let mut s = Script::new(Variant::NewReno, 20);
    s.send(20);
    assert_eq!(s.dups(0, 14), [0]);
    let trips = lost[1..].iter().filter(|hole| s.ack(**hole) == [**hole]).count();
    assert_eq!(trips, 5);
}

#[test]
fn no_segment_overlaps_what_the_receiver_holds() {
    // Blocks that begin and end anywhere, as after a change of segment size.
    let mut s = Script::new(Variant::SackNewReno, 20);
    s.send(20);
    let held = [(1_500u32, 2_200u32), (5_001, 9_999), (12_345, 20_000)];
    let mut sent = Vec::new();
    let sacking = |s: &Script, ack: u64| {
        let mut header = s.header(ack);
        for (left, right) in held {
            header.sack.push(ISS + 1 + left, ISS + 1 + right);
        }
        header
    };
    for _ in 0..12 {
        let header = sacking(&s, 0);
        sent.extend(s.feed(header, 0));
    }
    assert!((4..=12).contains(&sent.len()), "{} segments repair the holes", sent.len());
    s.time_out();
    let header = sacking(&s, 1);
    sent.extend(s.feed(header, 0));
    for packet in &sent {
        let Transport::Tcp(tcp) = packet.transport else { panic!() };
        let start = tcp.seq - ISS - 1;
        let end = start + packet.payload_len;
        let apart = held.iter().all(|(left, right)| end <= *left || *right <= start);
        assert!(apart, "{start} to {end} has been acknowledged in part");
    }
}

#[test]
fn congestion_avoidance_adds_one_segment_a_window() {
    for variant in ALL {
        let mut s = Script::with(Config { initial_ssthresh: Some(10_000), ..config(variant, 10) });
        s.send(1000);
        for k in 1..=10 {
            s.ack(k);
        }
        let cwnd = s.end.cwnd();
        assert!((10_900..=11_000).contains(&cwnd), "{variant:?}: {cwnd}");
        let mut slow = Script::new(variant, 10);
        slow.send(1000);
        for k in 1..=10 {
            slow.ack(k);
        }
        assert_eq!(slow.end.cwnd(), 20_000, "{variant:?}: slow start doubles");
    }
}

#[test]
fn a_loss_halves_the_window_or_the_data_in_flight() {
    for variant in EVERY {
        // FACK's recovery and CUBIC's factor are not halves of the same quantity.
        if matches!(variant, Variant::Fack | Variant::Cubic) {
            continue;
        }
        let ssthresh = |halve_flight: bool, lost_by_timeout: bool| {
            let config = Config { halve_flight, ..config(variant, 20) };
            let mut s = Script::with(config);
            // The application has twelve segments for a window of twenty.
            s.send(12);
            if lost_by_timeout {
                s.time_out();
            } else {
                for n in 1..=3 {
                    s.sack(0, &[(1, 1 + n)]);
                }
            }
            s.end.ssthresh()
        };
        for timeout in [false, true] {
            assert_eq!(ssthresh(false, timeout), Some(10_000), "{variant:?}, timeout {timeout}");
            assert_eq!(ssthresh(true, timeout), Some(6_000), "{variant:?}, timeout {timeout}");
        }
    }
}

#[test]
fn segments_of_limited_transmit_do_not_count_as_data_in_flight() {
    for variant in [Variant::Reno, Variant::NewReno, Variant::SackNewReno, Variant::Sack, Variant::Sack1] {
        let mut s =
            Script::with(Config { halve_flight: true, limited_transmit: true, ..config(variant, 10) });
        s.send(20);
        for n in 1..=3 {
            s.sack(0, &[(1, 1 + n)]);
        }
        assert_eq!(s.end.ssthresh(), Some(5_000), "{variant:?}: ten segments, and two of limited transmit");
    }
}

#[test]
fn timeouts_in_a_row_halve_the_same_data_in_flight() {
    // RFC 2581 §3.1: FlightSize is unchanged, while the window is a segment after the first timeout.
    for (halve_flight, second) in [(false, 2_000), (true, 6_000)] {
        let mut s = Script::with(Config { halve_flight, ..config(Variant::Reno, 12) });
        s.send(12);
        s.time_out();
        assert_eq!(s.end.ssthresh(), Some(6_000));
        s.time_out();
        assert_eq!(s.end.ssthresh(), Some(second), "halve_flight = {halve_flight}");
    }
}

const ALL: [Variant; 4] =
    [Variant::Reno, Variant::NewReno, Variant::NewRenoSlowButSteady, Variant::SackNewReno];
/// The same variants and those that count differently; Vegas has its own clock, and Hybla pacing over SACK's recovery.
const EVERY: [Variant; 10] = [
    Variant::Tahoe,
    Variant::Reno,
    Variant::NewReno,
    Variant::NewRenoSlowButSteady,
    Variant::SackReno,
    Variant::SackNewReno,
    Variant::Sack,
    Variant::Sack1,
    Variant::Fack,
    Variant::Cubic,
];
const NOTHING: Vec<u64> = Vec::new();
