//! The milestones of a connection (its beginning, its ends, its failure), and the tasks that wait for them.
//!
//! Follows TCP: each direction ends by itself, a failure ends both, and data that came before either can still be read.
//! Differs: a task may also wait for the peer's first answer, and for its acknowledgment of all data and the end.
//! Leaves out the data and the room for them.

use super::failure::Failed;
use super::waiters::Waiters;
use std::io;
use std::task::{Context, Poll};

/// The milestones that a connection has passed, and the tasks that wait for others.
#[derive(Debug, Default)]
pub(crate) struct Milestones {
    connected: bool,
    peer_finished: bool,
    read_closed: bool,
    failed: Option<Failed>,
    /// Tasks that wait for data.
    readers: Waiters,
    /// Tasks that wait for room.
    writers: Waiters,
    /// Tasks that wait for the beginning, or for the acknowledgment of all.
    finishers: Waiters,
}

impl Milestones {
    /// Packets can be sent to the peer.
    pub fn opened(&mut self) {
        // Writers that waited for the connection to open may write now.
        self.writers.wake();
        self.finishers.wake();
    }

    /// The peer has answered.
    pub fn connected(&mut self) {
        self.connected = true;
        self.finishers.wake();
    }

    /// Data have come into order.
    pub fn received(&mut self) {
        self.readers.wake();
    }

    /// There is room for written data.
    pub fn made_room(&mut self) {
        self.writers.wake();
    }

    /// All data of the peer have come into order.
    pub fn peer_finished(&mut self) {
        self.peer_finished = true;
        self.readers.wake();
    }

    /// The peer has acknowledged all data, or the end.
    pub fn acknowledged(&mut self) {
        self.finishers.wake();
    }

    /// The application reads no more.
    pub fn close_reading(&mut self) {
        self.read_closed = true;
        self.readers.wake();
    }

    /// The connection has failed; a failure before this one has precedence.
    pub fn fail(&mut self, failed: Failed) {
        self.failed.get_or_insert(failed);
        self.readers.wake();
        self.writers.wake();
        self.finishers.wake();
    }

    pub fn is_connected(&self) -> bool {
        self.connected
    }

    pub fn is_read_closed(&self) -> bool {
        self.read_closed
    }

    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The failure, as an error of a call.
    pub fn error(&self) -> Option<io::Error> {
        self.failed.as_ref().map(Failed::error)
    }

    /// Ready when the peer has answered.
    pub fn poll_connected(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_done(cx, self.connected)
    }

    /// Ready if `done`; the task waits for the beginning, or for the acknowledgment of all.
    pub fn poll_done(&mut self, cx: &Context<'_>, done: bool) -> Poll<io::Result<()>> {
        if done { Poll::Ready(Ok(())) } else { wait(&self.failed, &mut self.finishers, cx) }
    }

    /// Ready if no more data will come, which a reader that has found none asks; the task waits for data.
    pub fn poll_end_of_data(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if self.peer_finished { Poll::Ready(Ok(())) } else { wait(&self.failed, &mut self.readers, cx) }
    }

    /// A task waits for room.
    pub fn wait_for_room(&mut self, cx: &Context<'_>) {
        self.writers.add(cx);
    }

    /// Returns true if tasks wait for room.
    pub fn has_writers(&self) -> bool {
        !self.writers.is_empty()
    }
}

/// A failed connection has nothing to wait for.
fn wait(failed: &Option<Failed>, waiters: &mut Waiters, cx: &Context<'_>) -> Poll<io::Result<()>> {
    if let Some(failed) = failed {
        return Poll::Ready(Err(failed.error()));
    }
    waiters.add(cx);
    Poll::Pending
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Wake, Waker};

    type Step = fn(&mut Milestones);

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of times that an event wakes a task which has called `wait`.
    fn woken(wait: impl FnOnce(&mut Milestones, &Context<'_>), event: impl FnOnce(&mut Milestones)) -> u32 {
        let task = Arc::new(Woken::default());
        let mut milestones = Milestones::default();
        wait(&mut milestones, &Context::from_waker(&Waker::from(task.clone())));
        event(&mut milestones);
        task.0.load(Ordering::Relaxed)
    }

    fn broken() -> Failed {
        Failed::new(io::ErrorKind::ConnectionReset, "broken")
    }

    #[test]
    fn each_task_is_woken_by_the_milestone_that_it_waits_for() {
        let read = |m: &mut Milestones, cx: &Context<'_>| assert!(m.poll_end_of_data(cx).is_pending());
        let write = |m: &mut Milestones, cx: &Context<'_>| m.wait_for_room(cx);
        let connect = |m: &mut Milestones, cx: &Context<'_>| assert!(m.poll_connected(cx).is_pending());
        let events: [(Step, [u32; 3]); 8] = [
            (Milestones::opened, [0, 1, 1]),
            (Milestones::connected, [0, 0, 1]),
            (Milestones::received, [1, 0, 0]),
            (Milestones::made_room, [0, 1, 0]),
            (Milestones::peer_finished, [1, 0, 0]),
            (Milestones::acknowledged, [0, 0, 1]),
            (Milestones::close_reading, [1, 0, 0]),
            (|milestones| milestones.fail(broken()), [1, 1, 1]),
        ];
        for (place, (event, expected)) in events.into_iter().enumerate() {
            let counts = [woken(read, event), woken(write, event), woken(connect, event)];
            assert_eq!(counts, expected, "event {place}");
        }
    }

    #[test]
    fn the_first_failure_counts_and_an_end_before_it_stands() {
        let cx = Context::from_waker(Waker::noop());
        let mut milestones = Milestones::default();
        milestones.peer_finished();
        milestones.fail(broken());
        milestones.fail(Failed::new(io::ErrorKind::TimedOut, "late"));
        assert_eq!(milestones.error().map(|error| error.kind()), Some(io::ErrorKind::ConnectionReset));
        assert!(matches!(milestones.poll_end_of_data(&cx), Poll::Ready(Ok(()))));
        assert!(matches!(milestones.poll_connected(&cx), Poll::Ready(Err(_))));
        milestones.connected();
        assert!(matches!(milestones.poll_connected(&cx), Poll::Ready(Ok(()))));
    }
}
