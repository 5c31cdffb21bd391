//! A hub without terminals: both ends of a split connection are the kernel's TCP, and its users need no gateway.
//!
//! Follows HT figure 4.22 and HK section VI ("on the user side no gateway at all"): the hub's TCP towards the users has buffers and
//! congestion control for the satellite link, and servers have a short path to it.
//! Differs from a pair of gateways: the users' receive windows limit the data in flight, and their acknowledgments are unchanged.
//! Leaves out shares of the link, which the kernel's connections settle by congestion control.

use crate::flow::SplitConnection;
use crate::gateway::{End, Fate, Gateway, allowed};
use crate::kernel::{KernelSocket, SocketTuning};
use crate::sides::KernelSide;
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
        let config = &self.config;
        let tuning = SocketTuning {
            congestion: config.congestion.as_deref(),
            buffer: config.memory / 4,
            rate: config.rate,
        };
        if let Err(e) = socket.tune(&tuning) {
            self.log.push_back(format!("a connection towards users: {e}"));
        }
        let dscp = socket.dscp();
        self.mark(&socket, self.config.dscp.back(dscp));
        let flow = SplitConnection { dscp, ..SplitConnection::intercepted(now, socket, client, to) };
        self.insert(now, flow);
    }

    /// Copies data between two sockets of the kernel.
    pub(crate) fn pump_alone(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) -> Fate {
        let most = allowed(&mut self.lines, &self.config, now, slot, flow);
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
        self.passed(now, slot, flow, most, before);
        self.fate(now, slot, flow, progress)
    }
}
