//! Two hosts that open an association, and attackers.
//!
//! Follows RFC 9000 §8.1 and RFC 9147 §5.1 for the cost of unknown peers; Noise's patterns for authentication.
//! Differs from a test of the library: everything passes through the datagrams that an attacker sees.
//! Leaves out sockets: the test delivers datagrams, and may lose, repeat and alter them.

#[path = "common/two.rs"]
mod two;

use skyhop_live::associations::{Associations, Config, Event};
use skyhop_live::attempts::AssociationFailure;
use skyhop_live::handshake::{RefusalReason, kind};
use skyhop_live::key_log::{KeyLog, Reader, Seen};
use skyhop_live::keys::Keys;
use skyhop_live::seal::Cipher;
use skyhop_units::{Span, Time};
use std::collections::VecDeque;
use two::*;

#[test]
fn opens_in_one_round_trip_with_either_kind_of_key_and_cipher() {
    let one = shared();
    for (ours, theirs) in [(one.clone(), one), pair()] {
        for cipher in [Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305] {
            let mut config = Config { key_log: true, ..Config::new(ours.clone()) };
            config.sealing.cipher = cipher;
            let mut two = Two::new(config, Config { key_log: true, ..Config::new(theirs.clone()) });
            let begin = two.now;
            two.client.connect(two.now, server()).unwrap();
            two.settle(|_, _| true);
            assert_eq!(two.now, begin);
            assert_eq!(two.seen.len(), 2, "one packet each way");
            assert_eq!(two.server.half_open(), 1);
            assert_eq!(two.server_events, [], "nothing is open before a sealed packet");
            let (client_id, server_id) = two.opened();
            assert_eq!(two.server.half_open(), 0);
            let mut back = sealed(&mut two.server, server_id, b"and one back");
            let (id, contents) = two.client.handle_datagram(two.now, server(), &mut back).unwrap();
            assert_eq!((id, &back[contents]), (client_id, &b"and one back"[..]));
            let line = |events: &[Event]| {
                events.iter().find_map(|e| if let Event::Keys(line) = e { Some(line.clone()) } else { None })
            };
            let (a, b) = (line(&two.client_events).unwrap(), line(&two.server_events).unwrap());
            assert_eq!(a, b, "both write the same line for a capture");
            assert_eq!(a.split(' ').count(), 6, "{a}");
            assert!(a.contains(&cipher.to_string()));
            let mut log = KeyLog::default();
            log.add(&format!("{a}\n\n# again\n{b}\n")).unwrap();
            assert_eq!(log.len(), 1);
            read_along(&mut two, (client_id, server_id), &log);
        }
    }
}

/// Decrypts a capture of the current exchange with the log, piece by piece and several at once.
fn read_along(two: &mut Two, (client_id, server_id): (u32, u32), log: &KeyLog) {
    let mut reader = Reader::new(log);
    let mut see = |packet: &[u8], whole| reader.datagram(client(), server(), packet, whole);
    let opened = |packets: &[&[u8]], altered| Seen::Opened {
        packets: packets.iter().map(|p| p.to_vec()).collect(),
        altered,
    };
    let there = sealed(&mut two.client, client_id, b"there");
    let back = sealed(&mut two.server, server_id, b"back again");
    assert_eq!(see(&there, true), opened(&[b"there"], 0));
    assert_eq!(see(&back, true), opened(&[b"back again"], 0));
    assert_eq!(see(&there, true), opened(&[b"there"], 0), "captured twice");
    // The kernel sends packets of one length as one, the last may be shorter.
    let mut batch: Vec<Vec<u8>> =
        [&b"first"[..], b"other", b"end"].map(|t| sealed(&mut two.client, client_id, t)).into();
    assert_eq!(see(&batch.concat(), true), opened(&[b"first", b"other", b"end"], 0));
    batch[1][14] ^= 1;
    assert_eq!(see(&batch.concat(), true), opened(&[b"first", &batch[1], b"end"], 1));
    assert_eq!(see(&batch[1], true), Seen::Altered);
    assert_eq!(see(&there[..there.len() - 1], false), Seen::CutOff);
    let mut other = there.clone();
    other[3] ^= 1;
    assert_eq!(see(&other, true), Seen::NoKey, "of these two, and of no association that is known");
    assert_eq!(see(b"something else", true), Seen::Foreign);
    let tally = reader.tally();
    assert_eq!((tally.opened, tally.associations, tally.unopened(), tally.foreign), (8, 1, 4, 1));
}

