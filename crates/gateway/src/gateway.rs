//! A gateway: its machines, and the events that begin and end connections.
//!
//! Follows HT 4.3.1 and docs/stp.md §16: the client's data follow the preamble at once; FIN and RST are passed from end to end.
//! Differs from the simulated splice: the association acknowledges and retransmits for all of its streams.
//! Leaves out waiting and the clock (`daemon`), and the turns of connections (`turns`).

use crate::config::{Config, Role};
use crate::connector::Connector;
use crate::fate::End;
use crate::flow::{ASKING_MAX, Phase, SplitConnection};
use crate::gateway_core::GatewayCore;
use crate::handshakes::{Accepted, ClientAndServer, Handshakes, verdict_on};
use crate::kernel::KernelSocket;
use crate::memory_shortage::{FULL, MUCH, RELIEVED, most_holding};
use crate::poller_keys::FAR;
use crate::quotas::Quotas;
use crate::socks::Socks;
use crate::syn::Syn;
use crate::udp::UdpRelay;
use crate::user::User;
use crate::user_shares::UserShares;
use bytes::BytesMut;
use polling::Poller;
use skyhop_live::engine::Event;
use skyhop_splice::preamble::Destination;
use skyhop_transport::stp::TrunkEvent;
use skyhop_units::Time;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The gateway.
pub struct Gateway {
    pub core: GatewayCore,
    pub users: UserShares,
    pub(crate) connector: Connector,
    /// Handshakes of clients that wait for the server's answer.
    pub(crate) handshakes: Handshakes,
    /// Buffers into which sockets are read: one for each direction, if both ends are the kernel's.
    pub(crate) arenas: [BytesMut; 2],
    pub udp: UdpRelay,
}

impl Gateway {
    /// A gateway without connections.
    pub fn new(now: Time, config: Config, hub: Option<SocketAddr>, poller: Arc<Poller>) -> io::Result<Self> {
        let waker = poller.clone();
        Ok(Gateway {
            core: GatewayCore::new(now, config, hub, poller.clone()),
            users: UserShares::default(),
            connector: Connector::start(move || _ = waker.notify())?,
            handshakes: Handshakes::default(),
            arenas: [BytesMut::new(), BytesMut::new()],
            udp: UdpRelay::new(poller),
        })
    }

    /// Applies a new configuration; open connections stay, unless their terminal was removed.
    pub fn reload(&mut self, config: Config) {
        self.core.reload(config);
    }

    /// The usage that is kept in a file: a hub's is that of its terminals, that of other gateways is their users'.
    pub fn quotas(&self) -> &Quotas {
        if self.core.config.role == Role::Hub {
            &self.core.links.peers.quotas
        } else {
            &self.users.quotas.quotas
        }
    }

    pub fn quotas_mut(&mut self) -> &mut Quotas {
        if self.core.config.role == Role::Hub {
            &mut self.core.links.peers.quotas
        } else {
            &mut self.users.quotas.quotas
        }
    }

    /// Returns true if there is room for one more connection.
    pub fn has_room(&self) -> bool {
        self.core.flows.len() < self.core.connections_max()
            && !self.users.memory.unsent.is_used_up(self.core.config.memory)
    }

    /// Returns true if connections may be accepted: handshakes that were held have their room already.
    pub fn may_accept(&self) -> bool {
        self.has_room() || self.handshakes.len() > 0
    }

    /// Accepts a client's connection to `to`, intercepted or forwarded; without a far gateway it arrived over the satellite link.
    pub fn accept(
        &mut self,
        now: Time,
        socket: KernelSocket,
        client: SocketAddr,
        to: Destination,
        transparent: bool,
    ) {
        let dscp = socket.dscp();
        socket.mark(self.core.config.dscp.back(dscp));
        let flow = match (self.core.config.role, to) {
            (Role::Alone, Destination::Address(to)) => {
                SplitConnection::intercepted(now, socket, client, to, dscp)
            }
            (_, to) => {
                let flow = SplitConnection::forwarded(now, client, to, dscp, transparent);
                SplitConnection { socket: Some(socket), ..flow }
            }
        };
        self.insert(now, flow);
    }

    /// Accepts a program that will send its destination.
    pub fn accept_socks(&mut self, now: Time, socket: KernelSocket, client: SocketAddr) {
        let password = self.core.config.socks.as_ref().and_then(|(_, password)| password.clone());
        let flow = SplitConnection::asking(now, socket, client, Socks::new(password));
        if let Some(slot) = self.insert(now, flow) {
            self.core.flows.set_timer(slot, Some(now + ASKING_MAX));
        }
    }

