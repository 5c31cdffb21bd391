//! The resources of a gateway that its users share, or have limits for: the link, connections, rates, quotas and memory.
//!
//! Follows docs/gateway.md, "Priorities and shares"; the rules of shares and rates are `splice::users` and `splice::user_rates`.
//! Differs from the parts that a connection has (`user_claims`): here are the sums, by user.
//! Leaves out datagrams.

use crate::flow::SplitConnection;
use crate::gateway_core::GatewayCore;
use crate::memory_shortage::MemoryShortage;
use crate::user::User;
use crate::user_claims::UserClaims;
use crate::user_connections::UserConnections;
use crate::user_limits::UserLimits;
use crate::user_memory::UserMemory;
use crate::user_quotas::UserQuotas;
use skyhop_splice::preamble::{Answer, Destination};
use skyhop_splice::user_rates::UserLines;
use skyhop_splice::users::Users;
use skyhop_units::{Rate, Span, Time};
use std::net::SocketAddr;

/// The user of a connection, if known: the terminal's end of it, whichever gateway opens it.
pub fn user_of(
    to: &Destination,
    client: Option<SocketAddr>,
    from_hub: bool,
    entries: &[UserLimits],
) -> Option<User> {
    let address = match to {
        Destination::Address(to) if from_hub => Some(to.ip()),
        _ => client.map(|client| client.ip()),
    };
    address.map(|address| User::of(address, entries))
}

/// The shares of all users.
#[derive(Debug, Default)]
pub struct UserShares {
    /// Users with connections in an association, and the weights of these.
    weights: Users<User>,
    /// Users who have a rate of their own.
    lines: UserLines<User, usize>,
    /// Users who have a quota of their own.
    pub quotas: UserQuotas,
    connections: UserConnections,
    pub memory: UserMemory,
    pub shortage: MemoryShortage,
}

impl UserShares {
    /// The number of users with connections in an association.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Counts a new connection as its user's, if its client is here.
    pub fn opened(&mut self, client: Option<SocketAddr>, claims: &mut UserClaims, entries: &[UserLimits]) {
        claims.here = client.map(|client| User::of(client.ip(), entries));
        if let Some(user) = claims.here {
            self.connections.opened(user);
        }
    }

    /// The answer to a new connection whose user has used up a quota, or has more connections than the file allows.
    pub fn refusal(&self, claims: &UserClaims, entries: &[UserLimits]) -> Option<Answer> {
        let user = claims.here.filter(|_| !entries.is_empty())?;
        if self.quotas.is_over(entries, user) {
            return Some(Answer::OverQuota);
        }
        let too_many = |limits: &UserLimits| self.connections.of(user) > limits.connections;
        user.limits(entries).is_some_and(too_many).then_some(Answer::Full)
    }

    /// Gives a connection whose stream was opened here a part of its user's share of the link and of the memory.
    pub fn joins(&mut self, flow: &mut SplitConnection, user: User, core: &mut GatewayCore) {
        let Some(stream) = flow.stream else { return };
        flow.claims.sharer = Some(user);
        self.memory.own(flow, user, core);
        let (weight, others) = self.weights.add(user, stream);
        flow.class.weight = weight;
        if let Some(trunk) = core.links.engine.trunk(stream.0) {
            trunk.prioritize(stream.1, flow.class.with(&core.config.dscp));
        }
        if others {
            self.share(user, stream.0, weight, core);
        }
    }

    /// Gives the parts of a connection that has ended back.
    pub fn ended(&mut self, now: Time, slot: usize, flow: &mut SplitConnection, core: &mut GatewayCore) {
        self.memory.ended(now, flow, core);
        if let Some(user) = flow.claims.here {
            self.connections.ended(user);
            self.lines.forget(now, user, slot);
        }
        if let (Some(user), Some(stream)) = (flow.claims.sharer, flow.stream)
            && let Some(weight) = self.weights.remove(user, stream)
        {
            self.share(user, stream.0, weight, core);
        }
    }

    /// Sets the weight of all connections of a user.
    fn share(&self, user: User, link: u32, weight: u8, core: &mut GatewayCore) {
        let Some(trunk) = core.links.engine.trunk(link) else { return };
        for stream in self.weights.streams(user, link) {
            let flow = core.flows.of_stream(stream).and_then(|slot| core.flows.get_mut(slot));
            let Some(flow) = flow else { continue };
            flow.class.weight = weight;
            trunk.prioritize(stream.1, flow.class.with(&core.config.dscp));
        }
    }

    /// The next connection whose turn by its user's rate has come.
    pub fn take_due(&mut self, now: Time) -> Option<usize> {
        self.lines.take_due(now)
    }

    /// The time of the next turn by a rate, or of the next search for connections that hold too much.
    pub fn poll_timeout(&self) -> Option<Time> {
        [self.lines.poll_timeout(), self.shortage.poll_timeout()].into_iter().flatten().min()
    }

    /// Bytes that a connection may pass on in its turn, to the server and back, by its user's rates.
    pub fn allowed(
        &mut self,
        now: Time,
        slot: usize,
        claims: &UserClaims,
        entries: &[UserLimits],
    ) -> [u64; 2] {
        let Some((user, rates)) = rates_of(claims, entries) else { return [u64::MAX; 2] };
        [0, 1].map(|way| rates[way].map_or(u64::MAX, |rate| self.lines.allowed(now, (user, way), rate, slot)))
    }

