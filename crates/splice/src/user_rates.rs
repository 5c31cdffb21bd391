//! Highest rates of single users, in each direction of their connections.
//!
//! Follows the token bucket of RFC 2697 (without colours). A user's connections take turns, as in a round robin, so that none takes all.
//! Differs from a policer, which drops: what exceeds the rate is not read, so that the sender's own window stops it.
//! The rate is that of the data passed on here. Data that the far gateway sends for a slower user would take the link from others
//! until the memory for them is full, so a stream's credit is bounded by what the rate drains in two round trips.
//! Leaves out datagrams.

use skyhop_units::{Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bytes of a connection in one turn.
const TURN: u64 = 16 << 10;
/// The time at the rate that an idle user saves up.
const SAVED: f64 = 0.1;
/// Round trips of data at the rate that may be here or on their way: a lost packet is then repeated before the rest are drained.
const ROUND_TRIPS: f64 = 2.0;
/// The round trip where none is known, and the longest that counts.
const RTT_UNKNOWN: Span = Span::from_millis(600);
const RTT_MAX: Span = Span::from_secs(2);
/// Least credit of a user: some turns, of which one waits for its time and another for news of credit.
const WINDOW_MIN: f64 = 4.0 * TURN as f64;
/// The interval of searches for users who have been idle.
const SWEEP: Span = Span::from_secs(10);

/// A user, and a direction: 0 to servers, 1 from them.
type LineName<U> = (U, usize);

/// One direction of a user's connections.
#[derive(Debug)]
struct UserLine<C> {
    /// Bytes per second.
    rate: f64,
    /// Bytes that may pass, as of `at`.
    saved: f64,
    at: Time,
    /// The connections that wait for a turn, and the one that has it.
    waiting: VecDeque<C>,
    turn: Option<C>,
    due: Option<Time>,
}

impl<C> UserLine<C> {
    fn most(&self) -> f64 {
        (self.rate * SAVED).max(TURN as f64)
    }

    fn save_up(&mut self, now: Time) {
        self.saved = (self.saved + self.rate * now.since(self.at).as_secs_f64()).min(self.most());
        self.at = now;
    }

    /// Returns true if a line without a past would be equal to this one.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.turn.is_none() && self.saved >= self.most()
    }
}

/// The lines of all users who have a rate and are not idle. `U` names a user: an address. `C` names a connection: a number.
#[derive(Debug)]
pub struct UserLines<U, C> {
    lines: BTreeMap<LineName<U>, UserLine<C>>,
    due: BTreeSet<(Time, LineName<U>)>,
    swept_at: Time,
}

impl<U, C> Default for UserLines<U, C> {
    fn default() -> Self {
        Self { lines: BTreeMap::new(), due: BTreeSet::new(), swept_at: Time::default() }
    }
}

impl<U: Ord + Copy, C: PartialEq + Copy> UserLines<U, C> {
    /// Bytes that a connection may pass on now.
    pub fn allowed(&mut self, now: Time, name: LineName<U>, rate: Rate, slot: C) -> u64 {
        let rate = (rate.as_bps() as f64 / 8.0).max(1.0);
        let line = self.lines.entry(name).or_insert_with(|| UserLine {
            rate,
            saved: f64::INFINITY,
            at: now,
            waiting: VecDeque::new(),
            turn: None,
            due: None,
        });
        line.rate = rate;
        line.save_up(now);
        let its_turn = line.turn.map_or(line.waiting.is_empty(), |other| other == slot);
        if its_turn && line.saved >= TURN as f64 { TURN } else { 0 }
    }

    /// Bytes of a connection that may be here or on their way from a far gateway, `rtt` away: a part of its user's for each connection
    /// that has data, but a turn at least.
    pub fn window(&self, (user, way): LineName<U>, rate: Rate, rtt: Option<Span>, slot: C) -> u64 {
        let rtt = rtt.unwrap_or(RTT_UNKNOWN).min(RTT_MAX).as_secs_f64();
        let all = (rate.as_bps() as f64 / 8.0 * ROUND_TRIPS * (rtt + SAVED)).max(WINDOW_MIN);
        let with_data = self.lines.get(&(user, way)).map_or(1, |line| {
            let others = line.waiting.iter().chain(&line.turn).filter(|other| **other != slot);
            others.count() + 1
        });
        ((all / with_data as f64) as u64).max(TURN)
    }

    /// Counts what a connection has passed on, and gives it another turn later if it `wants` more.
    pub fn passed(&mut self, now: Time, name: LineName<U>, slot: C, bytes: u64, wants: bool) {
        let Some(line) = self.lines.get_mut(&name) else { return };
        line.saved -= bytes as f64;
        line.turn.take_if(|turn| *turn == slot);
        if wants && !line.waiting.contains(&slot) {
            line.waiting.push_back(slot);
        }
        self.arm(now, name);
    }

    /// Forgets a connection that has ended.
    pub fn forget(&mut self, now: Time, user: U, slot: C) {
        for name in [(user, 0), (user, 1)] {
            if let Some(line) = self.lines.get_mut(&name) {
                line.turn.take_if(|turn| *turn == slot);
                line.waiting.retain(|other| *other != slot);
                self.arm(now, name);
            }
        }
    }

    /// Sets the time of a line's next turn.
    fn arm(&mut self, now: Time, name: LineName<U>) {
        let Some(line) = self.lines.get_mut(&name) else { return };
        if line.due.is_some() || line.turn.is_some() || line.waiting.is_empty() {
            return;
        }
        let wait = (TURN as f64 - line.saved).max(0.0) / line.rate;
        // A microsecond more, so that it is not a few bytes too early.
        let at = now + Span::from_nanos((wait * 1e9) as u64 + 1000);
        line.due = Some(at);
        self.due.insert((at, name));
    }

