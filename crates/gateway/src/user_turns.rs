//! The limits of a connection's user in its turn: rates, and quotas.
//!
//! Follows docs/gateway.md, "Priorities and shares"; the rule of the rates is `splice::user_rates`.
//! Leaves out memory and the number of connections (`user_memory`).

use crate::config::Config;
use crate::flow::SplitConnection;
use crate::gateway::Gateway;
use crate::user::User;
use skyhop_splice::user_rates::UserLines;
use skyhop_units::{Rate, Span, Time};

impl Gateway {
    /// Returns true if the user of a new connection has used up a quota.
    pub(crate) fn is_over_quota(&self, flow: &SplitConnection) -> bool {
        !self.core.config.users.is_empty()
            && flow.claims.here.is_some_and(|user| self.user_quotas.is_over(&self.core.config.users, user))
    }

    /// Counts what a connection of a user with a rate or a quota has passed on.
    pub(crate) fn passed(
        &mut self,
        now: Time,
        slot: usize,
        flow: &SplitConnection,
        most: [u64; 2],
        before: [u64; 2],
    ) {
        let Some(user) = flow.claims.here.filter(|_| !self.core.config.users.is_empty()) else { return };
        let bytes = [0, 1].map(|way| flow.join.carried()[way] - before[way]);
        if user.quota(&self.core.config.users).is_some() {
            self.user_quotas.passed(user, bytes.iter().sum());
        }
        for (way, most) in most.into_iter().enumerate().filter(|(_, most)| *most != u64::MAX) {
            self.lines.passed(now, (user, way), slot, bytes[way], bytes[way] >= most);
        }
    }
}

/// The rates of a connection's user, to the server and back.
fn rates_of(config: &Config, flow: &SplitConnection) -> Option<(User, [Option<Rate>; 2])> {
    let user = flow.claims.here.filter(|_| !config.users.is_empty())?;
    user.limits(&config.users).map(|limits| (user, limits.rates))
}

/// Bytes that a connection may pass on in its turn, to the server and back, by its user's rates.
pub(crate) fn allowed(
    lines: &mut UserLines<User, usize>,
    config: &Config,
    now: Time,
    slot: usize,
    flow: &SplitConnection,
) -> [u64; 2] {
    let Some((user, rates)) = rates_of(config, flow) else { return [u64::MAX; 2] };
    [0, 1].map(|way| rates[way].map_or(u64::MAX, |rate| lines.allowed(now, (user, way), rate, slot)))
}

/// Bytes of a connection's stream that may be here or on their way, by its user's rate from servers.
pub(crate) fn window(
    lines: &UserLines<User, usize>,
    config: &Config,
    slot: usize,
    flow: &SplitConnection,
    rtt: Option<Span>,
) -> u64 {
    let Some((user, [_, Some(rate)])) = rates_of(config, flow) else { return u64::MAX };
    lines.window((user, 1), rate, rtt, slot)
}
