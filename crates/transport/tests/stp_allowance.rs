//! A listener that may send at most three times the bytes received, on paths with losses.
//!
//! Follows docs/stp-hosts.md ("Without encryption"): the host counts, and the machine holds data back and requests the proof.
//! Differs from `stp_pairs`: losses only, and the time until the answer has arrived is compared.
//! Leaves out the host (crate `live`).

use bytes::Bytes;
use skyhop_chance::Seed;
use skyhop_transport::stp::{Config, Connection, Ends, Features, Packet};
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

const BENEATH: u64 = 28;
/// Lone POLLs after 1, 2, 4, … 64 s.
const MOST_BEYOND: u64 = 7 * (16 + BENEATH);
const QUESTION: usize = 4;
const ANSWER: usize = 20_000;
const ONE_WAY: Span = Span::from_millis(20);

/// One direction of the path.
struct Way {
    under_way: VecDeque<(Time, Packet<Bytes>)>,
    bytes: u64,
}

/// Time until a request of a few bytes has its answer of 20 kB, with `lost` for each packet.
fn answered(config: &Config, mut lost: impl FnMut(usize) -> bool) -> Option<Span> {
    let here = Ends { local_port: 7, remote_port: 9, instance: 1234, count: 5 };
    let there = Ends { local_port: 9, ..Ends::default() };
    let mut ends =
        [Connection::connect(config.clone(), here, 100), Connection::listen(config.clone(), there, 200)];
    let mut ways = [(); 2].map(|()| Way { under_way: VecDeque::new(), bytes: 0 });
    let begin = Time::ZERO + Span::from_secs(1);
    let (mut now, mut asked, mut came, mut proven, mut heard) = (begin, 0, 0, false, 0u64);
    ends[0].write(Bytes::from_static(&[1; QUESTION]));
    while now.since(begin) < Span::from_secs(110) {
        for to in 0..2 {
            while let Some((_, packet)) = ways[1 - to].under_way.pop_front_if(|(at, _)| *at <= now) {
                if to == 1 {
                    heard += packet.wire_len() as u64 + BENEATH;
                    proven |= packet.control.as_ref().is_some_and(|c| c.stat.is_some() || c.ustat.is_some());
                }
                ends[to].handle_packet(now, &packet);
            }
        }
        while let Some(data) = ends[1].read(1000) {
            asked += data.len();
            if asked == QUESTION {
                ends[1].write(Bytes::from(vec![2; ANSWER]));
            }
        }
        while let Some(data) = ends[0].read(1000) {
            came += data.len();
        }
        if came == ANSWER {
            return Some(now.since(begin));
        }
        for from in 0..2 {
            ends[from].handle_timeout(now);
            loop {
                let room = (3 * heard).saturating_sub(ways[1].bytes + BENEATH);
                ends[1].allow(if proven { u64::MAX } else { room });
                let Some(packet) = ends[from].poll_transmit(now) else { break };
                let len = packet.wire_len() as u64;
                let asks = packet.poll.is_some() && packet.data.is_none() && packet.control.is_none();
                if from == 1 && !proven && !asks && len > room {
                    assert!(packet.data.is_none(), "{len} bytes of data where {room} may leave");
                    continue;
                }
                ways[from].bytes += len + BENEATH;
                let beyond = ways[1].bytes.saturating_sub(3 * heard);
                assert!(proven || beyond <= MOST_BEYOND, "{beyond} bytes beyond what may go there");
                if !lost(from) {
                    ways[from].under_way.push_back((now + ONE_WAY, packet));
                }
            }
        }
        let arrivals = ways.iter().filter_map(|way| way.under_way.front().map(|(at, _)| *at));
        let timers = ends.iter().filter_map(Connection::poll_timeout);
        let next = arrivals.chain(timers).min()?;
        now = next.max(now + Span::from_micros(1));
    }
    None
}

fn forms() -> [Config; 2] {
    [Config::default(), Config { features: Features::PLAIN, ..Config::default() }]
}

#[test]
fn without_losses_the_proof_costs_a_round_trip() {
    for config in forms() {
        let time = answered(&config, |_| false).expect("an answer").as_secs_f64();
        // Question, first answer; POLL, STAT; data that slow start sends in further round trips.
        assert!(time < 6.0 * 2.0 * ONE_WAY.as_secs_f64(), "{time} s");
    }
}

#[test]
fn who_says_nothing_more_is_asked_less_and_less_often() {
    for config in forms() {
        let mut first = true;
        assert_eq!(answered(&config, |from| from == 0 && !std::mem::replace(&mut first, false)), None);
    }
}

/// Any packets may be lost: each costs a timeout, and no four leave both ends waiting for ever.
#[test]
fn any_four_lost_packets_cost_four_timeouts() {
    for config in forms() {
        for lost in (0u32..1 << 14).filter(|set| set.count_ones() <= 4) {
            let mut count = 0;
            let time = answered(&config, |_| {
                count += 1;
                count <= 14 && lost >> (count - 1) & 1 == 1
            });
            let time = time.unwrap_or_else(|| panic!("{lost:b}: both wait")).as_secs_f64();
            let most = [0.5, 1.5, 3.5, 7.5, 15.5][lost.count_ones() as usize];
            assert!(time < most, "{lost:b}: {time} s");
        }
    }
}

#[test]
fn a_thousand_bad_paths_end_with_an_answer() {
    for config in forms() {
        // 110 s stand for answers that have not arrived by then.
        let mut times: Vec<f64> = (0..1000)
            .map(|seed| {
                let mut chance = Seed(seed).stream("losses");
                answered(&config, |_| chance.bits().is_multiple_of(10)).map_or(110.0, Span::as_secs_f64)
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "one in ten lost: median {:.2} s, 99 % {:.2} s, worst {:.2} s",
            times[500], times[990], times[999]
        );
        assert!(times[500] < 1.0 && times[990] < 10.0 && times[999] < 70.0, "{:?}", &times[990..]);
    }
}