#[test]
fn losses_cost_a_second_and_then_two() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    let begin = two.now;
    two.client.connect(two.now, server()).unwrap();
    let mut lost = 0;
    // The first packet, then the first answer.
    two.settle(|from_client, _| {
        let lose = lost == u32::from(!from_client) && lost < 2;
        lost += u32::from(lose);
        !lose
    });
    assert_eq!(two.now.since(begin), Span::from_secs(3));
    assert_eq!(two.server.counters().repeated_hellos, 1, "answered with the same answer");
    two.opened();
}

#[test]
fn an_outage_of_110_seconds_at_the_opening_is_outlasted() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    let begin = two.now;
    two.client.connect(two.now, server()).unwrap();
    // After 0, 1 and 3 s, and then every 4 s.
    let mut sent = 0;
    two.settle(|_, _| {
        sent += 1;
        sent > 29
    });
    assert_eq!(two.now.since(begin), Span::from_secs(111));
    assert_eq!(two.client_events.remove(0), Event::Unanswered { peer: server() });
    two.opened();
}

#[test]
fn what_is_altered_on_the_way_delays_and_spoils_nothing() {
    let keys = shared();
    for (spoil_client, byte) in (0..80).map(|n| (true, n)).chain((0..56).map(|n| (false, n))) {
        let mut two = Two::new(Config::new(keys.clone()), Config::new(keys.clone()));
        two.client.connect(two.now, server()).unwrap();
        let mut spoilt = false;
        two.settle(|from_client, packet| {
            if from_client == spoil_client && !spoilt && byte < packet.len() {
                packet[byte] ^= 0x41;
                spoilt = true;
            }
            true
        });
        two.opened();
    }
}

#[test]
fn a_wrong_key_opens_nothing_and_both_say_why() {
    let (ours, theirs) = pair();
    let (strange, _) = pair();
    let (Keys::Pair { private, .. }, Keys::Pair { peers, .. }) = (&strange, &ours) else {
        unreachable!("pairs")
    };
    // A stranger who knows the server's public key, and one who does not.
    let stranger = Keys::Pair { private: private.clone(), peers: peers.clone() };
    let cases = [
        (shared(), shared(), RefusalReason::Key),
        (stranger, theirs.clone(), RefusalReason::Key),
        (strange, theirs.clone(), RefusalReason::Key),
        (shared(), theirs, RefusalReason::Pattern),
        (ours, shared(), RefusalReason::Pattern),
    ];
    for (client_keys, server_keys, reason) in cases {
        let mut two = Two::new(Config::new(client_keys), Config::new(server_keys));
        let begin = two.now;
        let id = two.client.connect(two.now, server()).unwrap();
        two.settle(|_, _| true);
        assert_eq!(two.client_events, [Event::Failed { id, why: AssociationFailure::Refused(reason) }]);
        // Three refusals, because one may be of a packet that was spoilt on the way.
        assert_eq!(two.server_events, vec![Event::Refused { from: client(), reason }; 3]);
        assert!(two.now.since(begin) < Span::from_secs(3));
        assert_eq!(two.server.half_open(), 0);
        assert_eq!(two.server.len() + two.client.len(), 0);
        // The server's answer to a stranger is 13 bytes, 11 of them the stranger's own and two constants.
        let hello = two.seen[0].1.clone();
        for (_, packet) in two.seen.iter().filter(|(from_client, _)| !from_client) {
            assert_eq!(packet.len(), 13);
            assert_eq!(packet[1..4], hello[4..7]);
            assert_eq!(packet[4..12], hello[8..16]);
        }
    }
}

