//! Limits of a sending end: one cause at each instant, and the time of each.
//!
//! Follows Linux's chronograph (`tcp_chrono_*`, after Bauer, Clark and Lehr): the time of a connection is divided among causes,
//! without gaps or overlaps.
//! Differs: Linux counts waits for the receive window and the send buffer, and calls all other time busy; here every instant from
//! the call to connect on has a cause. docs/results.md has the rules.
//! Leaves out the detection of a cause, which is each transport's, and the state of links, which the driver passes.

use skyhop_units::{Span, Time};

macro_rules! causes {
    ($($(#[$about:meta])+ $cause:ident = $name:literal,)+) => {
        /// Cause that limits a sending end.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Cause {
            $($(#[$about])+ $cause,)+
        }

        impl Cause {
            /// All causes, in the order in which results list them.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$cause),+];

            /// Number of causes.
            pub const COUNT: usize = [$($name),+].len();

            /// Its key in results.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$cause => $name,)+
                }
            }
        }
    };
}

causes! {
    /// The connection is not open yet.
    Handshake = "handshake",
    /// The application has no more data to send.
    Application = "application",
    /// The peer's receive window is used up.
    ReceiveWindow = "receive_window",
    /// The send buffer is full of unacknowledged data.
    SendBuffer = "send_buffer",
    /// The congestion window is used up.
    CongestionWindow = "congestion_window",
    /// The pace does not allow the next packet yet.
    Pacing = "pacing",
    /// Losses are being repaired, or the end waits for a timeout.
    Recovery = "recovery",
    /// The path is down.
    NoLink = "no_link",
}

/// State of a transport that may not send anything more at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldState {
    /// Limited by this cause.
    Held(Cause),
    /// Nothing to send and nothing in flight: the state of the path does not matter.
    Idle,
    /// The direction is closed, or the connection broken.
    Over,
}

/// The time of one sending end, by cause.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `None` unless counting was requested, so that an end which only receives does no work.
    state: Option<HoldState>,
    /// True if the path is down.
    out: bool,
    /// Time up to which causes have been counted.
    since: Time,
    spent: [Span; Cause::COUNT],
}

impl Default for Limits {
    fn default() -> Self {
        Self { state: None, out: false, since: Time::ZERO, spent: [Span::ZERO; Cause::COUNT] }
    }
}

impl Limits {
    /// Starts counting at the application's call to connect.
    pub(crate) fn begin(&mut self, now: Time) {
        if self.state.is_none() {
            (self.state, self.since) = (Some(HoldState::Held(Cause::Handshake)), now);
        }
    }

