//! A splice that reads requests: some are answered by its owner, the others by the server (HT 4.3.1, web caching).
//!
//! The client sends one request of 300 bytes after the other, for 5,000 bytes each.

use crate::common::*;
use proptest::prelude::*;
use skyhop_splice::{Config, Event, Side};
use skyhop_transport::tcp::{self, DelayedAck, State};
use skyhop_units::Span;

const REQUEST: u64 = 300;
const RESPONSE: u64 = 5_000;

/// Plays a client that sends a request for each element of `hits`, a server that answers each of its requests, and a cache that
/// has the files for which `hits` is true.
fn play(net: &mut Net, hits: &[bool]) {
    net.promises_kept = false;
    net.ends_may_be_beyond = true;
    net.writes_itself = true;
    net.drain();
    let (mut asked, mut decided, mut served) = (0, 0, 0);
    for _ in 0..400_000 {
        let got = net.ends[CLIENT].delivered();
        if net.told[CLIENT].contains(&tcp::Event::Connected)
            && asked <= hits.len()
            && got == asked as u64 * RESPONSE
        {
            match asked < hits.len() {
                true => net.ends[CLIENT].write(REQUEST),
                false => net.ends[CLIENT].shutdown(),
            }
            asked += 1;
        }
        if net.splice.waiting() >= REQUEST {
            if hits[decided] {
                assert_eq!(net.splice.consume(net.now, REQUEST), REQUEST);
                net.splice.answer(net.now, RESPONSE);
            } else {
                assert_eq!(net.splice.forward(net.now, REQUEST), REQUEST);
            }
            decided += 1;
        }
        if net.ends[SERVER].delivered() >= (served + 1) * REQUEST {
            net.ends[SERVER].write(RESPONSE);
            served += 1;
        }
        if net.told[SERVER].contains(&tcp::Event::PeerFinished) {
            net.ends[SERVER].shutdown();
        }
        if net.events.contains(&Event::Finished(Side::Client)) {
            net.splice.finish_answers(net.now);
        }
        net.drain();
        if !net.step() {
            break;
        }
    }
    let hits_count = hits.iter().filter(|hit| **hit).count() as u64;
    let misses = hits.len() as u64 - hits_count;
    assert_eq!(net.ends[CLIENT].delivered(), hits.len() as u64 * RESPONSE);
    assert_eq!(net.ends[SERVER].delivered(), misses * REQUEST);
    let stats = net.splice.stats();
    assert_eq!((stats.consumed, stats.answered), (hits_count * REQUEST, hits_count * RESPONSE));
    assert_eq!((net.splice.waiting(), net.splice.held()), (0, 0));
    assert!(net.splice.over() && net.splice.poll_timeout().is_none());
}

fn plain() -> tcp::Config {
    tcp::Config { mss: 1000, delayed_ack: DelayedAck::None, ..tcp::Config::default() }
}

fn cache() -> Config {
    Config::cache(plain(), plain(), 50_000)
}

#[test]
fn what_the_cache_holds_never_reaches_the_server() {
    let mut net = Net::new([plain(), plain()], cache(), [Path::clean(10), Path::clean(300)], [1, 2, 3, 4]);
    play(&mut net, &[true, true]);
    assert!(net.log.iter().all(|(_, end, ..)| *end == CLIENT));
    assert!(net.clean(CLIENT) && net.states()[SERVER] == State::Listen);
    assert_eq!(net.events.last(), Some(&Event::Closed));
}

#[test]
fn what_it_does_not_hold_comes_from_the_server_once_its_connection_is_open() {
    let mut net = Net::new([plain(), plain()], cache(), [Path::clean(10), Path::clean(300)], [1, 2, 3, 4]);
    play(&mut net, &[true, false, true, false]);
    // The first has its answer after the handshake, and two and one round trips of 20 ms; then the server is opened.
    let first = net.log.iter().find(|(_, end, ..)| *end == SERVER).unwrap().0;
    assert!((ms(60)..ms(120)).contains(&first), "{first}");
    assert!(net.clean(CLIENT) && net.clean(SERVER));
    assert_eq!(net.moved, [4 * REQUEST, 2 * RESPONSE]);
    assert_eq!(net.released, [2 * REQUEST, 4 * RESPONSE]);
}

/// A client that sends a request and closes at once, as HTTP/1.0 may: its FIN waits until the cache has decided, 100 ms later,
/// and goes to the server after the request. The second time there is a connection to the server on which it could overtake.
#[test]
fn a_fin_waits_for_the_request_that_nobody_has_decided_on() {
    for before in [0, 1] {
        let mut net = Net::new([plain(), plain()], cache(), [Path::clean(10), Path::clean(30)], [1, 2, 3, 4]);
        net.promises_kept = false;
        net.ends_may_be_beyond = true;
        net.writes_itself = true;
        net.drain();
        let decide = |net: &mut Net| {
            assert_eq!(net.splice.forward(net.now, REQUEST), REQUEST);
            net.drain();
        };
        let until = |net: &mut Net, ms_later: u64| {
            let at = net.now + Span::from_millis(ms_later);
            net.run_until(at);
        };
        until(&mut net, 100);
        for _ in 0..before {
            net.ends[CLIENT].write(REQUEST);
            net.drain();
            until(&mut net, 100);
            decide(&mut net);
            until(&mut net, 300);
        }
        net.ends[CLIENT].write(REQUEST);
        net.ends[CLIENT].shutdown();
        net.drain();
        until(&mut net, 100);
        assert_eq!(net.splice.waiting(), REQUEST);
        assert!(!net.events.contains(&Event::Finished(Side::Client)), "{:?}", net.events);
        assert!(!net.told[SERVER].contains(&tcp::Event::PeerFinished) && !net.clean(CLIENT));
        assert_eq!(net.ends[SERVER].delivered(), before * REQUEST);
        decide(&mut net);
        until(&mut net, 300);
        assert_eq!(net.ends[SERVER].delivered(), (before + 1) * REQUEST);
        assert!(net.told[SERVER].contains(&tcp::Event::PeerFinished), "{:?}", net.told[SERVER]);
        assert_eq!(net.events.iter().filter(|e| **e == Event::Finished(Side::Client)).count(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_arrives_whole_over_any_path(
        ends in [tcp(), tcp()],
        base in config(),
        paths in [path(), path()],
        hits in prop::collection::vec(any::<bool>(), 1..6),
    ) {
        let config = Config { asks: true, opening: skyhop_splice::ServerOpening::Data, ..base };
        let mut net = Net::new(ends, Config { give_up: Span::from_secs(100_000), ..config }, paths, [1, 2, 3, 4]);
        play(&mut net, &hits);
    }
}