#[test]
fn a_replayed_first_packet_does_nothing() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    let hello = two.seen[0].1.clone();
    // While half open, from another address: a cookie there, no second slot.
    assert!(two.server.handle_datagram(two.now, address(99), &mut hello.clone()).is_none());
    let (to, cookie) = two.server.poll_transmit().unwrap();
    assert!(to == address(99) && cookie[0] == kind::COOKIE && cookie.len() <= hello.len());
    assert_eq!((two.server.poll_transmit(), two.server.half_open()), (None, 1));
    let (client_id, server_id) = two.opened();
    for _ in 0..1000 {
        for from in [client(), address(99)] {
            assert!(two.server.handle_datagram(two.now, from, &mut hello.clone()).is_none());
        }
    }
    assert_eq!(two.server.poll_transmit(), None);
    assert_eq!(two.server.poll_event(), None);
    assert_eq!((two.server.half_open(), two.server.with(client()).collect::<Vec<_>>()), (0, vec![server_id]));
    // The association is as it was.
    let mut packet = two.seal(client_id, b"still here, and now");
    assert!(two.server.handle_datagram(two.now, client(), &mut packet).is_some());
    // When the association is forgotten, the packet gets an answer that nobody can use, and is forgotten too.
    two.server.forget(server_id);
    assert!(two.server.handle_datagram(two.now, client(), &mut hello.clone()).is_none());
    let (_, mut answer) = two.server.poll_transmit().unwrap();
    assert!(answer.len() <= hello.len());
    assert!(two.client.handle_datagram(two.now, server(), &mut answer).is_none());
    assert_eq!(two.client.poll_event(), None);
    let later = two.now + Span::from_secs(31);
    two.server.handle_timeout(later);
    assert_eq!(two.server.half_open(), 0);
}

#[test]
fn a_sealed_packet_counts_once_and_from_the_peer_only() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    let (client_id, server_id) = two.opened();
    let packets: Vec<_> =
        (0..20_000_u32).map(|n| two.seal(client_id, format!("number {n:05}").as_bytes())).collect();
    let mut back = sealed(&mut two.server, server_id, b"from elsewhere");
    assert!(two.client.handle_datagram(two.now, address(99), &mut back.clone()).is_none());
    assert_eq!(two.client.counters().unknown, 1);
    assert!(two.client.handle_datagram(two.now, server(), &mut back).is_some());
    // Backwards: 20,000 packets of disorder, more than 250 Mbit/s and 600 ms can make.
    for packet in packets.iter().rev() {
        assert!(two.server.handle_datagram(two.now, client(), &mut packet.clone()).is_some());
    }
    for packet in &packets {
        assert!(two.server.handle_datagram(two.now, client(), &mut packet.clone()).is_none());
    }
    let counters = two.server.counters();
    assert_eq!((counters.opened, counters.replayed), (20_001, 20_000));
    assert_eq!((counters.forged, counters.too_old), (0, 0));
}

/// A server restarted with the same keys.
fn restart(two: &mut Two, keys: &Keys) {
    two.server = Associations::new(
        two.now,
        Config { accepts: true, ..Config::new(keys.clone()) },
        seeded("restarted"),
    );
}

#[test]
fn a_peer_that_was_restarted_is_found_out_in_three_round_trips() {
    for (ours, theirs) in [(shared(), None), {
        let (a, b) = pair();
        (a, Some(b))
    }] {
        let theirs = theirs.unwrap_or_else(|| ours.clone());
        let mut two = Two::new(Config::new(ours), Config::new(theirs.clone()));
        two.client.connect(two.now, server()).unwrap();
        two.settle(|_, _| true);
        let (client_id, _) = two.opened();
        restart(&mut two, &theirs);
        two.client_events.clear();
        let mut packet = two.seal(client_id, b"to the one before");
        assert!(two.server.handle_datagram(two.now, client(), &mut packet).is_none());
        let mut passed = 0;
        two.settle(|_, _| {
            passed += 1;
            true
        });
        // Unknown, HELLO, ANSWER, question, answer.
        assert_eq!(passed, 5);
        let lost = |e: &Event| matches!(e, Event::Lost { id, .. } if *id == client_id);
        assert!(two.client_events.iter().any(lost), "{:?}", two.client_events);
        assert!(two.client.get_mut(client_id).is_none());
    }
}

