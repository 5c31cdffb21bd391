//! Reported limits of a connection, between two ends with a delay between them only.
//!
//! Follows docs/results.md; each share is computed in round trips of 100 ms.
//! Differs from the simulator's cases (`crates/sim/tests/limits.rs`): a single machine, and windows as large as necessary.
//! Leaves out links.

use skyhop_transport::Cause;
use skyhop_transport::tcp::{Config, Connection, DelayedAck};
use skyhop_units::{Span, Time};
use skyhop_wire::Packet;

/// Shares of the causes for two ends 50 ms apart, of which the first sends `bytes` and closes; until no event is left, or `until`.
fn shares(config: Config, bytes: u64, until: Time) -> Vec<(Cause, u64)> {
    let [a, b] = ["10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap()];
    let mut ends =
        [Connection::connect(config.clone(), a, b, 100), Connection::listen(config.clone(), b, a, 900)];
    let mut now = Time::ZERO + Span::from_secs(5);
    ends[0].count_limits(now);
    ends[0].write(bytes);
    ends[0].shutdown();
    let mut wire: Vec<(Time, usize, Packet)> = Vec::new();
    let drain = |ends: &mut [Connection; 2], wire: &mut Vec<(Time, usize, Packet)>, now| {
        for (n, end) in ends.iter_mut().enumerate() {
            end.read();
            while let Some(packet) = end.poll_transmit(now) {
                wire.push((now + Span::from_millis(50), 1 - n, packet));
            }
        }
    };
    loop {
        drain(&mut ends, &mut wire, now);
        let timers = ends.iter().filter_map(Connection::poll_timeout);
        let Some(next) = timers.chain(wire.iter().map(|w| w.0)).min().filter(|at| *at <= until) else {
            break;
        };
        now = next;
        ends.iter_mut().for_each(|end| end.handle_timeout(now));
        let due: Vec<_> = wire.extract_if(.., |w| w.0 <= now).collect();
        for (_, to, packet) in due {
            ends[to].handle_packet(now, &packet);
            drain(&mut ends, &mut wire, now);
        }
    }
    assert!(ends[1].limits().spent(until).iter().all(|span| *span == Span::ZERO), "nobody asked");
    let spent = ends[0].limits().spent(until).map(|span| span.as_nanos() / 1_000_000);
    Cause::ALL.into_iter().zip(spent).filter(|(_, ms)| *ms > 0).collect()
}

fn config() -> Config {
    Config {
        mss: 1000,
        window: 10_000_000,
        initial_window: 1_000_000,
        delayed_ack: DelayedAck::None,
        ..Config::default()
    }
}

const LATE: Time = Time::from_nanos(1_000_000_000_000);

#[test]
fn a_send_buffer_of_twenty_segments_holds_each_round_but_the_last() {
    // 1000 segments are fifty rounds. The handshake, 49 that wait for room, one without further data.
    let buffered = Config { send_buffer: 20_000, send_buffer_max: 20_000, ..config() };
    let expected = [(Cause::Handshake, 100), (Cause::Application, 100), (Cause::SendBuffer, 4900)];
    assert_eq!(shares(buffered, 1_000_000, LATE), expected);
    // Without one all data are sent in the first round, if they fit the window of a SYN.
    let expected = [(Cause::Handshake, 100), (Cause::Application, 100)];
    assert_eq!(shares(config(), 60_000, LATE), expected);
}

#[test]
fn of_a_window_and_a_buffer_the_smaller_is_named() {
    for (window, buffer, cause) in
        [(20_000, 50_000, Cause::ReceiveWindow), (50_000, 20_000, Cause::SendBuffer)]
    {
        let config = Config { window, send_buffer: buffer, send_buffer_max: buffer, ..config() };
        let expected = [(Cause::Handshake, 100), (Cause::Application, 100), (cause, 4900)];
        let shares = shares(config, 1_000_000, LATE);
        assert_eq!(shares, expected, "{window} {buffer}");
    }
}

#[test]
fn slow_start_is_the_congestion_window_until_the_last_round() {
    // 1, 2, 4 ... 512 segments are 1023: ten rounds.
    let slow = Config { initial_window: 1000, ..config() };
    let expected = [(Cause::Handshake, 100), (Cause::Application, 100), (Cause::CongestionWindow, 900)];
    assert_eq!(shares(slow, 1_023_000, LATE), expected);
}

#[test]
fn a_connection_that_goes_on_is_counted_up_to_the_instant_that_is_asked_for() {
    let narrow = Config { window: 20_000, ..config() };
    let shares = shares(narrow, 1 << 40, Time::from_nanos(65_000_000_000));
    assert_eq!(shares, [(Cause::Handshake, 100), (Cause::ReceiveWindow, 59_900)]);
}
