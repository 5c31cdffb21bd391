//! A connection through two gateways: simulated TCP at both ends, and a stream of an association between them.
//!
//! Follows docs/gateway.md's guarantees: ends pass in each direction, failures are resets, data arrive once.
//! Differs from `join`, whose sides are models: here are the machines of the simulator.
//! Leaves out the loss of packets, which `sim` has.

use skyhop_chance::Seed;
use skyhop_splice::gateway::{budgets, unsent_max};
use skyhop_splice::gateway_end::{EndConfig, EndEvent, EndRole, GatewayEnd};
use skyhop_transport::stp::{self, Class, Ends, PayloadLength, Trunk, TrunkEvent};
use skyhop_transport::tcp::{self, Connection, State};
use skyhop_units::{Span, Time};
use std::net::SocketAddrV4;

const MEMORY: u64 = 4 << 20;
const STEP: Span = Span::from_millis(1);

struct Path {
    now: Time,
    client: Connection,
    server: Connection,
    ends: [GatewayEnd; 2],
    trunks: [Trunk<PayloadLength>; 2],
    events: [Vec<EndEvent>; 2],
    /// False if the server's packets are lost.
    server_answers: bool,
    /// Bytes that client and server have read.
    read: [u64; 2],
}

impl Path {
    fn new() -> Self {
        let addresses: [SocketAddrV4; 2] = ["10.0.0.1:49152", "10.0.0.2:80"].map(|a| a.parse().unwrap());
        let [client, server] = addresses;
        let tcp = tcp::Config { window: 60_000, ..tcp::Config::default() };
        let end = |role, initial| {
            let config = EndConfig {
                role,
                tcp: Box::new(tcp.clone()),
                addresses,
                initial,
                preamble: 18,
                memory: MEMORY,
                give_up: Span::from_secs(30),
            };
            GatewayEnd::new(config, Seed(1).stream("end"))
        };
        let stp = stp::Config { window: MEMORY, ..stp::Config::default() };
        let ports = |local_port, remote_port| Ends { local_port, remote_port, instance: 1, count: 1 };
        Path {
            now: Time::ZERO + STEP,
            client: Connection::connect(tcp.clone(), client, server, 1),
            server: Connection::listen(tcp.clone(), server, client, 2),
            ends: [end(EndRole::Opener, 3), end(EndRole::Acceptor, 4)],
            trunks: [
                Trunk::connect(stp.clone(), budgets(MEMORY, 100), ports(49_152, 57_824), 5),
                Trunk::listen(stp, budgets(MEMORY, 100), ports(57_824, 49_152), 6),
            ],
            events: Default::default(),
            server_answers: true,
            read: [0; 2],
        }
    }

    fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.now < until {
            self.now += STEP;
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now;
        for end in [&mut self.client, &mut self.server] {
            end.handle_timeout(now);
        }
        self.read[0] += self.client.read();
        self.read[1] += self.server.read();
        while let Some(packet) = self.client.poll_transmit(now) {
            self.ends[0].handle_packet(now, &packet);
        }
        while let Some(packet) = self.server.poll_transmit(now) {
            if self.server_answers {
                self.ends[1].handle_packet(now, &packet);
            }
        }
        for own in [0, 1] {
            self.trunks[own].handle_timeout(now);
            while let Some(packet) = self.trunks[own].poll_transmit(now) {
                self.trunks[1 - own].handle_packet(now, &packet);
            }
        }
        for own in [0, 1] {
            let (end, trunk) = (&mut self.ends[own], &mut self.trunks[own]);
            while let Some(event) = trunk.poll_event() {
                match event {
                    TrunkEvent::Opened(id) => end.set_stream(trunk, id),
                    TrunkEvent::PeerFinished(_) => end.handle_finished(),
                    TrunkEvent::Reset(..) => end.handle_reset(),
                    _ => {}
                }
            }
            end.handle_timeout(now);
            end.pump(trunk, [unsent_max(MEMORY, 1), u64::MAX], [u64::MAX; 2]);
            if end.wants_stream() {
                let id = trunk.open(Class::default()).expect("room for a stream");
                end.set_stream(trunk, id);
                end.pump(trunk, [unsent_max(MEMORY, 1), u64::MAX], [u64::MAX; 2]);
            }
            while let Some(packet) = end.poll_transmit(now) {
                match own {
                    0 => self.client.handle_packet(now, &packet),
                    _ => self.server.handle_packet(now, &packet),
                }
            }
            self.events[own].extend(std::iter::from_fn(|| end.poll_event()));
        }
    }
}