    /// The next connection whose turn has come.
    pub fn take_due(&mut self, now: Time) -> Option<C> {
        self.sweep(now);
        while let Some((at, name)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, name));
            let Some(line) = self.lines.get_mut(&name) else { continue };
            line.due = None;
            line.save_up(now);
            if line.saved >= TURN as f64
                && line.turn.is_none()
                && let Some(slot) = line.waiting.pop_front()
            {
                line.turn = Some(slot);
                return Some(slot);
            }
            self.arm(now, name);
        }
        None
    }

    /// The time of the next turn.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    fn sweep(&mut self, now: Time) {
        if now.since(self.swept_at) >= SWEEP {
            self.swept_at = now;
            self.lines.retain(|_, line| {
                line.save_up(now);
                !line.is_idle()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    /// Connections of users, each with data without end, for `span`. Returns the bytes of each.
    fn run(lines: &mut UserLines<IpAddr, usize>, rate: Rate, flows: &[IpAddr], span: Span) -> Vec<u64> {
        let (begun, mut passed) = (Time::from_nanos(1), vec![0; flows.len()]);
        let mut now = begun;
        let mut turns: VecDeque<usize> = (0..flows.len()).collect();
        while now.since(begun) < span {
            turns.extend(std::iter::from_fn(|| lines.take_due(now)));
            while let Some(slot) = turns.pop_front() {
                let name = (flows[slot], 1);
                let allowed = lines.allowed(now, name, rate, slot);
                passed[slot] += allowed;
                lines.passed(now, name, slot, allowed, true);
            }
            now = lines.poll_timeout().expect("all want more");
        }
        passed
    }

    #[test]
    fn each_user_gets_the_rate_and_a_users_connections_share_it() {
        let [one, other] = [[10, 1, 0, 1], [10, 1, 0, 2]].map(IpAddr::from);
        for mbps in [0.1, 1.0, 50.0] {
            let rate = Rate::from_bps((mbps * 1e6) as u64).unwrap();
            let mut lines = UserLines::default();
            let passed = run(&mut lines, rate, &[one, one, one, one, other], Span::from_secs(20));
            let all = rate.as_bps() as f64 / 8.0 * 20.0;
            // The savings of an idle user, and a turn.
            let more = (rate.as_bps() as f64 / 8.0 * SAVED).max(TURN as f64) + TURN as f64;
            let of_one: u64 = passed[..4].iter().sum();
            for got in [of_one, passed[4]] {
                assert!((all * 0.999 - more..=all + more).contains(&(got as f64)), "{mbps}: {got} of {all}");
            }
            let (least, most) = (passed[..4].iter().min().unwrap(), passed[..4].iter().max().unwrap());
            assert!(most - least <= more as u64, "{mbps}: {passed:?}");
        }
    }

    #[test]
    fn the_credit_of_a_user_is_what_the_rate_drains_in_two_round_trips() {
        let (user, other) = ((IpAddr::from([10, 1, 0, 1]), 1), (IpAddr::from([10, 1, 0, 2]), 1));
        let [slow, fast] = [100_000, 8_000_000].map(|bps| Rate::from_bps(bps).unwrap());
        let mut lines = UserLines::default();
        let rtt = |ms| Some(Span::from_millis(ms));
        // A rate that is unknown here, or changed by a reload, counts from the next call on.
        assert_eq!(lines.window(user, fast, rtt(500), 0), 1_200_000);
        assert_eq!(lines.window(user, fast, None, 0), lines.window(user, fast, rtt(600), 0));
        assert_eq!(lines.window(user, fast, rtt(60_000), 0), lines.window(user, fast, rtt(2_000), 0));
        assert_eq!(lines.window(user, slow, rtt(500), 0), 64 << 10);
        let now = Time::from_nanos(1);
        for (number, slot) in [3, 4, 5].into_iter().enumerate() {
            assert_eq!(lines.window(user, fast, rtt(500), slot), 1_200_000 / (number as u64 + 1));
            let allowed = lines.allowed(now, user, fast, slot);
            lines.passed(now, user, slot, allowed, true);
        }
        assert_eq!(lines.window(user, fast, rtt(500), 4), 400_000, "one that waits counts once");
        assert_eq!(lines.window(user, slow, rtt(500), 6), TURN, "a turn at least");
        assert_eq!(lines.window(other, fast, rtt(500), 4), 1_200_000);
        lines.forget(now, user.0, 5);
        assert_eq!(lines.window(user, fast, rtt(500), 4), 600_000);
    }

    #[test]
    fn a_connection_that_ends_in_its_turn_gives_it_to_the_next() {
        let (user, rate) = (IpAddr::from([10, 1, 0, 1]), Rate::from_bps(1_000_000).unwrap());
        let mut lines = UserLines::default();
        let mut now = Time::from_nanos(1);
        for slot in [7, 8] {
            let allowed = lines.allowed(now, (user, 0), rate, slot);
            assert_eq!(allowed, if slot == 7 { TURN } else { 0 });
            lines.passed(now, (user, 0), slot, allowed, true);
        }
        now = lines.poll_timeout().unwrap();
        assert_eq!((lines.take_due(now), lines.take_due(now)), (Some(7), None));
        assert_eq!(lines.poll_timeout(), None, "its turn has begun");
        lines.forget(now, user, 7);
        now = lines.poll_timeout().unwrap();
        assert_eq!(lines.take_due(now), Some(8));
        // It has nothing to send.
        lines.passed(now, (user, 0), 8, 0, false);
        assert_eq!(lines.poll_timeout(), None);
        now += Span::from_secs(60);
        assert_eq!((lines.take_due(now), lines.lines.len()), (None, 0), "an idle user is forgotten");
    }
}