    /// Returns true if [`Limits::begin`] has been called.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.state.is_some()
    }

    /// Sets the limit from now on.
    #[inline]
    pub(crate) fn note(&mut self, now: Time, state: HoldState) {
        if self.state != Some(state) {
            self.change(now, state);
        }
    }

    #[inline(never)]
    fn change(&mut self, now: Time, state: HoldState) {
        if self.state.is_none() || self.state == Some(HoldState::Over) {
            return;
        }
        self.settle(now);
        self.state = Some(state);
    }

    /// Handles a retransmission timeout of `wait`: the silent part of it counts as waiting for the timer, which only the timeout
    /// reveals.
    pub(crate) fn timed_out(&mut self, now: Time, wait: Span) {
        match self.state {
            // A timeout of the SYN belongs to the handshake; with nothing in flight there is nothing to wait for.
            None | Some(HoldState::Over | HoldState::Idle | HoldState::Held(Cause::Handshake)) => return,
            Some(HoldState::Held(_)) => {}
        }
        let began = Time::from_nanos(now.as_nanos().saturating_sub(wait.as_nanos()));
        self.settle(if self.out { now } else { began.max(self.since) });
        self.state = Some(HoldState::Held(Cause::Recovery));
    }

    /// Informs that there is a path to the peer and back, or none.
    pub(crate) fn set_path_up(&mut self, now: Time, up: bool) {
        if self.out == up {
            self.settle(now);
            self.out = !up;
        }
    }

    /// Counts the time up to `to`.
    fn settle(&mut self, to: Time) {
        if let Some(cause) = self.cause() {
            self.spent[cause as usize] += to.since(self.since);
        }
        self.since = to;
    }

    /// The present limit; `None` before the sender begins and after it has ended.
    pub fn cause(&self) -> Option<Cause> {
        match self.state? {
            HoldState::Over => None,
            HoldState::Idle => Some(Cause::Application),
            HoldState::Held(_) if self.out => Some(Cause::NoLink),
            HoldState::Held(cause) => Some(cause),
        }
    }

    /// Time by cause up to `now`, in the order of [`Cause::ALL`]. The sum is the time since the call to connect, or until the end.
    pub fn spent(&self, now: Time) -> [Span; Cause::COUNT] {
        let mut up_to_now = *self;
        up_to_now.settle(now);
        up_to_now.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn begun() -> Limits {
        let mut limits = Limits::default();
        limits.begin(at(100));
        limits
    }

    /// Milliseconds by cause, without causes that have none.
    fn spent(limits: &Limits, now: u64) -> Vec<(Cause, u64)> {
        let spans = limits.spent(at(now)).map(|span| span.as_nanos() / 1_000_000);
        Cause::ALL.into_iter().zip(spans).filter(|(_, ms)| *ms > 0).collect()
    }

    #[test]
    fn each_instant_has_one_cause_from_the_call_to_connect_until_the_end() {
        let mut limits = begun();
        limits.note(at(700), HoldState::Held(CongestionWindow));
        limits.note(at(800), HoldState::Held(CongestionWindow));
        limits.note(at(1000), HoldState::Held(ReceiveWindow));
        limits.note(at(1500), HoldState::Idle);
        assert_eq!(
            spent(&limits, 1750),
            [(Handshake, 600), (Application, 250), (ReceiveWindow, 500), (CongestionWindow, 300)]
        );
        limits.note(at(2000), HoldState::Over);
        limits.note(at(2100), HoldState::Held(Pacing));
        let total: u64 = spent(&limits, 9000).iter().map(|(_, ms)| ms).sum();
        assert_eq!(total, 2000 - 100, "{:?}", spent(&limits, 9000));
    }

    #[test]
    fn an_end_that_nobody_asks_about_counts_nothing() {
        let mut limits = Limits::default();
        limits.note(at(5), HoldState::Held(Pacing));
        limits.set_path_up(at(6), false);
        limits.timed_out(at(7), Span::from_millis(1));
        assert_eq!((spent(&limits, 100), limits.cause()), (vec![], None));
    }

    #[test]
    fn a_path_that_is_out_comes_before_all_but_an_idle_sender() {
        let mut limits = begun();
        limits.note(at(200), HoldState::Held(CongestionWindow));
        limits.set_path_up(at(300), false);
        limits.set_path_up(at(310), false);
        limits.note(at(400), HoldState::Held(Recovery));
        limits.set_path_up(at(600), true);
        limits.note(at(900), HoldState::Idle);
        limits.set_path_up(at(1000), false);
        assert_eq!(
            spent(&limits, 2000),
            [(Handshake, 100), (Application, 1100), (CongestionWindow, 100), (Recovery, 300), (NoLink, 300)]
        );
    }

    #[test]
    fn silence_that_ends_with_a_timeout_was_waiting_for_it() {
        let mut limits = begun();
        limits.note(at(200), HoldState::Held(CongestionWindow));
        limits.timed_out(at(2000), Span::from_millis(500));
        assert_eq!(spent(&limits, 2100), [(Handshake, 100), (CongestionWindow, 1300), (Recovery, 600)]);
        // Later states and outages are not revised.
        let mut limits = begun();
        limits.note(at(200), HoldState::Held(CongestionWindow));
        limits.set_path_up(at(1000), false);
        limits.set_path_up(at(1800), true);
        limits.timed_out(at(2000), Span::from_secs(1));
        assert_eq!(
            spent(&limits, 2000),
            [(Handshake, 100), (CongestionWindow, 800), (Recovery, 200), (NoLink, 800)]
        );
        // A timeout during an outage.
        limits.set_path_up(at(2500), false);
        limits.timed_out(at(3000), Span::from_secs(1));
        limits.set_path_up(at(3500), true);
        assert_eq!(spent(&limits, 3600)[2..], [(Recovery, 200 + 500 + 100), (NoLink, 800 + 1000)]);
    }

    #[test]
    fn the_syns_timeout_belongs_to_the_handshake() {
        let mut limits = begun();
        limits.timed_out(at(3100), Span::from_secs(3));
        assert_eq!(spent(&limits, 4000), [(Handshake, 3900)]);
    }
}