    /// Begins the connection of a client's SYN, unless it has begun.
    pub fn hold(&mut self, now: Time, packet: &[u8]) {
        let Some(syn) = Syn::parse(packet) else { return };
        let user = User::of(syn.client.ip(), &self.core.config.users);
        if !self.has_room() || !self.handshakes.begins(&syn, user) {
            return;
        }
        let to = Destination::Address(syn.server);
        let flow = SplitConnection::forwarded(now, syn.client, to, syn.dscp, true);
        if let Some(slot) = self.insert(now, flow) {
            self.handshakes.hold(slot, syn, user);
        }
    }

    /// Takes the socket of a client whose handshake was held, and resets that of one whose connection has ended. Returns that of a new
    /// connection.
    pub fn take_held(
        &mut self,
        now: Time,
        socket: KernelSocket,
        pair: ClientAndServer,
    ) -> Option<KernelSocket> {
        let slot = match self.handshakes.accepted(pair) {
            Accepted::Held(slot) => slot,
            Accepted::Gone => return None,
            Accepted::New => return Some(socket),
        };
        let mut flow = self.core.flows.take(slot)?;
        socket.mark(self.core.config.dscp.back(flow.class.dscp));
        let watched = self.core.flows.watch(slot, FAR, &socket);
        flow.socket = Some(socket);
        if let Err(e) = watched {
            self.core.journal.say(format!("poller: {e}"));
            self.finish(now, slot, flow, End::Reset);
            return None;
        }
        flow.phase = Phase::Open;
        self.core.flows.set_timer(slot, None);
        self.core.flows.put(slot, flow);
        self.core.flows.touch(slot);
        None
    }

    fn insert(&mut self, now: Time, mut flow: SplitConnection) -> Option<usize> {
        self.core.journal.counters.opened += 1;
        self.users.opened(flow.client, &mut flow.claims, &self.core.config.users);
        let slot = self.core.flows.insert(flow);
        let flow = self.core.flows.take(slot)?;
        match self.core.flows.watch_all(slot, &flow) {
            Ok(()) => {
                self.core.flows.put(slot, flow);
                Some(slot)
            }
            Err(e) => {
                self.core.journal.say(format!("poller: {e}"));
                self.finish(now, slot, flow, End::Reset);
                None
            }
        }
    }

    /// Handles expired timers.
    pub fn handle_timeout(&mut self, now: Time) {
        self.core.links.handle_timeout(now, &mut self.core.journal);
        self.core.flows.handle_timeout(now);
        while let Some(slot) = self.users.take_due(now) {
            self.core.flows.touch(slot);
        }
        self.udp.sweep(now, &mut self.core);
        self.relieve_due(now);
        self.take_events(now);
    }

    /// Handles an event of a socket for datagrams.
    pub fn handle_datagrams(&mut self, now: Time, key: usize) {
        self.udp.handle_ready(now, key, &mut self.core);
    }

    /// The time of the next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        [
            self.core.links.poll_timeout(),
            self.core.flows.poll_timeout(),
            self.users.poll_timeout(),
            self.udp.flows.poll_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Resets connections that hold much of an association's memory, where it has been used up for long.
    fn relieve_due(&mut self, now: Time) {
        let engine = &self.core.links.engine;
        let holds = |link, eighths| engine.link(link).map(|link| link.trunk.holds_more_than(eighths));
        for link in self.users.shortage.search(now, holds) {
            self.relieve(now, link);
        }
    }

    fn relieve(&mut self, now: Time, link: u32) {
        let Some(trunk) = self.core.links.engine.trunk(link) else { return };
        let connections = self.core.flows.of_link(link).into_iter().filter_map(|slot| {
            let flow = self.core.flows.get(slot)?;
            Some((flow.claims.owner?, trunk.readable(flow.stream?.1), slot))
        });
        let most = most_holding(connections, |held| trunk.is_more_than(held, MUCH));
        let Some((user, slots)) = most else { return };
        for slot in slots {
            if !self.core.links.engine.trunk(link).is_some_and(|trunk| trunk.holds_more_than(RELIEVED)) {
                return;
            }
            let Some(flow) = self.core.flows.take(slot) else { continue };
            self.core.journal.reset_for_memory(user);
            self.finish(now, slot, flow, End::Reset);
        }
    }

