//! Reductions that are undone, acknowledgment by acknowledgment.
//!
//! RFC 5682 §3.1 (F-RTO with SACK), RFC 3708 §2 (DSACK), RFC 5681 §3.1 (a second timeout), in the order of Linux 6.18's
//! `tcp_fastretrans_alert` and `tcp_process_loss`.
//! Leaves out timestamps, which `linux_host.rs` has.

use crate::script::{MSS, Script, config, segments};
use skyhop_transport::tcp::{Config, Variant};
use skyhop_units::Span;

const NOTHING: [u64; 0] = [];

fn undoing(undo: bool) -> Config {
    Config { undo, limited_transmit: true, rate_reduction: true, ..config(Variant::Cubic, 10) }
}

/// Ten segments of forty and the probe of a tail are in flight, and the timer has expired.
fn timed_out(undo: bool) -> Script {
    let mut s = Script::with(undoing(undo));
    assert_eq!(s.send(40), segments(0..10));
    assert_eq!(s.time_out(), [10], "the probe");
    assert_eq!(s.time_out(), [0]);
    assert_eq!((s.end.stats().timeouts, s.end.cwnd(), s.end.ssthresh()), (1, MSS, Some(7_000)));
    s
}

#[test]
fn frto_sends_new_data_and_takes_an_original_for_a_proof() {
    let mut s = timed_out(true);
    // The repeat or its original has arrived: two new segments decide which.
    assert_eq!(s.ack(1), [11, 12]);
    assert_eq!(s.end.cwnd(), 2 * MSS);
    // Segment 1 was sent once. The window is what it was, ssthresh too, and slow start goes on: 11 of 11 segments are in flight.
    assert_eq!(s.ack(2), NOTHING);
    assert_eq!((s.end.cwnd(), s.end.ssthresh(), s.end.stats().undone), (11 * MSS, None, 1));
    assert_eq!(s.ack(3), [13, 14]);
    assert_eq!(s.end.stats().segments_retransmitted, 1);
}

#[test]
fn frto_repeats_once_new_data_overtakes() {
    let mut s = timed_out(true);
    assert_eq!(s.ack(1), [11, 12]);
    // The eleventh has arrived, and the second has not.
    assert_eq!(s.sack(1, &[(11, 12)]), [1]);
    assert_eq!(s.sack(1, &[(11, 13)]), [2]);
    assert_eq!((s.end.ssthresh(), s.end.stats().undone), (Some(7_000), 0));
    // It is complete: an original that arrives now is no proof.
    s.ack(4);
    assert_eq!(s.end.stats().undone, 0);
}

#[test]
fn frto_needs_new_data_and_room_for_it() {
    let mut s = Script::with(undoing(true));
    assert_eq!(s.send(10), segments(0..10));
    s.time_out();
    s.time_out();
    assert_eq!(s.end.stats().timeouts, 1);
    assert_eq!(s.ack(1), [1, 2]);
    // Without it each timeout is accepted.
    let mut s = timed_out(false);
    assert_eq!(s.ack(1), [1, 2]);
    s.ack(2);
    assert_eq!((s.end.ssthresh(), s.end.stats().undone), (Some(7_000), 0));
}

#[test]
fn a_selectively_acknowledged_original_is_a_proof_too() {
    let mut s = timed_out(true);
    s.sack(0, &[(4, 5)]);
    assert_eq!((s.end.cwnd() >= 10 * MSS, s.end.stats().undone), (true, 1));
}

#[test]
fn a_second_timeout_for_the_same_data_cuts_nothing() {
    let mut s = timed_out(true);
    assert_eq!(s.time_out(), [0]);
    assert_eq!((s.end.stats().timeouts, s.end.cwnd(), s.end.ssthresh()), (2, MSS, Some(7_000)));
    assert_eq!(s.ack(1), [11, 12]);
    s.ack(2);
    assert_eq!((s.end.cwnd(), s.end.ssthresh()), (11 * MSS, None));
    // Two at least are left of one segment if it does.
    let mut s = timed_out(false);
    s.time_out();
    assert_eq!(s.end.ssthresh(), Some(2_000));
}

/// Segment 0 is late, three later ones have arrived, and a recovery has repeated it.
fn recovering(undo: bool) -> Script {
    let mut s = Script::with(undoing(undo));
    assert_eq!(s.send(60), segments(0..10));
    s.now += Span::from_millis(100);
    s.sack(0, &[(1, 2)]);
    s.sack(0, &[(1, 3)]);
    assert_eq!(s.sack(0, &[(1, 4)]), [0]);
    assert_eq!((s.end.stats().fast_retransmits, s.end.ssthresh()), (1, Some(7_000)));
    s
}

#[test]
fn a_report_of_each_repeat_takes_a_recovery_back() {
    // While it lasts: everything was there already.
    let mut s = recovering(true);
    s.sack(4, &[(0, 1)]);
    // Ten segments, and slow start's growth by the four.
    assert_eq!((s.end.stats().undone, s.end.ssthresh(), s.end.cwnd()), (1, None, 14 * MSS));
    // When it is over.
    let mut s = recovering(true);
    s.ack(12);
    assert_eq!((s.end.stats().undone, s.end.cwnd() / MSS), (0, 7));
    s.sack(12, &[(0, 1)]);
    assert_eq!((s.end.stats().undone, s.end.ssthresh()), (1, None));
    assert!(s.end.cwnd() >= 10 * MSS);
    // A report of older data does not count, and neither does a second report of no data.
    s.sack(12, &[(0, 1)]);
    assert_eq!(s.end.stats().undone, 1);
    let mut s = recovering(false);
    s.sack(4, &[(0, 1)]);
    assert_eq!((s.end.stats().undone, s.end.ssthresh()), (0, Some(7_000)));
}

/// Linux (`tcp_dsack_seen`): where the peer reports more duplicates than there were retransmissions, the network has duplicated segments.
#[test]
fn duplicates_of_the_network_take_no_recovery_back() {
    for by_network in [false, true] {
        let mut s = Script::with(undoing(true));
        assert_eq!(s.send(60), segments(0..10));
        s.now += Span::from_millis(100);
        if by_network {
            s.sack(1, &[(0, 1)]);
        } else {
            s.ack(1);
        }
        s.sack(1, &[(2, 3)]);
        s.sack(1, &[(2, 4)]);
        assert_eq!(s.sack(1, &[(2, 5)]), [1]);
        let (ssthresh, cwnd) = (s.end.ssthresh(), s.end.cwnd());
        assert!(ssthresh.is_some());
        s.sack(1, &[(3, 4), (2, 5)]);
        let undone = s.end.stats().undone;
        assert_eq!(undone, !by_network as u64, "one report for one retransmission may be of its copy");
        assert_eq!((s.end.ssthresh() == ssthresh, s.end.cwnd() <= cwnd), (by_network, by_network));
    }
}
