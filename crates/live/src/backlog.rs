//! Connections that wait until the application accepts them, and the counts of those refused because there was no place.
//!
//! Follows TCP's queue of connections to be accepted: while it is full, further ones are refused.
//! Differs: the more wait, the smaller is the receive window of the next one.
//! Leaves out the answer to a peer that is refused (`channels`).

use crate::connection::Waiters;
use crate::connections::Name;
use crate::fullness::{FullReason, RefusedConnections};
use skyhop_units::Time;
use std::collections::VecDeque;
use std::task::Context;

/// Number of connections from which many wait.
const MANY: usize = 16;
/// Receive window of a connection that the application has not accepted, bytes, and the same if many wait.
const WAITING_WINDOW: (u64, u64) = (1 << 20, 64 << 10);

/// The connections, in the order in which they are accepted.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// True if the application listens.
    open: bool,
    /// The one port at which it listens; `None` if its port is that of UDP, from which STP's may differ behind a port forwarding.
    port: Option<u16>,
    waiting: VecDeque<Name>,
    max: usize,
    accepters: Waiters,
    refused: RefusedConnections,
}

impl Backlog {
    /// A backlog of at most so many connections to this port, or to any, before the application listens.
    pub fn new(max: usize, port: Option<u16>) -> Self {
        let (waiting, accepters) = (VecDeque::new(), Waiters::default());
        Backlog { open: false, port, waiting, max, accepters, refused: RefusedConnections::default() }
    }

    /// The application listens from now on.
    pub fn open(&mut self) {
        self.open = true;
    }

    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns true if the application may listen at this port.
    pub fn is_at(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }

    /// The number of connections that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if no more may wait.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= self.max
    }

    /// Receive window of the next connection until it is accepted, bytes.
    pub fn window(&self) -> u64 {
        if self.waiting.len() < MANY { WAITING_WINDOW.0 } else { WAITING_WINDOW.1 }
    }

    /// Adds a connection, and wakes the tasks that wait for one. Returns false, and counts the connection as refused, if no more may wait.
    pub fn push(&mut self, name: Name) -> bool {
        if self.is_full() {
            self.refused.count(FullReason::Backlog);
            return false;
        }
        self.waiting.push_back(name);
        self.accepters.wake();
        true
    }

    /// The connection that has waited for longest.
    pub fn pop(&mut self) -> Option<Name> {
        self.waiting.pop_front()
    }

    /// Wakes this task when there is a connection, or will never be one.
    pub fn wait(&mut self, cx: &Context<'_>) {
        self.accepters.add(cx);
    }

    /// Wakes all tasks that wait.
    pub fn wake(&mut self) {
        self.accepters.wake();
    }

    /// Counts a connection that was refused. Returns true if the last notice of one was long ago.
    pub fn refuse(&mut self, now: Time, why: FullReason) -> bool {
        self.refused.count(why);
        self.refused.is_worth_a_notice(now)
    }

    /// Connections that were refused so far.
    pub fn refused(&self) -> RefusedConnections {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Wake, Waker};

    fn name(slot: usize) -> Name {
        Name { slot, generation: 1 }
    }

    #[test]
    fn connections_wait_in_order_and_one_too_many_is_counted_as_refused() {
        let mut backlog = Backlog::new(2, None);
        assert!(!backlog.is_open() && backlog.is_at(1) && backlog.is_at(2));
        backlog.open();
        assert!(backlog.is_open() && backlog.push(name(1)) && !backlog.is_full() && backlog.push(name(2)));
        assert!(backlog.is_full() && !backlog.push(name(3)));
        assert_eq!((backlog.len(), backlog.refused().backlog, backlog.refused().total()), (2, 1, 1));
        assert_eq!([backlog.pop(), backlog.pop(), backlog.pop()], [Some(name(1)), Some(name(2)), None]);
    }

    #[test]
    fn a_backlog_with_a_port_is_at_no_other() {
        let backlog = Backlog::new(1, Some(7));
        assert!(backlog.is_at(7) && !backlog.is_at(8));
    }

    #[test]
    fn the_window_is_smaller_if_many_wait() {
        let mut backlog = Backlog::new(128, None);
        assert!((0..MANY).all(|slot| backlog.window() == 1 << 20 && backlog.push(name(slot))));
        assert_eq!(backlog.window(), 64 << 10);
    }

    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_connection_wakes_a_task_that_waits_once() {
        let count = Arc::new(Count(AtomicU32::new(0)));
        let waker = Waker::from(count.clone());
        let mut backlog = Backlog::new(1, None);
        backlog.wait(&Context::from_waker(&waker));
        assert!(backlog.push(name(1)));
        assert!(!backlog.push(name(2)));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        backlog.wait(&Context::from_waker(&waker));
        backlog.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn every_refusal_is_counted_and_one_in_a_while_is_worth_a_notice() {
        let mut backlog = Backlog::new(1, None);
        assert!(backlog.refuse(Time::ZERO, FullReason::Memory));
        assert!(!backlog.refuse(Time::ZERO, FullReason::Association));
        let refused = backlog.refused();
        assert_eq!((refused.memory, refused.association, refused.total()), (1, 1, 2));
    }
}
