//! Connections whose client waits for the server's answer: from the held SYN to the kernel's socket.
//!
//! Follows docs/stp.md §16: the preamble and the answer are those of other connections; only data of the client cannot ride with them.
//! Leaves out which SYNs are held (`handshakes`), and the refusal's packet (`syn`).

use crate::dscp::Dscp;
use crate::fate::End;
use crate::flow::{Phase, SplitConnection};
use crate::gateway::Gateway;
use crate::handshakes::{Accepted, ClientAndServer};
use crate::kernel::KernelSocket;
use crate::poller_keys::FAR;
use crate::syn::{Syn, SynVerdict};
use crate::user::User;
use skyhop_splice::preamble::{Answer, Destination, Preamble};
use skyhop_units::{Span, Time};

/// Time for which an answered handshake may take: the client repeats its SYN and the kernel its answer.
const COMPLETION_MAX: Span = Span::from_secs(10);

impl Gateway {
    /// Begins the connection of a client's SYN, unless it has begun.
    pub fn hold(&mut self, now: Time, packet: &[u8]) {
        let Some(syn) = Syn::parse(packet) else { return };
        let user = User::of(syn.client.ip(), &self.core.config.users);
        if !self.has_room() || !self.handshakes.begins(&syn, user) {
            return;
        }
        let to = Destination::Address(syn.server);
        let marked = (syn.dscp != Dscp::default()).then_some(syn.dscp.number());
        let preamble = Preamble { source: Some(syn.client), dscp: marked, ..Preamble::to(to.clone()) };
        let mut flow = SplitConnection::held(now, Phase::Waiting(preamble), syn.client);
        (flow.destination, flow.class.dscp) = (Some(to), syn.dscp);
        if let Some(slot) = self.insert(now, flow) {
            self.handshakes.hold(slot, syn, user);
        }
    }

    /// Lets the kernel complete the client's handshake.
    pub(crate) fn complete(&mut self, now: Time, slot: usize, flow: &mut SplitConnection) {
        if let Some(pair) = held_pair(flow) {
            self.handshakes.answer(pair);
        }
        let until = now + COMPLETION_MAX;
        flow.phase = Phase::Completing(until);
        self.core.flows.set_timer(slot, Some(until));
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
        self.mark(&socket, self.core.config.dscp.back(flow.class.dscp));
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

    /// Informs the client of a connection that has ended before its handshake was completed.
    pub(crate) fn give_up_held(&mut self, now: Time, flow: &SplitConnection, end: End) {
        let Some(pair) = held_pair(flow) else { return };
        let verdict = match end {
            End::Refused(Answer::Refused) | End::Reset => Some(SynVerdict::Reset),
            End::Refused(Answer::Unreachable | Answer::NoSuchName) => Some(SynVerdict::Unreachable),
            End::Refused(Answer::Forbidden | Answer::OverQuota) => Some(SynVerdict::Prohibited),
            // A repeated SYN may find the server, room, or the firewall's rule for the time without an association.
            _ => None,
        };
        self.handshakes.give_up(now, pair, verdict);
    }
}

/// Client and server of a connection whose client has no socket yet.
fn held_pair(flow: &SplitConnection) -> Option<ClientAndServer> {
    match (&flow.socket, flow.opener, flow.client, &flow.destination) {
        (None, true, Some(client), Some(Destination::Address(server))) => Some((client, *server)),
        _ => None,
    }
}