    /// Ends a connection, and counts the cause.
    pub(crate) fn finish(&mut self, now: Time, slot: usize, mut flow: SplitConnection, end: End) {
        let [up, down] = flow.join.carried();
        self.core.journal.carried(flow.opener, [up, down]);
        self.core.flows.remove(slot, flow.stream);
        self.connector.ended(now, slot, &flow, &mut self.core.flows);
        if let Some(pair) = flow.held_pair() {
            self.handshakes.give_up(now, pair, verdict_on(end));
        }
        self.users.ended(now, slot, &mut flow, &mut self.core);
        if end == End::HandedOver {
            return;
        }
        if let Some(user) = flow.claims.here {
            self.core.journal.counters.users.add(user, [up, down]);
        }
        for socket in [&flow.socket, &flow.user].into_iter().flatten() {
            self.core.flows.unwatch(socket);
        }
        match end {
            End::Closed => {
                self.core.journal.counters.closed += 1;
                [flow.socket, flow.user].into_iter().flatten().for_each(KernelSocket::close);
                return;
            }
            End::HandedOver => return,
            End::Reset => self.core.journal.counters.reset += 1,
            End::Lost => self.core.journal.counters.lost += 1,
            End::Refused(answer) => {
                self.core.journal.refuse(answer, matches!(flow.phase, Phase::Opening));
                flow.refuse_program(answer);
            }
            End::Answered(answer) => {
                self.core.journal.counters.refuse(answer);
                if let Some(stream) = flow.stream {
                    self.core.links.refuse(now, stream, answer);
                }
                return;
            }
        }
        // Dropping the socket resets its connection.
        if let Some(stream) = flow.stream {
            self.core.links.reset(stream);
        }
    }

    /// Handles the events of associations.
    pub(crate) fn take_events(&mut self, now: Time) {
        while let Some(event) = self.core.links.engine.poll_event() {
            match event {
                Event::Up { id, peer, key } => {
                    if let Some(before) = self.core.links.up(now, id, (peer, key), &mut self.core.journal) {
                        self.lose(now, before);
                    }
                }
                Event::Down { id, reason } => self.down(now, id, &format!("{reason:?}")),
                Event::Failed { id, why } => self.down(now, id, &why.to_string()),
                Event::Stream(link, event) => self.handle_stream(now, link, event),
                Event::Moved { id, peer } => self.core.links.moved(id, peer, &mut self.core.journal),
                Event::Refused { from, reason } => {
                    self.core.journal.say(format!("{from}: refused: {reason}"));
                }
            }
        }
    }

    fn down(&mut self, now: Time, id: u32, why: &str) {
        self.core.links.down(now, id, self.core.config.role, why, &mut self.core.journal);
        self.lose(now, id);
    }

    /// Resets all connections of an association; those that wait for a stream of it try another.
    fn lose(&mut self, now: Time, link: u32) {
        for slot in self.core.flows.of_link(link) {
            if let Some(flow) = self.core.flows.take(slot) {
                self.finish(now, slot, flow, End::Lost);
            }
        }
        self.udp.lose(link, &mut self.core);
        self.core.flows.try_streams();
    }

    fn handle_stream(&mut self, now: Time, link: u32, event: TrunkEvent) {
        let id = match event {
            TrunkEvent::Opened(id) => {
                self.core.journal.counters.accepted += 1;
                let slot = self.core.flows.insert(SplitConnection::accepted(now, (link, id)));
                return self.core.flows.set_timer(slot, Some(now + ASKING_MAX));
            }
            TrunkEvent::MayOpen => return self.core.flows.try_streams(),
            TrunkEvent::Received(id, _) => {
                if self.core.links.engine.trunk(link).is_some_and(|trunk| trunk.holds_more_than(FULL)) {
                    self.users.shortage.begins(now, link);
                }
                id
            }
            TrunkEvent::AllAcknowledged(id)
            | TrunkEvent::Writable(id)
            | TrunkEvent::PeerFinished(id)
            | TrunkEvent::Reset(id, _) => id,
            TrunkEvent::Datagram => return self.udp.read(now, link, &mut self.core),
            TrunkEvent::Connected | TrunkEvent::Closed(_) | TrunkEvent::Ended(_) => return,
        };
        let Some(slot) = self.core.flows.of_stream((link, id)) else {
            return self.udp.handle_stream(now, (link, id), event, &mut self.core);
        };
        match event {
            TrunkEvent::Reset(..) => {
                if let Some(flow) = self.core.flows.take(slot) {
                    self.finish(now, slot, flow, End::Reset);
                }
            }
            TrunkEvent::PeerFinished(_) => self.core.flows.finish_stream(slot),
            _ => self.core.flows.touch(slot),
        }
    }
}
