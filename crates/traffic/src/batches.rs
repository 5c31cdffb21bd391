//! Requests in batches by the clock, pipelined over one persistent connection: an open loop.
//!
//! Follows Kota et al. 1999 §4.1: a batch for each document, whatever is outstanding; a server without processing time.
//! Differs: a connection that was reset is opened again with the next request.
//! Leaves out the contents: a request does not name its file.

use crate::web::span;
use crate::{Action, AppNotice, Completion, Completions, Distribution, End};
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// Parameters of a client and its server.
#[derive(Debug, Clone, PartialEq)]
pub struct Batching {
    /// Length of a request, bytes.
    pub request: Distribution,
    /// Length of a reply, bytes.
    pub reply: Distribution,
    /// Number of requests in a batch.
    pub requests: Distribution,
    /// Time between two requests of a batch, s.
    pub gap: Distribution,
    /// Time from the beginning of a batch to that of the next.
    pub every: Span,
    /// Number of batches; without end if `None`.
    pub count: Option<u64>,
}

/// A client and its server.
#[derive(Debug)]
pub struct Batches {
    does: Batching,
    request: Stream,
    reply: Stream,
    requests: Stream,
    gap: Stream,
    /// Time of the next request, and the number that are left of the batch with it.
    next: Option<(Time, u64)>,
    /// Beginning of the next batch.
    batch: Option<Time>,
    batches: u64,
    /// Number of the connection in use, if there is one.
    connection: Option<u32>,
    opened: u32,
    /// Exchanges whose request the server has not read, with the number of its bytes that have arrived.
    coming: VecDeque<BatchExchange>,
    request_has: u64,
    /// Exchanges whose reply the client waits for, with the number of bytes of the next that have arrived.
    asked: VecDeque<BatchExchange>,
    reply_has: u64,
    completions: Completions,
    actions: VecDeque<Action>,
}

#[derive(Debug, Clone, Copy)]
struct BatchExchange {
    started: Time,
    request: u64,
    reply: u64,
}

impl Batches {
    /// A client that draws from the streams returned by `stream`.
    pub fn new(does: Batching, mut stream: impl FnMut(&str) -> Stream) -> Self {
        Self {
            does,
            request: stream("request"),
            reply: stream("reply"),
            requests: stream("requests"),
            gap: stream("gap"),
            next: None,
            batch: None,
            batches: 0,
            connection: None,
            opened: 0,
            coming: VecDeque::new(),
            request_has: 0,
            asked: VecDeque::new(),
            reply_has: 0,
            completions: Completions::default(),
            actions: VecDeque::new(),
        }
    }

    /// The replies that have arrived whole.
    pub fn completions(&self) -> &Completions {
        &self.completions
    }

    /// Number of connections opened.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.batch = Some(now);
        self.handle_timeout(now);
    }

    pub(crate) fn stop(&mut self, _: Time) {
        (self.batch, self.next) = (None, None);
        self.coming.clear();
        self.asked.clear();
        if let Some(connection) = self.connection.take() {
            for end in [End::Client, End::Server] {
                self.actions.push_back(Action::StopWriting { connection, end });
            }
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        while let Some(at) = self.poll_timeout().filter(|at| *at <= now) {
            match self.next {
                Some((due, left)) if due == at => {
                    self.ask(due);
                    let gap = span(self.does.gap.draw(&mut self.gap));
                    self.next = (left > 1).then(|| (due + gap, left - 1));
                }
                _ => self.begin(at),
            }
        }
    }

    /// Begins a batch. One that is not over by then is cut short, so that batches keep to the clock.
    fn begin(&mut self, at: Time) {
        self.batches += 1;
        self.next = Some((at, self.does.requests.draw_whole(&mut self.requests)));
        let more = self.does.count.is_none_or(|count| self.batches < count);
        self.batch = more.then(|| at + self.does.every);
    }

    fn ask(&mut self, now: Time) {
        let connection = match self.connection {
            Some(connection) => connection,
            None => {
                let connection = self.opened;
                self.opened += 1;
                self.connection = Some(connection);
                self.actions.push_back(Action::Open { connection });
                connection
            }
        };
        self.completions.started += 1;
        let exchange = BatchExchange {
            started: now,
            request: self.does.request.draw_whole(&mut self.request),
            reply: self.does.reply.draw_whole(&mut self.reply),
        };
        self.coming.push_back(exchange);
        self.asked.push_back(exchange);
        self.actions.push_back(Action::Write { connection, end: End::Client, bytes: exchange.request });
    }

    pub(crate) fn handle(&mut self, now: Time, notice: AppNotice) {
        match notice {
            AppNotice::PeerFinished { connection, end } => {
                self.actions.push_back(Action::Shutdown { connection, end });
            }
            AppNotice::Delivered { connection, end, bytes } if self.connection == Some(connection) => {
                match end {
                    End::Server => self.requested(connection, bytes),
                    End::Client => self.replied(now, bytes),
                }
            }
            AppNotice::Reset { connection, .. } if self.connection == Some(connection) => {
                self.connection = None;
                self.completions.failed += self.asked.len() as u64;
                self.asked.clear();
                self.coming.clear();
                (self.request_has, self.reply_has) = (0, 0);
                self.leave_if_over();
            }
            _ => {}
        }
    }

    fn requested(&mut self, connection: u32, bytes: u64) {
        self.request_has += bytes;
        while let Some(exchange) = self.coming.pop_front_if(|exchange| exchange.request <= self.request_has) {
            self.request_has -= exchange.request;
            self.actions.push_back(Action::Write { connection, end: End::Server, bytes: exchange.reply });
        }
    }

    fn replied(&mut self, now: Time, bytes: u64) {
        self.reply_has += bytes;
        while let Some(exchange) = self.asked.pop_front_if(|exchange| exchange.reply <= self.reply_has) {
            self.reply_has -= exchange.reply;
            let BatchExchange { started, reply, .. } = exchange;
            let took = now.since(started);
            self.completions.all.push(Completion { started, took, bytes: reply, files: 1 });
        }
        self.leave_if_over();
    }

    /// Closes the connection when the last reply of the last batch has arrived.
    fn leave_if_over(&mut self) {
        if self.finished()
            && let Some(connection) = self.connection.take()
        {
            self.actions.push_back(Action::Shutdown { connection, end: End::Client });
        }
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn wants(&self) -> bool {
        !self.actions.is_empty() || self.poll_timeout().is_some()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        // A new batch replaces what is left of the one before.
        match (self.batch, self.next) {
            (Some(batch), Some((next, _))) => Some(batch.min(next)),
            (batch, next) => batch.or(next.map(|(at, _)| at)),
        }
    }

    pub(crate) fn finished(&self) -> bool {
        self.batch.is_none() && self.next.is_none() && self.asked.is_empty()
    }
}
