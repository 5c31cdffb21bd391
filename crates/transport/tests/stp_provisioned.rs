//! A provisioned rate bounds a connection at every round-trip time, and is used up.
//!
//! Follows docs/stp.md §8: `max_rate` counts bytes of the network layer.
//! Leaves out the rates of several associations together, which `live` bounds.

#[allow(dead_code)]
use crate::common::{Link, Path, transfer};
use skyhop_chance::Seed;
use skyhop_transport::stp::{Config, Congestion};
use skyhop_units::{Rate, Span};

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