    /// Bytes of a connection's stream that may be here or on their way, by its user's rate from servers.
    pub fn window(&self, slot: usize, claims: &UserClaims, entries: &[UserLimits], rtt: Option<Span>) -> u64 {
        let Some((user, [_, Some(rate)])) = rates_of(claims, entries) else { return u64::MAX };
        self.lines.window((user, 1), rate, rtt, slot)
    }

    /// Counts the bytes that a connection of a user with a rate or a quota has passed on, out of `most`, to the server and back.
    pub fn passed(
        &mut self,
        now: Time,
        slot: usize,
        claims: &UserClaims,
        entries: &[UserLimits],
        (bytes, most): ([u64; 2], [u64; 2]),
    ) {
        let Some(user) = claims.here.filter(|_| !entries.is_empty()) else { return };
        if user.quota(entries).is_some() {
            self.quotas.passed(user, bytes.iter().sum());
        }
        for (way, most) in most.into_iter().enumerate().filter(|(_, most)| *most != u64::MAX) {
            self.lines.passed(now, (user, way), slot, bytes[way], bytes[way] >= most);
        }
    }
}

/// The rates of a connection's user, to the server and back.
fn rates_of(claims: &UserClaims, entries: &[UserLimits]) -> Option<(User, [Option<Rate>; 2])> {
    let user = claims.here.filter(|_| !entries.is_empty())?;
    user.limits(entries).map(|limits| (user, limits.rates))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quotas::Quota;

    #[test]
    fn the_user_is_at_the_terminals_end_whichever_gateway_opens() {
        let [user, server] = [[10, 1, 0, 2], [198, 51, 100, 7]].map(|ip| SocketAddr::from((ip, 80)));
        let from_user = Destination::Address(server);
        let name_of = |to: &Destination, client, from_hub| {
            user_of(to, client, from_hub, &[]).map(|user| user.to_string())
        };
        let its = Some(user.ip().to_string());
        assert_eq!(name_of(&from_user, Some(user), false), its);
        assert_eq!(name_of(&from_user, None, false), None);
        assert_eq!(name_of(&Destination::Address(user), Some(server), true), its);
        let name = Destination::Name("server".into(), 80);
        assert_eq!(name_of(&name, Some(user), false), its);
    }

    #[test]
    fn a_new_connection_is_refused_beyond_its_users_quota_or_number() {
        let quota = Some(Quota { bytes: 1000, period: Span::from_secs(100) });
        let entries = [UserLimits { addresses: Vec::new(), rates: [None; 2], quota, connections: 2 }];
        let mut shares = UserShares::default();
        let client = |last| Some(SocketAddr::from(([10, 1, 0, last], 4000)));
        let mut claims = [2, 2, 2, 3].map(|last| {
            let mut claims = UserClaims::default();
            shares.opened(client(last), &mut claims, &entries);
            claims
        });
        let refusals = |shares: &UserShares, claims: &[UserClaims; 4]| {
            [0, 3].map(|n| shares.refusal(&claims[n], &entries))
        };
        assert_eq!(refusals(&shares, &claims), [Some(Answer::Full), None]);
        shares.connections.ended(claims[2].here.expect("a user"));
        assert_eq!(refusals(&shares, &claims), [None, None]);
        shares.passed(Time::ZERO, 0, &claims[0], &entries, ([999, 1], [u64::MAX; 2]));
        assert_eq!(refusals(&shares, &claims), [Some(Answer::OverQuota), None]);
        assert_eq!(shares.refusal(&claims[0], &[]), None, "the file has no limits any more");
        shares.opened(None, &mut claims[0], &entries);
        assert_eq!(shares.refusal(&claims[0], &entries), None, "a client at the far end");
    }

    #[test]
    fn a_user_with_a_rate_is_told_how_much_may_pass() {
        let rate = Rate::from_bps(1_000_000);
        let limits = UserLimits { addresses: Vec::new(), rates: [None, rate], quota: None, connections: 9 };
        let (mut shares, mut claims, now) =
            (UserShares::default(), UserClaims::default(), Time::from_nanos(1));
        shares.opened(Some(SocketAddr::from(([10, 1, 0, 2], 4000))), &mut claims, &[]);
        assert_eq!(shares.allowed(now, 7, &claims, &[]), [u64::MAX; 2]);
        assert_eq!(shares.window(7, &claims, &[], None), u64::MAX);
        let entries = [limits];
        let most = shares.allowed(now, 7, &claims, &entries);
        assert!(most[0] == u64::MAX && (1..100_000).contains(&most[1]), "{most:?}");
        assert!(shares.window(7, &claims, &entries, None) < u64::MAX);
        assert_eq!(shares.poll_timeout(), None);
        shares.passed(now, 7, &claims, &entries, ([0, most[1]], most));
        let next = shares.poll_timeout().expect("a turn");
        assert_eq!([now, next].map(|at| shares.take_due(at)), [None, Some(7)]);
    }
}
