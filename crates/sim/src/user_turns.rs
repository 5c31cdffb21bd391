//! Rates of single users at a gateway in a run.
//!
//! Follows docs/gateway.md: a user's connections take turns at the user's rate, by the daemon's rule (`splice::user_rates`).
//! Differs from the daemon, whose users open all connections: here a user is the host on the gateway's own side, whichever end opens.
//! Leaves out datagrams and quotas.

use crate::gateway_joint::GatewayJoint;
use crate::ids::ConversationId;
use skyhop_splice::gateway_end::EndRole;
use skyhop_splice::user_rates::UserLines;
use skyhop_units::{Rate, Span, Time};
use std::net::Ipv4Addr;

/// A connection: its flow and conversation, and its leg at the gateway.
pub(crate) type Turned = ((u32, ConversationId), u8);

/// The lines of the users at one side of an association.
#[derive(Debug, Default)]
pub(crate) struct UserTurns {
    lines: UserLines<Ipv4Addr, Turned>,
}

impl GatewayJoint {
    /// The host on the gateway's own side.
    pub fn near(&self) -> Ipv4Addr {
        self.user[usize::from(self.role == EndRole::Acceptor)]
    }

    /// The line of a direction of the connection (0 from its client on): 0 from the user, 1 to the user.
    fn line(&self, way: usize) -> (Ipv4Addr, usize) {
        (self.near(), if self.role == EndRole::Opener { way } else { 1 - way })
    }

    /// The user's rate in a direction of the connection.
    fn rate(&self, way: usize) -> Option<Rate> {
        self.rates[self.line(way).1]
    }

    fn is_limited(&self) -> bool {
        self.rates.iter().any(Option::is_some)
    }
}

impl UserTurns {
    /// Bytes that a connection may pass on now, to its server and back.
    pub fn allowed(&mut self, now: Time, joint: &GatewayJoint, of: Turned) -> [u64; 2] {
        if joint.end.is_over() {
            return [u64::MAX; 2];
        }
        [0, 1].map(|way| match joint.rate(way) {
            Some(rate) => self.lines.allowed(now, joint.line(way), rate, of),
            None => u64::MAX,
        })
    }

    /// Bytes of a connection's stream that may be here or on their way.
    pub fn window(&self, joint: &GatewayJoint, of: Turned, rtt: Option<Span>) -> u64 {
        let from_stream = usize::from(joint.role == EndRole::Opener);
        let rate = joint.rate(from_stream);
        rate.map_or(u64::MAX, |rate| self.lines.window(joint.line(from_stream), rate, rtt, of))
    }

    /// Counts what a connection has passed on of what it was allowed, or forgets it if it has ended.
    pub fn passed(&mut self, now: Time, joint: &GatewayJoint, of: Turned, [most, bytes]: [[u64; 2]; 2]) {
        if !joint.is_limited() {
            return;
        }
        for way in (0..2).filter(|way| joint.rate(*way).is_some()) {
            self.lines.passed(now, joint.line(way), of, bytes[way], bytes[way] >= most[way]);
        }
        if joint.end.is_over() {
            self.forget(now, joint, of);
        }
    }

    /// Forgets a connection that has ended. Returns true if another may have the next turn.
    pub fn forget(&mut self, now: Time, joint: &GatewayJoint, of: Turned) -> bool {
        if joint.is_limited() {
            self.lines.forget(now, joint.near(), of);
        }
        joint.is_limited()
    }

    /// The next connection whose turn has come.
    pub fn take_due(&mut self, now: Time) -> Option<Turned> {
        self.lines.take_due(now)
    }

    /// The time of the next turn.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.lines.poll_timeout()
    }
}
