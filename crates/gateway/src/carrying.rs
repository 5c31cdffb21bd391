//! A connection's data in its turn: between its socket and its stream, or between the two sockets of a hub without terminals.
//!
//! Follows HT figure 4.22 and HK section VI ("on the user side no gateway at all") for two sockets: the hub's TCP towards the users has
//! buffers and congestion control for the satellite link, and servers have a short path to it.
//! Differs there from a pair of gateways: the users' receive windows limit the data in flight, and their acknowledgments are unchanged.
//! Only what has not been sent counts as memory (`unsent`): what a client does not read stays unsent.
//! Leaves out shares of the link: the association divides it, or the congestion control of the kernel's connections.

use crate::dscp::DscpTable;
use crate::fate::End;
use crate::flow::{Phase, SplitConnection};
use crate::sides::KernelSide;
use bytes::{Bytes, BytesMut};
use skyhop_splice::gateway::StreamSide;
use skyhop_splice::join::Progress;
use skyhop_transport::stp::Trunk;

impl SplitConnection {
    /// Copies data between the socket and the stream: at most `most` to the server and back, so that at most `unsent_max` wait to be sent
    /// and `window` may be here or on their way.
    pub fn pump_stream(
        &mut self,
        trunk: &mut Trunk<Bytes>,
        arena: &mut BytesMut,
        most: [u64; 2],
        (unsent_max, window): (u64, u64),
        table: &DscpTable,
    ) -> Result<Progress, End> {
        let (Some((_, id)), Some(socket)) = (self.stream, &mut self.socket) else { return Err(End::Reset) };
        let unanswered = matches!(self.phase, Phase::Opening);
        let (finished, opener) = (self.finished, self.opener);
        let mut kernel = KernelSide { socket, arena };
        let mut stream = StreamSide { trunk, id, unsent_max, finished, window, unanswered };
        let progress = if opener {
            self.join.pump(&mut kernel, &mut stream, most)
        } else {
            self.join.pump(&mut stream, &mut kernel, most)
        };
        if kernel.socket.has_failed() {
            return Err(End::Reset);
        }
        if opener && self.class.carried(self.join.carried().iter().sum()) {
            stream.trunk.prioritize(id, self.class.with(table));
        }
        Ok(progress)
    }

    /// Copies data between two sockets of the kernel, the client's and the server's.
    pub fn pump_sockets(&mut self, arenas: &mut [BytesMut; 2], most: [u64; 2]) -> Result<Progress, End> {
        let (Some(user), Some(server)) = (&mut self.user, &mut self.socket) else { return Err(End::Reset) };
        let [up, down] = arenas;
        let mut client = KernelSide { socket: user, arena: up };
        let mut server = KernelSide { socket: server, arena: down };
        let progress = self.join.pump(&mut client, &mut server, most);
        match client.socket.has_failed() || server.socket.has_failed() {
            true => Err(End::Reset),
            false => Ok(progress),
        }
    }
}
