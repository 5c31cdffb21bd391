//! Who takes whose place among associations, and when they end.
//!
//! Follows RFC 9000 §8.1, §10.1 and §10.2.
//! Differs from a test of the library: everything passes through the datagrams that an attacker sees.
//! Leaves out sockets, which `strangers` has.

#[path = "common/two.rs"]
mod two;

use skyhop_live::associations::{Associations, Config, Event};
use skyhop_live::handshake::{RefusalReason, kind};
use skyhop_units::{Span, Time};
use two::*;

/// The copy of a first packet that overtakes it, from an address of its own, with or without the cookie.
#[test]
fn a_copied_first_packet_takes_nobody_s_place() {
    for answers_cookies in [false, true] {
        let keys = shared();
        let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
        two.client.connect(two.now, server()).unwrap();
        let (_, mut hello) = two.client.poll_transmit().unwrap();
        two.server.handle_datagram(two.now, address(99), &mut hello.clone());
        let (_, answer) = two.server.poll_transmit().unwrap();
        assert_eq!(answer[0], kind::ANSWER);
        if answers_cookies {
            // From a hundred places that are all the eavesdropper's own.
            for n in 100..200 {
                two.server.handle_datagram(two.now, address(n), &mut hello.clone());
                let (_, packet) = two.server.poll_transmit().unwrap();
                let mut again = hello.clone();
                again[7] = 16;
                again.splice(8..8, packet[12..].iter().copied());
                two.server.handle_datagram(two.now, address(n), &mut again);
                assert_eq!(two.server.poll_transmit().unwrap().1[0], kind::ANSWER);
            }
        }
        two.server.handle_datagram(two.now, client(), &mut hello);
        two.settle(|_, _| true);
        let (_, server_id) = two.opened();
        // The copies go with it.
        assert_eq!((two.server.half_open(), two.server.len()), (0, 1));
        assert_eq!(two.server.get_mut(server_id).unwrap().peer, client());
    }
}

/// Three copies of one forged refusal are one, and the answer that comes meanwhile counts.
#[test]
fn a_refusal_counts_once_for_each_first_packet() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    two.client.connect(two.now, server()).unwrap();
    let (_, mut hello) = two.client.poll_transmit().unwrap();
    let echo = hello[8..16].try_into().unwrap();
    let index = u32::from_be_bytes([0, hello[4], hello[5], hello[6]]);
    for _ in 0..100 {
        let mut refusal = skyhop_live::handshake::refusal_packet(RefusalReason::Key, index, &echo);
        two.client.handle_datagram(two.now, server(), &mut refusal);
    }
    assert_eq!(two.client.poll_event(), None);
    two.server.handle_datagram(two.now, client(), &mut hello);
    two.settle(|_, _| true);
    two.opened();
}

/// A host that opens and accepts, with a key that both ends share, and somebody who sends its packets back to it.
#[test]
fn a_reflected_first_packet_opens_nothing() {
    let config = Config { accepts: true, ..Config::new(shared()) };
    let now = Time::ZERO + Span::from_secs(1000);
    let mut host = Associations::new(now, config, seeded("host"));
    host.connect(now, server()).unwrap();
    for _ in 0..10 {
        while let Some((_, mut packet)) = host.poll_transmit() {
            host.handle_datagram(now, server(), &mut packet);
        }
    }
    assert_eq!((host.poll_event(), host.len(), host.half_open()), (None, 0, 0));
    assert_eq!(host.counters().reflected_hellos, 1);
}

/// An association that nobody uses ends after a while, by its initiator first, who says so; one that is used does not.
#[test]
fn associations_end_by_use() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys.clone()));
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    let (client_id, server_id) = two.opened();
    let at = two.client.poll_timeout().unwrap();
    assert_eq!(at.since(two.now), Span::from_secs(60));
    two.client.set_used(two.now, client_id, true);
    assert_eq!(two.client.poll_timeout(), None);
    two.now = at + Span::from_secs(10);
    two.client.set_used(two.now, client_id, false);
    two.now += Span::from_secs(59);
    two.client.handle_timeout(two.now);
    assert_eq!(two.client.poll_transmit(), None);
    two.now += Span::from_secs(1);
    two.client.handle_timeout(two.now);
    assert_eq!((two.client.poll_event(), two.client.len()), (Some(Event::Ended { id: client_id }), 0));
    let (_, mut bye) = two.client.poll_transmit().unwrap();
    // The server, which would have waited for the double of that, hears of it; a copy and a forgery end nothing.
    let mut forged = bye.clone();
    forged[20] ^= 1;
    two.server.handle_datagram(two.now, client(), &mut forged);
    assert_eq!(two.server.len(), 1);
    two.server.handle_datagram(two.now, client(), &mut bye);
    assert_eq!((two.server.poll_event(), two.server.len()), (Some(Event::Ended { id: server_id }), 0));

    // A client that is gone without a word.
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    two.opened();
    for (after, left) in [(119, 1), (120, 0)] {
        two.server.handle_timeout(two.now + Span::from_secs(after));
        assert_eq!(two.server.len(), left);
    }
}

/// One holder of the key opens all that there may be; others get in, and who is at work stays.
#[test]
fn unused_associations_make_room() {
    let keys = shared();
    let config = Config { associations_max: 100, ..Config::new(keys.clone()) };
    let mut two = Two::new(Config::new(keys.clone()), config);
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    let (_, working) = two.opened();
    two.server.set_used(two.now, working, true);
    let open = |two: &mut Two, n: u32| {
        let mut other = Associations::new(two.now, Config::new(keys.clone()), seeded(&format!("{n}")));
        let id = other.connect(two.now, server()).unwrap();
        for _ in 0..3 {
            while let Some((_, mut packet)) = other.poll_transmit() {
                two.server.handle_datagram(two.now, address(1000 + n), &mut packet);
            }
            while let Some((to, mut packet)) = two.server.poll_transmit() {
                if to == address(1000 + n) {
                    other.handle_datagram(two.now, server(), &mut packet);
                }
            }
        }
        other.get_mut(id)?;
        let mut first = sealed(&mut other, id, b"hello, here I am");
        two.server.handle_datagram(two.now, address(1000 + n), &mut first).map(|(id, _)| id)
    };
    for n in 0..1000 {
        two.now += Span::from_millis(2);
        assert!(open(&mut two, n).is_some(), "{n}");
        assert!(two.server.len() <= 100);
    }
    assert!(two.server.get_mut(working).is_some());
    assert_eq!(two.server.counters().evicted, 901);
    // Keyless packets make nobody leave.
    let mut stranger = Associations::new(two.now, Config::new(shared()), seeded("stranger"));
    stranger.connect(two.now, server()).unwrap();
    let (_, mut hello) = stranger.poll_transmit().unwrap();
    two.server.handle_datagram(two.now, address(9), &mut hello);
    assert_eq!((two.server.len(), two.server.counters().evicted), (100, 901));
    // If all are at work, who comes is refused.
    let all: Vec<u32> =
        (0..1000).flat_map(|n| two.server.with(address(1000 + n)).collect::<Vec<_>>()).collect();
    assert_eq!(all.len(), 99);
    for id in all {
        two.server.set_used(two.now, id, true);
    }
    assert_eq!(open(&mut two, 5000), None);
}
