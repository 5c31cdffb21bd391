//! A hub without terminals: both ends of a split connection are the kernel's TCP, and its users need no gateway.
//!
//! Follows HT figure 4.22 and HK section VI ("on the user side no gateway at all"): the hub's TCP towards the users has buffers and
//! congestion control for the satellite link, and servers have a short path to it.
//! Differs from a pair of gateways: the users' receive windows limit the data in flight, and their acknowledgments are unchanged. Only
//! what has not been sent counts as memory: what a client does not read stays unsent.
//! Leaves out shares of the link, which the kernel's connections settle by congestion control.

use crate::fate::{End, Fate};
use crate::flow::SplitConnection;
use crate::gateway::Gateway;
use crate::kernel::{KernelSocket, SocketTuning};
use crate::sides::KernelSide;
use crate::user_memory::NO_LINK;
use skyhop_splice::preamble::Destination;
use skyhop_units::Time;
use std::net::SocketAddr;

impl Gateway {
    /// Accepts a client's connection to `to`, which arrived over the satellite link.
    pub(crate) fn accept_alone(
        &mut self,
        now: Time,
        socket: KernelSocket,
        client: SocketAddr,
        to: SocketAddr,
    ) {
        let dscp = socket.dscp();
        self.mark(&socket, self.core.config.dscp.back(dscp));
        let mut flow = SplitConnection::intercepted(now, socket, client, to);
        flow.class.dscp = dscp;
        self.insert(now, flow);
    }

    /// Begins a client's connection to its server, once there is memory for another one of its user.
    pub(crate) fn connect_alone(
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

    /// Copies data between two sockets of the kernel.
    pub(crate) fn pump_alone(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        let most = self.users.allowed(now, slot, &flow.claims, &self.core.config.users);
        let before = flow.join.carried();
        let (Some(user), Some(server)) = (&mut flow.user, &mut flow.socket) else {
            return Fate::Over(End::Reset);
        };
        let [up, down] = &mut self.arenas;
        let mut client = KernelSide { socket: user, arena: up };
        let mut server = KernelSide { socket: server, arena: down };
        let progress = flow.join.pump(&mut client, &mut server, most);
        if client.socket.has_failed() || server.socket.has_failed() {
            return Fate::Over(End::Reset);
        }
        let full = !client.socket.writable;
        if let Some(user) = flow.claims.here {
            self.users.memory.unsent.set_full(user, &mut flow.claims.unsent, full);
        }
        let bytes = flow.carried_since(before);
        self.users.passed(now, slot, &flow.claims, &self.core.config.users, (bytes, most));
        self.fate(now, slot, flow, progress)
    }
}