#[test]
fn losses_delay_the_question_and_a_peer_that_knows_says_so() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys.clone()));
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    let (client_id, server_id) = two.opened();
    two.client_events.clear();
    // A host that has seen a packet can make the client ask. The server still has the association, so nothing ends.
    let packet = two.seal(client_id, b"on its way to the server");
    let mut unknown = packet[..12].to_vec();
    unknown[0] = 6;
    two.client.handle_datagram(two.now, server(), &mut unknown.clone());
    let mut sealed_packets = 0;
    two.settle(|_, packet| {
        // Every first one of the question and of its answer is lost.
        sealed_packets += u32::from(packet[0] == 5);
        packet[0] != 5 || sealed_packets > 2
    });
    assert!(sealed_packets >= 4, "asked and answered after all");
    assert!(!two.client_events.iter().any(|e| matches!(e, Event::Lost { .. })), "{:?}", two.client_events);
    assert!(two.client.get_mut(client_id).is_some() && two.server.get_mut(server_id).is_some());
    // A host that has not seen one cannot even do that: from elsewhere, of another index, with an unused counter, too short, too long.
    for (from, at, value) in [(address(99), 0, 6), (server(), 3, unknown[3] ^ 1), (server(), 4, 1)] {
        let mut forged = unknown.clone();
        forged[at] = value;
        two.now += Span::from_secs(10);
        two.client.handle_datagram(two.now, from, &mut forged);
        assert!(two.client.poll_transmit().is_none());
    }
    let longer = [&unknown[..], &[0]].concat();
    for mut forged in [unknown[..11].to_vec(), longer] {
        two.now += Span::from_secs(10);
        two.client.handle_datagram(two.now, server(), &mut forged);
        assert!(two.client.poll_transmit().is_none(), "{} bytes", forged.len());
    }
    // The same bytes, whole, are believed so far as to ask.
    two.client.handle_datagram(two.now, server(), &mut unknown);
    assert!(two.client.poll_transmit().is_some());
}

#[test]
fn who_lacks_the_key_ends_nothing() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    let (client_id, _) = two.opened();
    // Somebody in the server's place, who sees all packets: says that it knows nothing, and answers with a key of its own.
    restart(&mut two, &shared());
    two.client_events.clear();
    let mut packet = two.seal(client_id, b"to the one before");
    two.server.handle_datagram(two.now, client(), &mut packet);
    two.settle(|_, _| true);
    assert!(two.client_events.is_empty(), "{:?}", two.client_events);
    assert!(two.client.get_mut(client_id).is_some());
}

#[test]
fn a_client_moves_when_it_answers_from_its_new_address_and_not_before() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    let (client_id, server_id) = two.opened();
    let peer = |two: &mut Two| two.server.get_mut(server_id).unwrap().peer;
    let old = two.seal(client_id, b"from the old address");
    let copied = two.seal(client_id, b"copied by somebody else");
    // A copy that overtakes the packet itself: its contents are good, but the address is only asked.
    let elsewhere = address(99);
    assert!(two.server.handle_datagram(two.now, elsewhere, &mut copied.clone()).is_some());
    let (to, question) = two.server.poll_transmit().expect("asks");
    assert!(to == elsewhere && question.len() <= copied.len(), "{} {}", question.len(), copied.len());
    assert_eq!(peer(&mut two), client());
    // The attacker cannot answer. Nor does an older packet from anywhere make the server ask.
    two.now += Span::from_secs(10);
    assert!(two.server.handle_datagram(two.now, address(98), &mut old.clone()).is_some());
    assert!(two.server.poll_transmit().is_none());
    // The client has really moved: a hundred packets at once make one question.
    let moved = address(50);
    for n in 0..100 {
        let mut packet = two.seal(client_id, format!("moved, packet {n}").as_bytes());
        assert!(two.server.handle_datagram(two.now, moved, &mut packet).is_some());
    }
    let (to, mut question) = two.server.poll_transmit().expect("asks");
    assert!(to == moved && two.server.poll_transmit().is_none());
    two.client.handle_datagram(two.now, server(), &mut question);
    let (to, mut answer) = two.client.poll_transmit().expect("answers");
    assert_eq!(to, server());
    // The answer counts only where the question went.
    assert_eq!(peer(&mut two), client());
    two.server.handle_datagram(two.now, moved, &mut answer);
    assert_eq!(peer(&mut two), moved);
    assert_eq!(two.server.poll_event(), Some(Event::Moved { id: server_id, peer: moved }));
}

