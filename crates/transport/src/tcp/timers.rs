//! The timers of a connection, and which of them is due next.
//!
//! Follows the RFCs that each of them cites.
//! Differs from a kernel: each is a time in the machine to which it belongs, `None` when it does not run.
//! Leaves out keep-alives (RFC 9293 §3.8.4) and the user timeout (§3.8.3), which no flow uses.

use super::connection::Connection;
use skyhop_units::Time;

/// One of a connection's timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// Tail loss probe: two RTTs without an acknowledgment; a probe is sent in place of a timeout (RFC 8985 §7).
    TailLossProbe,
    /// Retransmission timeout: the oldest outstanding byte has not been acknowledged and is sent again (RFC 6298 §5).
    Retransmission,
    /// Persist timer: a byte probes a window that has been closed for long (RFC 9293 §3.8.6.1).
    Persist,
    /// Pace: the next packet may leave, or the host's own delay has passed.
    Pace,
    /// Reordering timer: a segment is so late that it is lost, and not only reordered (RFC 8985 §6.3).
    Reordering,
    /// Delayed acknowledgment: a single segment is acknowledged (RFC 9293 §3.8.6.3).
    DelayedAck,
    /// TIME-WAIT: no segment of the closed connection can arrive any more (RFC 9293 §3.6.1).
    TimeWait,
}

impl Timer {
    /// All timers.
    const ALL: [Self; 7] = [
        Self::TailLossProbe,
        Self::Retransmission,
        Self::Persist,
        Self::Pace,
        Self::Reordering,
        Self::DelayedAck,
        Self::TimeWait,
    ];
}

impl Connection {
    /// Expiry of a timer; `None` if it is not running.
    #[inline(always)]
    fn timer(&self, timer: Timer) -> Option<Time> {
        match timer {
            Timer::TailLossProbe => self.sender.clock.tail_loss_probe_at(),
            Timer::Retransmission => self.sender.clock.retransmission_at(),
            Timer::Persist => self.sender.clock.persist_at(),
            Timer::Pace => self.sender.pacer.hold_at,
            Timer::Reordering => self.sender.clock.reordering_at(),
            Timer::DelayedAck => self.receiver.acks.at,
            Timer::TimeWait => self.state.time_wait_until(),
        }
    }

    /// Time at which [`Connection::handle_timeout`] is due next: the earliest expiry of a timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        // Read after every packet: a timer that is off counts as the end of time, which needs no branches.
        let times = Timer::ALL.map(|timer| self.timer(timer).map_or(u64::MAX, Time::as_nanos));
        let first = times.into_iter().fold(u64::MAX, u64::min);
        (first != u64::MAX).then_some(Time::from_nanos(first))
    }

    /// Handles the timers that are due at [`Connection::poll_timeout`]. The tail loss probe comes first, since it postpones a
    /// timeout.
    pub fn handle_timeout(&mut self, now: Time) {
        self.serve(now, Timer::TailLossProbe);
        self.serve(now, Timer::Retransmission);
        self.serve(now, Timer::Persist);
        self.serve(now, Timer::Pace);
        self.serve(now, Timer::Reordering);
        self.serve(now, Timer::DelayedAck);
        self.serve(now, Timer::TimeWait);
    }

    #[inline(always)]
    fn serve(&mut self, now: Time, timer: Timer) {
        if self.timer(timer).is_none_or(|at| at > now) {
            return;
        }
        match timer {
            Timer::TailLossProbe => self.sender.clock.handle_probe_timer(now),
            Timer::Retransmission => {
                self.limits.timed_out(now, self.sender.clock.rto());
                self.sender.handle_timeout(now);
            }
            Timer::Persist => self.sender.clock.handle_persist(now),
            Timer::Pace => self.sender.pacer.handle_hold(),
            Timer::Reordering => self.sender.clock.handle_reorder_timer(now),
            Timer::DelayedAck => self.receiver.acks.stop_waiting(),
            Timer::TimeWait => self.state.end(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::super::state::State;
    use super::*;
    use skyhop_units::Span;
    use std::net::{Ipv4Addr, SocketAddrV4};

    /// The running timers, by time of expiry.
    fn running(end: &Connection) -> Vec<(Time, Timer)> {
        let mut all: Vec<_> = Timer::ALL.into_iter().filter_map(|t| Some((end.timer(t)?, t))).collect();
        all.sort_by_key(|(at, _)| *at);
        assert_eq!(end.poll_timeout(), all.first().map(|(at, _)| *at));
        all
    }

    #[test]
    fn the_timer_that_is_due_first_says_when_and_of_several_the_probe_of_the_tail_comes_first() {
        let at = |s| Time::ZERO + Span::from_secs(s);
        let [a, b] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let mut end = Connection::connect(Config::default(), a, b, 7);
        assert_eq!(running(&end), []);
        for (n, timer) in Timer::ALL.into_iter().enumerate().rev() {
            let expiry = at(10 + n as u64);
            let [retransmission, persist, probe, reordering] = end.sender.clock.timers();
            let slot = match timer {
                Timer::TailLossProbe => probe,
                Timer::Retransmission => retransmission,
                Timer::Persist => persist,
                Timer::Pace => &mut end.sender.pacer.hold_at,
                Timer::Reordering => reordering,
                Timer::DelayedAck => &mut end.receiver.acks.at,
                Timer::TimeWait => {
                    end.state.wait(expiry);
                    &mut None
                }
            };
            *slot = Some(expiry);
            assert_eq!((running(&end)[0], running(&end).len()), ((expiry, timer), 7 - n));
        }
        *end.sender.clock.timers()[0] = Some(at(10));
        end.handle_timeout(at(9));
        assert_eq!((running(&end).len(), end.receiver.acks.now), (7, false));
        // The probe postpones the retransmission timer (RFC 8985 §7.3), so that nothing has timed out.
        end.handle_timeout(at(100));
        assert_eq!((end.stats().timeouts, end.state()), (0, State::Closed));
        assert_eq!((end.receiver.acks.now, end.sender.pacer.released), (true, true));
        assert_eq!(running(&end)[0], (at(101), Timer::Retransmission));
    }
}