#[test]
fn a_half_close_passes_and_the_answer_comes_behind_it() {
    let mut path = Path::new();
    path.client.write(1_000_000);
    path.client.shutdown();
    path.run(Span::from_secs(5));
    assert_eq!(path.read, [0, 1_000_000]);
    assert_eq!(path.server.state(), State::CloseWait, "the client has ended, and the server has not");
    assert!(path.ends.iter().all(|end| !end.is_over()));
    path.server.write(300_000);
    path.server.shutdown();
    path.run(Span::from_secs(5));
    assert_eq!(path.read, [300_000, 1_000_000]);
    assert!(path.client.fin_acknowledged() && path.server.fin_acknowledged());
    assert_eq!(path.ends.each_ref().map(GatewayEnd::carried), [[1_000_000, 300_000]; 2]);
    assert_eq!(path.events[0], [EndEvent::Connected, EndEvent::Bulk, EndEvent::Closed]);
    assert_eq!(path.events[1], [EndEvent::Connected, EndEvent::Closed]);
    assert!(path.trunks.iter().all(|trunk| trunk.streams() == 0), "the stream has ended at both ends");
}

#[test]
fn a_reset_of_either_end_reaches_the_other() {
    for server in [false, true] {
        let mut path = Path::new();
        path.client.write(5_000_000);
        path.run(Span::from_millis(300));
        let before = path.read[1];
        assert!((1..5_000_000).contains(&before), "{before}");
        if server {
            path.server.reset()
        } else {
            path.client.reset()
        }
        path.run(Span::from_secs(2));
        assert_eq!([path.client.state(), path.server.state()], [State::Closed; 2], "server: {server}");
        assert!(path.events.iter().all(|events| events.last() == Some(&EndEvent::Broken)));
        assert!(path.trunks.iter().all(|trunk| trunk.streams() == 0));
    }
}

#[test]
fn a_server_that_is_silent_breaks_the_connection_after_the_time_to_give_up() {
    let mut path = Path::new();
    path.server_answers = false;
    path.client.write(10_000);
    path.client.shutdown();
    path.run(Span::from_secs(29));
    assert!(path.ends.iter().all(|end| !end.is_over()), "not before 30 s");
    path.run(Span::from_secs(3));
    assert!(path.ends.iter().all(GatewayEnd::is_over));
    assert_eq!(path.client.state(), State::Closed, "reset");
    assert_eq!(path.read[1], 0);
}

#[test]
fn a_client_that_does_not_read_holds_no_more_than_the_memory() {
    let mut path = Path::new();
    path.run(Span::from_millis(100));
    path.server.write(50_000_000);
    // Its window closes: it reads nothing.
    let mut held = 0;
    for _ in 0..3_000 {
        path.now += STEP;
        let now = path.now;
        path.server.handle_timeout(now);
        while let Some(packet) = path.server.poll_transmit(now) {
            path.ends[1].handle_packet(now, &packet);
        }
        for own in [0, 1] {
            path.trunks[own].handle_timeout(now);
            while let Some(packet) = path.trunks[own].poll_transmit(now) {
                path.trunks[1 - own].handle_packet(now, &packet);
            }
            path.ends[own].pump(&mut path.trunks[own], [unsent_max(MEMORY, 1), u64::MAX], [u64::MAX; 2]);
            while let Some(packet) = path.ends[own].poll_transmit(now) {
                if own == 1 {
                    path.server.handle_packet(now, &packet);
                }
            }
            held = held.max(path.ends[own].held(Some(&path.trunks[own])).iter().sum::<u64>());
        }
    }
    assert!((1 << 20..=2 * MEMORY + (1 << 20)).contains(&held), "{held}");
}