#[test]
fn ten_thousand_half_open_attempts_cost_bounded_memory_and_no_more_than_they_send() {
    let keys = shared();
    let config = Config::new(keys.clone());
    let (most, above) = (config.half_open_max, config.cookie_above);
    let now = Time::ZERO + Span::from_secs(1000);
    let mut server_side = Associations::new(now, Config { accepts: true, ..config }, seeded("server"));
    let (mut bytes_in, mut bytes_out, mut highest) = (0, 0, 0);
    // Each from an address of its own, and with the right key: the worst that a stranger cannot even do.
    for n in 0..10_000 {
        let mut attacker =
            Associations::new(now, Config::new(keys.clone()), seeded(&format!("attacker {n}")));
        attacker.connect(now, server()).unwrap();
        let (_, mut hello) = attacker.poll_transmit().unwrap();
        bytes_in += hello.len();
        server_side.handle_datagram(now, address(100 + n), &mut hello);
        bytes_out +=
            std::iter::from_fn(|| server_side.poll_transmit()).map(|(_, packet)| packet.len()).sum::<usize>();
        highest = highest.max(server_side.half_open());
    }
    assert_eq!(highest, above, "from then on cookies are asked for, and nothing is kept");
    assert_eq!(server_side.counters().cookies, 10_000 - above as u64);
    assert!(bytes_out > 0 && bytes_out <= bytes_in, "{bytes_out} for {bytes_in}");
    // Meanwhile a host that receives what is sent to it gets in, for a round trip more.
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys.clone()));
    two.now = now;
    two.server = server_side;
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    assert_eq!(two.seen.len(), 4, "first packet, cookie, first packet, answer");
    two.opened();

    // Even of those who answer with their cookies, no more than so many are remembered.
    let mut server_side = two.server;
    for n in 0..2_000 {
        let mut attacker = Associations::new(now, Config::new(keys.clone()), seeded(&format!("guest {n}")));
        attacker.connect(now, server()).unwrap();
        for _ in 0..2 {
            let (_, mut hello) = attacker.poll_transmit().unwrap();
            server_side.handle_datagram(now, address(20_000 + n), &mut hello);
            let (_, mut answer) = server_side.poll_transmit().unwrap();
            attacker.handle_datagram(now, server(), &mut answer);
        }
    }
    assert_eq!(server_side.half_open(), most);
    server_side.handle_timeout(now + Span::from_secs(31));
    assert_eq!(server_side.half_open(), 0);
}

#[test]
fn every_byte_follows_from_time_keys_and_entropy() {
    let (a, b) = pair();
    let opening = |client: &str| {
        let mut two = Two::new(Config::new(a.clone()), Config { cookie_above: 0, ..Config::new(b.clone()) });
        two.client = Associations::new(two.now, Config::new(a.clone()), seeded(client));
        two.client.connect(two.now, server()).unwrap();
        two.settle(|_, _| true);
        let numbers = two.opened();
        (two.seen, numbers)
    };
    let (seen, numbers) = opening("client");
    assert_eq!(seen.len(), 4, "first packet, cookie, first packet, answer");
    assert_eq!(opening("client"), (seen.clone(), numbers));
    let (others, other_numbers) = opening("another client");
    assert!(seen.iter().zip(&others).all(|(one, other)| one != other));
    assert_ne!(numbers.0, other_numbers.0);
}

#[test]
fn silence_strangers_and_closed_ports_are_told_apart() {
    let mut two = Two::new(Config::new(shared()), Config::new(shared()));
    let begin = two.now;
    let id = two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| false);
    let silent =
        [Event::Unanswered { peer: server() }, Event::Failed { id, why: AssociationFailure::NoAnswer }];
    assert_eq!(two.client_events, silent);
    assert_eq!(two.now.since(begin), Span::from_secs(120));

    let mut two = Two::new(Config::new(shared()), Config::new(shared()));
    let id = two.client.connect(two.now, server()).unwrap();
    let resend = |two: &mut Two| {
        two.now += Span::from_millis(250);
        two.client.handle_timeout(two.now);
    };
    for _ in 0..3 {
        assert_eq!(two.client.poll_event(), None, "one such message proves nothing");
        for _ in 0..10 {
            two.client.handle_datagram(two.now, server(), &mut b"HTTP/1.1 400 Bad Request".to_vec());
        }
        resend(&mut two);
    }
    assert_eq!(two.client.poll_event(), Some(Event::Failed { id, why: AssociationFailure::NotStp }));
    while two.client.poll_transmit().is_some() {}
    let id = two.client.connect(two.now, server()).unwrap();
    let (_, hello) = two.client.poll_transmit().unwrap();
    for _ in 0..3 {
        assert_eq!(two.client.poll_event(), None, "one such message proves nothing");
        // ICMP that repeats another packet than was sent, or less than a stranger could not know, is nobody's.
        let mut other = hello.clone();
        other[10] ^= 1;
        for quote in [&other[..], &hello[..15], &[]] {
            two.client.handle_unreachable(two.now, server(), quote);
        }
        two.client.handle_unreachable(two.now, address(99), &hello);
        two.client.handle_unreachable(two.now, server(), &hello[..40]);
        resend(&mut two);
    }
    assert_eq!(two.client.poll_event(), Some(Event::Failed { id, why: AssociationFailure::Unreachable }));
}

