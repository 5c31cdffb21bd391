//! The turns of connections: the steps from a client's or a far gateway's first bytes to an open connection, and its data.
//!
//! Follows docs/stp.md §16, and HT figure 4.22 for a hub without terminals, which connects to servers on the clients' behalf.
//! Differs from threads with a connection each: a step that cannot go on returns, and an event or a timer gives the connection another
//! turn.
//! Leaves out the events (`gateway`).

use crate::config::Role;
use crate::fate::{End, Fate};
use crate::flow::{Phase, SplitConnection};
use crate::gateway::Gateway;
use crate::handshakes::COMPLETION_MAX;
use crate::kernel::SocketTuning;
use crate::peer_links::open_stream;
use crate::user_memory::NO_LINK;
use crate::user_shares::user_of;
use skyhop_splice::gateway::unsent_max;
use skyhop_splice::join::Progress;
use skyhop_splice::preamble::{Answer, Carries, Destination};
use skyhop_units::Time;
use std::net::SocketAddr;

/// Turns of connections before the association's socket is served again.
const TURNS: usize = 64;

impl Gateway {
    /// Gives connections their turns. Returns true if some are left.
    pub fn work(&mut self, now: Time) -> bool {
        while let Some((name, addresses)) = self.connector.found() {
            if let Some(slot) = self.core.flows.named(name) {
                self.resolved(now, slot, addresses);
            }
        }
        self.take_events(now);
        for _ in 0..TURNS {
            let Some(slot) = self.core.flows.next() else { return false };
            self.turn(now, slot);
        }
        self.take_events(now);
        self.core.flows.waiting() > 0
    }

    fn resolved(&mut self, now: Time, slot: usize, addresses: Vec<SocketAddr>) {
        let Some(mut flow) = self.core.flows.take(slot) else { return };
        match self.connector.resolved(now, slot, &mut flow, addresses, &mut self.core) {
            Ok(_) => {
                self.core.flows.put(slot, flow);
                self.core.flows.touch(slot);
            }
            Err(end) => self.finish(now, slot, flow, end),
        }
    }

    fn turn(&mut self, now: Time, slot: usize) {
        let Some(mut flow) = self.core.flows.take(slot) else { return };
        match self.step(now, slot, &mut flow) {
            Fate::Stays => self.core.flows.put(slot, flow),
            Fate::Again => {
                self.core.flows.put(slot, flow);
                self.core.flows.touch(slot);
            }
            Fate::Over(end) => self.finish(now, slot, flow, end),
        }
    }

    fn step(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        loop {
            let went_on = match &flow.phase {
                Phase::Asking(_) => self.ask(now, slot, flow),
                Phase::Waiting(_) if flow.opener => self.open(now, slot, flow),
                Phase::Waiting(_) => self.admit(now, slot, flow),
                Phase::Intercepted(to) => {
                    let to = *to;
                    self.connect_alone(now, slot, flow, to)
                }
                Phase::Opening => self.hear(now, slot, flow),
                Phase::Completing(until) if now >= *until => Err(End::Refused(Answer::TimedOut)),
                Phase::Completing(_) => Ok(false),
                Phase::Reading(_) => self.read_preamble(now, flow),
                Phase::Resolving => Ok(false),
                Phase::Connecting(_) => self.connector.connected(now, slot, flow, &mut self.core),
                Phase::Open => Ok(false),
            };
            match went_on {
                Ok(true) => {}
                Ok(false) => break,
                Err(end) => return Fate::Over(end),
            }
        }
        match flow.phase {
            Phase::Opening | Phase::Open if flow.socket.is_some() => self.pump(now, slot, flow),
            _ => Fate::Stays,
        }
    }

    /// Reads a program's request. Each of these steps returns true if the next can follow.
    fn ask(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let more = flow.read_request(now, &mut self.arenas[0])?;
        if !matches!(flow.phase, Phase::Asking(_)) {
            self.core.flows.set_timer(slot, None);
        }
        Ok(more)
    }

    /// Opens the stream of a client's connection.
    fn open(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let Phase::Waiting(preamble) = &flow.phase else { return Ok(false) };
        if let Some(answer) = self.users.refusal(&flow.claims, &self.core.config.users) {
            return Err(End::Refused(answer));
        }
        let role = self.core.config.role;
        let link = self.core.links.link_to(&preamble.destination, role);
        let link = link.ok_or(End::Refused(Answer::Unreachable))?;
        let from_hub = role == Role::Hub;
        let user = user_of(&preamble.destination, flow.client, from_hub, &self.core.config.users);
        if let Some(user) = user
            && !self.users.memory.admits(now, slot, flow, (link, user), &mut self.core)?
        {
            return Ok(false);
        }
        let Phase::Waiting(preamble) = &flow.phase else { return Ok(false) };
        let trunk = self.core.links.engine.trunk(link).ok_or(End::Refused(Answer::Unreachable))?;
        let Some(id) = open_stream(trunk, flow.class.with(&self.core.config.dscp), preamble) else {
            self.core.flows.wait_for_stream(slot);
            return Ok(false);
        };
        flow.stream = Some((link, id));
        flow.phase = Phase::Opening;
        self.core.flows.bind(slot, (link, id));
        self.core.flows.set_timer(slot, None);
        if let Some(user) = user {
            self.users.joins(flow, user, &mut self.core);
        }
        Ok(true)
    }

