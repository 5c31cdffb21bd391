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
use crate::user_turns::allowed;
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
        if !self.takes_memory(now, slot, flow, (NO_LINK, user))? {
            return Ok(false);
        }
        let config = &self.core.config;
        flow.claims.unsent = self.unsent.limit(config.memory, user);
        let tuning = SocketTuning {
            congestion: config.congestion.as_deref(),
            buffer: config.memory / 4,
            unsent: flow.claims.unsent.bytes(),
            rate: config.rate,
        };
        if let Err(e) = flow.user.as_ref().map_or(Ok(()), |socket| socket.tune(&tuning)) {
            self.core.journal.say(format!("a connection towards users: {e}"));
        }
        self.connect(now, slot, flow, vec![to])
    }

    /// Takes a connection that has ended out of the unsent data.
    pub(crate) fn forget_unsent(&mut self, flow: &mut SplitConnection) {
        if let Some(user) = flow.claims.here {
            self.unsent.set_full(user, &mut flow.claims.unsent, false);
        }
    }

    /// Copies data between two sockets of the kernel.
    pub(crate) fn pump_alone(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        let most = allowed(&mut self.lines, &self.core.config, now, slot, flow);
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
            self.unsent.set_full(user, &mut flow.claims.unsent, full);
        }
        self.passed(now, slot, flow, most, before);
        self.fate(now, slot, flow, progress)
    }
}
