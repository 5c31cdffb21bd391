//! Calls for a middlebox between two ends of a connection: partial reads, a withheld FIN, an abort.
//!
//! Expectations are from RFC 9293 3.8.6 (windows), 3.10.5 and 3.5.3 (resets), and RFC 5961 (acceptable resets).

use skyhop_transport::tcp::{Config, Connection, DelayedAck, Event, State};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Packet, TcpHeader, Transport};

const A: usize = 0;
const B: usize = 1;

/// Two ends, 50 ms apart, until `until`.
fn run(ends: &mut [Connection; 2], from: Time, until: Time) -> Vec<(Time, usize, TcpHeader, u32)> {
    let (mut log, mut wire): (Vec<_>, Vec<(Time, usize, Packet)>) = (Vec::new(), Vec::new());
    let mut now = from;
    loop {
        for (n, end) in ends.iter_mut().enumerate() {
            while let Some(packet) = end.poll_transmit(now) {
                let Transport::Tcp(tcp) = packet.transport else { panic!("not TCP") };
                log.push((now, n, tcp, packet.payload_len));
                wire.push((now + Span::from_millis(50), 1 - n, packet));
            }
        }
        let timers = ends.iter().filter_map(Connection::poll_timeout);
        let Some(next) = timers.chain(wire.iter().map(|w| w.0)).min().filter(|at| *at <= until) else {
            return log;
        };
        now = next;
        ends.iter_mut().for_each(|end| end.handle_timeout(now));
        let due: Vec<_> = wire.extract_if(.., |w| w.0 <= now).collect();
        for (_, to, packet) in due {
            ends[to].handle_packet(now, &packet);
        }
    }
}

fn pair() -> [Connection; 2] {
    let config = Config {
        mss: 1000,
        window: 10_000,
        initial_window: 4_000,
        delayed_ack: DelayedAck::None,
        ..Config::default()
    };
    let [a, b] = ["10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap()];
    [Connection::connect(config.clone(), a, b, 100), Connection::listen(config, b, a, 900)]
}

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

fn events(end: &mut Connection) -> Vec<Event> {
    std::iter::from_fn(|| end.poll_event()).collect()
}

#[test]
fn what_is_not_read_keeps_the_window_closed_by_as_much() {
    let mut ends = pair();
    ends[A].write(50_000);
    run(&mut ends, ms(0), ms(1000));
    assert_eq!((ends[B].held(), ends[A].in_flight()), (10_000, 0));
    assert_eq!((ends[B].read_up_to(2_500), ends[B].held()), (2_500, 7_500));
    let log = run(&mut ends, ms(1000), ms(1150));
    // The window of 2500 bytes is announced, and used: two full segments; half a segment is not sent.
    assert_eq!((log[0].1, log[0].2.flags, log[0].2.window), (B, Flags::ACK, 2_500));
    assert_eq!(log.iter().filter(|l| l.1 == A).map(|l| l.3).collect::<Vec<_>>(), [1000, 1000]);
    assert_eq!(ends[B].held(), 9_500);
    assert_eq!(ends[B].read_up_to(u64::MAX), 9_500);
    assert_eq!(ends[B].read_up_to(1), 0);
}

#[test]
fn a_fin_that_is_held_is_acknowledged_when_it_is_released() {
    let mut ends = pair();
    ends[B].hold_fin(true);
    ends[A].write(2_500);
    ends[A].shutdown();
    run(&mut ends, ms(0), ms(900));
    // All of the data is acknowledged, and the FIN is in order and waits.
    assert_eq!((ends[A].acknowledged(), ends[A].in_flight(), ends[A].fin_acknowledged()), (2_500, 1, false));
    assert!(ends[B].fin_waits() && ends[B].state() == State::Established);
    assert_eq!(events(&mut ends[B]), [Event::Connected, Event::Received(2_500)]);
    // A repeats it, and is answered as before.
    let log = run(&mut ends, ms(900), ms(2_000));
    assert!(log.iter().any(|l| l.1 == A && l.2.flags.has(Flags::FIN) && l.3 == 0));
    assert!(log.iter().filter(|l| l.1 == B).all(|l| l.2.ack == 101 + 2_500));
    ends[B].release_fin(ms(2_000));
    run(&mut ends, ms(2_000), ms(2_100));
    assert!(ends[A].fin_acknowledged() && !ends[B].fin_waits());
    assert_eq!([ends[A].state(), ends[B].state()], [State::FinWait2, State::CloseWait]);
    assert_eq!(events(&mut ends[B]), [Event::PeerFinished]);
}

#[test]
fn breaking_off_is_believed_even_if_data_was_lost_before() {
    let mut ends = pair();
    ends[A].write(4_000);
    run(&mut ends, ms(0), ms(100));
    // Segments are lost; the reset after them is not at the number that B expects, so B sends a challenge.
    while ends[A].poll_transmit(ms(100)).is_some() {}
    assert_eq!(ends[A].in_flight(), 4_000);
    ends[A].reset();
    assert_eq!((ends[A].state(), ends[A].poll_timeout()), (State::Closed, None));
    let log = run(&mut ends, ms(100), ms(5_000));
    let flags: Vec<_> = log.iter().map(|l| (l.1, l.2.flags.has(Flags::RST))).collect();
    assert_eq!(flags, [(A, true), (B, false), (A, true)]);
    assert_eq!(events(&mut ends[B]).last(), Some(&Event::Reset));
    assert_eq!(ends[B].state(), State::Closed);
}

#[test]
fn an_end_that_was_never_answered_is_reset_too() {
    let mut ends = pair();
    let syn = ends[A].poll_transmit(ms(0)).unwrap();
    ends[B].handle_packet(ms(50), &syn);
    ends[B].reset();
    run(&mut ends, ms(50), ms(200));
    assert_eq!(events(&mut ends[A]), [Event::Reset]);
    // An end without any packet from its peer has nobody to inform.
    let mut alone = pair();
    assert!(alone[A].poll_transmit(ms(0)).is_some());
    alone[A].reset();
    assert!(alone[A].poll_transmit(ms(0)).is_none() && alone[A].state() == State::Closed);
}