    /// Reads the far gateway's answer; a client whose handshake is held is let in.
    fn hear(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (link, _) = flow.stream.ok_or(End::Reset)?;
        let trunk = self.core.links.engine.trunk(link).ok_or(End::Lost)?;
        if !flow.read_answer(trunk)? {
            return Ok(false);
        }
        if flow.socket.is_none() {
            if let Some(pair) = flow.held_pair() {
                self.handshakes.answer(pair);
            }
            let until = now + COMPLETION_MAX;
            flow.phase = Phase::Completing(until);
            self.core.flows.set_timer(slot, Some(until));
            return Ok(false);
        }
        flow.reply(Answer::Connected);
        flow.phase = Phase::Open;
        Ok(true)
    }

    /// Reads the preamble of a stream that the far gateway has opened.
    fn read_preamble(&mut self, now: Time, flow: &mut SplitConnection) -> Result<bool, End> {
        let Some((link, id)) = flow.stream else { return Ok(false) };
        let trunk = self.core.links.engine.trunk(link).ok_or(End::Lost)?;
        let Some(preamble) = flow.read_preamble(now, trunk)? else { return Ok(false) };
        if self.core.links.peers.is_over_quota(link) {
            return Err(End::Answered(Answer::OverQuota));
        }
        if preamble.carries == Carries::Datagrams {
            self.udp.accept(now, (link, id), &preamble, &mut self.core)?;
            return Err(End::HandedOver);
        }
        // The count includes this connection.
        if self.core.flows.len() > self.core.connections_max() {
            return Err(End::Answered(Answer::Full));
        }
        flow.phase = Phase::Waiting(preamble);
        Ok(true)
    }

    /// Begins the connection to the server, once there is memory for another one of its user.
    fn admit(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Result<bool, End> {
        let (Some(destination), Some((link, _))) = (flow.destination.clone(), flow.stream) else {
            return Ok(false);
        };
        let from_hub = self.core.config.role == Role::Terminal;
        if let Some(user) = user_of(&destination, flow.client, from_hub, &self.core.config.users) {
            if !self.users.memory.admits(now, slot, flow, (link, user), &mut self.core)? {
                return Ok(false);
            }
            self.users.memory.own(flow, user, &mut self.core);
        }
        self.connector.begin(now, slot, flow, destination, &mut self.core)
    }

    /// Begins a client's connection to its server, without a far gateway, once there is memory for another one of its user.
    fn connect_alone(
        &mut self,
        now: Time,
        slot: usize,
        flow: &mut SplitConnection,
        to: SocketAddr,
    ) -> Result<bool, End> {
        let Some(user) = flow.claims.here else { return Err(End::Reset) };
        if let Some(answer) = self.users.refusal(&flow.claims, &self.core.config.users) {
            return Err(End::Refused(answer));
        }
        if !self.users.memory.admits(now, slot, flow, (NO_LINK, user), &mut self.core)? {
            return Ok(false);
        }
        let config = &self.core.config;
        flow.claims.unsent = self.users.memory.unsent.limit(config.memory, user);
        let tuning = SocketTuning {
            congestion: config.congestion.as_deref(),
            buffer: config.memory / 4,
            unsent: flow.claims.unsent.bytes(),
            rate: config.rate,
        };
        if let Err(e) = flow.user.as_ref().map_or(Ok(()), |socket| socket.tune(&tuning)) {
            self.core.journal.say(format!("a connection towards users: {e}"));
        }
        self.connector.begin(now, slot, flow, Destination::Address(to), &mut self.core)
    }

    /// Copies as much as both ends and the user's rate can take.
    fn pump(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        let most = self.users.allowed(now, slot, &flow.claims, &self.core.config.users);
        let before = flow.join.carried();
        let pumped = match flow.user {
            Some(_) => flow.pump_sockets(&mut self.arenas, most),
            None => self.pump_stream(slot, flow, most),
        };
        let progress = match pumped {
            Ok(progress) => progress,
            Err(end) => return Fate::Over(end),
        };
        if let (Some(client), Some(user)) = (&flow.user, flow.claims.here) {
            self.users.memory.unsent.set_full(user, &mut flow.claims.unsent, !client.writable);
        }
        let bytes = flow.carried_since(before);
        self.users.passed(now, slot, &flow.claims, &self.core.config.users, (bytes, most));
        match progress {
            Progress::Waits => Fate::Stays,
            Progress::More => Fate::Again,
            Progress::Closed => Fate::Over(End::Closed),
            Progress::Broken(_) => Fate::Over(End::Reset),
            Progress::WaitsForAcknowledgment => {
                self.core.flows.set_timer(slot, Some(now + flow.checks.next_pause()));
                Fate::Stays
            }
        }
    }

    fn pump_stream(
        &mut self,
        slot: usize,
        flow: &mut SplitConnection,
        most: [u64; 2],
    ) -> Result<Progress, End> {
        let (link, _) = flow.stream.ok_or(End::Reset)?;
        let unsent_max = unsent_max(self.core.config.memory, self.core.flows.len() as u64);
        let trunk = self.core.links.engine.trunk(link).ok_or(End::Lost)?;
        let window = self.users.window(slot, &flow.claims, &self.core.config.users, trunk.srtt());
        let table = &self.core.config.dscp;
        flow.pump_stream(trunk, &mut self.arenas[0], most, (unsent_max, window), table)
    }
}