#[test]
fn arbitrary_bytes_do_nothing() {
    let keys = shared();
    let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
    two.client.connect(two.now, server()).unwrap();
    two.settle(|_, _| true);
    let (client_id, server_id) = two.opened();
    two.server.set_used(two.now, server_id, true);
    let samples: Vec<_> = two.seen.iter().map(|(_, packet)| packet.clone()).collect();
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut bytes_in, mut bytes_out) = (0, 0);
    for n in 0..200_000 {
        let mut packet = match n % 4 {
            0 => (0..draw(100)).map(|_| draw(256) as u8).collect(),
            1 => {
                let mut packet = sealed(&mut two.client, client_id, b"some text of it");
                let at = draw(packet.len());
                packet[at] ^= 1 << draw(8);
                packet
            }
            _ => {
                let mut packet = samples[draw(samples.len())].clone();
                packet.truncate(draw(packet.len() + 1));
                if !packet.is_empty() {
                    let at = draw(packet.len());
                    packet[at] = draw(256) as u8;
                }
                packet
            }
        };
        bytes_in += packet.len();
        assert!(two.server.handle_datagram(two.now, client(), &mut packet.clone()).is_none());
        assert!(two.client.handle_datagram(two.now, server(), &mut packet).is_none());
        bytes_out +=
            std::iter::from_fn(|| two.server.poll_transmit()).map(|(_, packet)| packet.len()).sum::<usize>();
        two.now += Span::from_millis(1);
        two.server.handle_timeout(two.now);
        while two.server.poll_event().is_some() {}
    }
    assert!(two.server.counters().forged > 10_000, "{:?}", two.server.counters());
    assert!(bytes_out < bytes_in / 10, "{bytes_out} for {bytes_in}");
    let mut packet = two.seal(client_id, b"still here, and now");
    assert!(two.server.handle_datagram(two.now, client(), &mut packet).is_some());
}

/// Round trips longer than the half second between two challenges, as over a geostationary satellite, with packets from the new
/// address throughout, and without.
#[test]
fn a_client_that_moves_is_followed_over_any_round_trip() {
    for (rtt_ms, busy) in
        [(20, true), (600, true), (600, false), (1_000, true), (1_000, false), (5_000, true)]
    {
        let keys = shared();
        let mut two = Two::new(Config::new(keys.clone()), Config::new(keys));
        two.client.connect(two.now, server()).unwrap();
        two.settle(|_, _| true);
        let (client_id, server_id) = two.opened();
        let elsewhere = address(77);
        let began = two.now;
        // Datagrams on their way to the server, and to the client, in steps of 10 ms.
        let mut ways: [VecDeque<(u64, Vec<u8>)>; 2] = Default::default();
        let mut moved_ms = None;
        for step in 0.. {
            two.now = began + Span::from_millis(10 * step);
            if step == 0 || busy && step % 10 == 0 {
                let packet = two.seal(client_id, b"data from elsewhere");
                ways[0].push_back((step + rtt_ms / 20, packet));
            }
            while let Some((_, mut packet)) = ways[0].pop_front_if(|(due, _)| *due <= step) {
                two.server.handle_datagram(two.now, elsewhere, &mut packet);
            }
            while let Some((to, packet)) = two.server.poll_transmit() {
                assert_eq!(to, elsewhere, "a question, where the client seems to be");
                ways[1].push_back((step + rtt_ms / 20, packet));
            }
            while let Some((_, mut packet)) = ways[1].pop_front_if(|(due, _)| *due <= step) {
                assert_eq!(two.client.handle_datagram(two.now, server(), &mut packet), None);
            }
            while let Some((_, packet)) = two.client.poll_transmit() {
                ways[0].push_back((step + rtt_ms / 20, packet));
            }
            while let Some(event) = two.server.poll_event() {
                assert_eq!(event, Event::Moved { id: server_id, peer: elsewhere });
                assert!(moved_ms.replace(10 * step).is_none(), "it moves once");
            }
            if step == 1500 {
                break;
            }
        }
        // To the server, the question back, and the answer.
        assert_eq!(moved_ms, Some(rtt_ms + rtt_ms / 2), "{rtt_ms} ms, busy: {busy}");
        assert_eq!(two.server.get_mut(server_id).unwrap().peer, elsewhere);
    }
}
