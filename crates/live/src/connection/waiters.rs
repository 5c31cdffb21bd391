//! Tasks that wait for an event of a connection, or for an endpoint's next connection.
//!
//! Follows the contract of `std::task::Waker`: a task that polls twice is woken once.
//! Leaves out the order of waking.

use std::task::{Context, Waker};

/// Tasks that wait for the same event.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Vec<Waker>);

impl Waiters {
    pub fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn wake(&mut self) {
        for waker in self.0.drain(..) {
            waker.wake();
        }
    }
}
