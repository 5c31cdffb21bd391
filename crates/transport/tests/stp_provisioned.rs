//! A provisioned rate bounds a connection at every round-trip time, and is used up.
//!
//! Follows docs/stp.md §8: `max_rate` counts bytes of the network layer.
//! Leaves out the rates of several associations together, which `live` bounds.

#[allow(dead_code)]
use crate::common::{Link, Path, transfer};
use skyhop_chance::Seed;
use skyhop_transport::stp::{Config, Congestion, PayloadLength};
use skyhop_units::{Rate, Span, Time};

const RATE: u64 = 10_000_000;

/// Bits per second that left, over a path of 1 Gbit/s.
fn sent(congestion: Congestion, one_way_us: u64, size: u64) -> f64 {
    let chance = Seed(1);
    let link = |name| Link::new(1e9, Span::from_micros(one_way_us), 10_000_000, 0.0, chance.stream(name));
    let config = Config { congestion, max_rate: Rate::from_bps(RATE), ..Config::default() };
    let mut path = Path::new([config.clone(), config], [link("forward"), link("back")]);
    let took = transfer(&mut path, size, 600.0).expect("an end");
    // The first window is sent together, and at the end nothing is sent for one round trip.
    let bytes = path.links[0].bytes - 10 * 1468;
    bytes as f64 * 8.0 / (took - 2e-6 * one_way_us as f64)
}

#[test]
fn a_rate_is_an_upper_bound_at_every_round_trip_time() {
    for congestion in [Congestion::Delay, Congestion::Window, Congestion::Rate] {
        for one_way_us in [5, 25, 100, 250, 1_000, 5_000, 25_000, 100_000, 300_000] {
            let part = sent(congestion, one_way_us, 12_500_000) / RATE as f64;
            println!("{congestion:?}, {one_way_us} us one way: {part:.3} of the rate");
            // Above, the packets of the opening; below, the start of the longest paths.
            assert!(part <= 1.02, "{congestion:?}, {one_way_us} us: {part:.3}");
            let least = match congestion {
                // The window of TCP, bounded by a round trip's bytes, halves at the end of slow start.
                Congestion::Window => 0.35,
                _ if one_way_us > 25_000 => 0.8,
                _ => 0.95,
            };
            assert!(part >= least, "{congestion:?}, {one_way_us} us: {part:.3}");
        }
    }
}

/// The initiator after 20 s of data without end, of which a few bytes came some time before the rest, and its link.
fn with_others(rate: u64, mbps: f64, one_way_us: u64, host: (u64, u64), before: (u64, f64)) -> Path {
    let chance = Seed(1);
    let product = mbps * one_way_us as f64 / 4.0;
    let link = |name| {
        Link::new(
            mbps * 1e6,
            Span::from_micros(one_way_us),
            30_000 + product as u64,
            0.0,
            chance.stream(name),
        )
    };
    let config = Config { max_rate: Rate::from_bps(rate), ..Config::default() };
    let mut path = Path::new([config.clone(), config], [link("forward"), link("back")]);
    (path.late, path.turns) = (Span::from_micros(host.0), Span::from_millis(host.1));
    let at = |seconds| Time::ZERO + Span::from_secs_f64(seconds);
    let (times, apart) = before;
    for n in 1..=times {
        path.ends[0].write(PayloadLength(10));
        let until = at(n as f64 * apart);
        path.run(until, |_| false);
        path.now = path.now.max(until);
    }
    path.ends[0].write(PayloadLength(1 << 40));
    path.run(path.now + Span::from_secs(20), |_| false);
    path
}

/// Times by which a host's timers are late, microseconds, and the interval of its turns, milliseconds.
const HOSTS: [(u64, u64); 5] = [(0, 0), (1000, 0), (200, 1), (200, 7), (0, 60)];
/// Number of writes of a few bytes before the rest, and the seconds between them.
const BEFORE: [(u64, f64); 5] = [(0, 0.0), (1, 0.002), (1, 1.0), (3, 0.003), (12, 0.03)];

/// docs/stp.md §8.1: a host that gives a turn to this flow now and then takes no pause of its data for a lack of them.
#[test]
fn a_rate_is_an_upper_bound_while_a_host_serves_others() {
    for rate in [50_000, 200_000, 1_000_000, 10_000_000] {
        for one_way_us in [5, 100, 1_000, 5_000, 25_000, 100_000, 300_000] {
            // In addition come the first packets, before and after a pause, and POLLs alone: one of 44 bytes for each packet at most.
            for (host, before) in HOSTS.iter().flat_map(|host| BEFORE.map(|before| (*host, before))) {
                let path = with_others(rate, 1000.0, one_way_us, host, before);
                let bytes = path.links[0].bytes as f64 - 20.0 * 1468.0;
                let part = bytes * 8.0 / (20.0 * rate as f64);
                let case = format!("{rate} bit/s, {one_way_us} us, host {host:?}, before {before:?}");
                assert!(path.ends[0].rate_bps().is_some(), "{case}: no rate is known");
                assert!(part <= 1.05, "{case}: {part:.3}");
            }
        }
    }
}

/// docs/stp.md §8.3: a flow that a host lets send more than its path carries lowers its rate.
#[test]
fn a_path_narrower_than_the_turns_of_a_host_lowers_the_rate() {
    for one_way_us in [5, 100, 1_000, 5_000, 25_000, 100_000, 300_000] {
        for (host, before) in HOSTS[1..4].iter().flat_map(|host| BEFORE.map(|before| (*host, before))) {
            let path = with_others(100_000_000, 1.0, one_way_us, host, before);
            let (stats, bytes) = (path.ends[0].stats(), path.links[0].bytes as f64);
            let again = stats.packets_retransmitted as f64 / stats.packets_sent as f64;
            let case = format!("{one_way_us} us, host {host:?}, before {before:?}");
            assert!(again <= 0.15, "{case}: {again:.3} again");
            assert!(bytes * 8.0 >= 0.75 * 20e6, "{case}: {bytes}");
        }
    }
}
