//! A browser and its server: pages of several files, requests and replies, think time.
//!
//! Follows HT 3.2.1: request, server time, replies of varying length, think time; RFC 1945 (a connection per file) and RFC 9112
//! §9.3 (persistent connections, pipelining).
//! Differs from HT: each file of a page is requested, the first one alone, since it names the others; and one host stands for all
//! servers, so that a change of server is a change of connections.
//! Leaves out contents, caches, name resolution, and connections that a server closes when idle.

use crate::{Action, AppNotice, Completion, Completions, Distribution, End};
use skyhop_chance::Stream;
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of a browser.
#[derive(Debug, Clone, PartialEq)]
pub struct Browsing {
    /// Length of a request, bytes.
    pub request: Distribution,
    /// Length of a reply, bytes.
    pub reply: Distribution,
    /// Number of files of a page.
    pub files: Distribution,
    /// Number of successive pages from one server, after which persistent connections are closed.
    pub stay: Distribution,
    /// Time from the end of a page to the next request, s.
    pub think: Distribution,
    /// Time from the arrival of a request to its reply, s.
    pub server_time: Distribution,
    /// Largest number of simultaneous connections for a page.
    pub connections: u32,
    /// True if a connection serves several files in succession.
    pub persistent: bool,
    /// True if the client closes its direction with the request; not with persistent connections.
    pub half_close: bool,
    /// True if a request is sent while replies are outstanding on the connection. Persistent connections only.
    pub pipelining: bool,
    /// Number of pages after which the browser stops; never if `None`.
    pub pages: Option<u64>,
}

/// A browser and its server.
#[derive(Debug)]
pub struct Web {
    does: Browsing,
    chance: Chance,
    page: Option<Page>,
    open: BTreeMap<u32, WebConnection>,
    opened: u32,
    /// Number of pages still to come from this server.
    stays: u64,
    think_until: Option<Time>,
    /// Replies in preparation: the time when each is ready, and its connection.
    working: BTreeMap<(Time, u64), (u32, u64)>,
    worked: u64,
    pages: u64,
    completions: Completions,
    stopped: bool,
    actions: VecDeque<Action>,
}

/// A stream for each quantity, so that another distribution of one does not change the draws of the others.
#[derive(Debug)]
struct Chance {
    request: Stream,
    reply: Stream,
    files: Stream,
    stay: Stream,
    think: Stream,
    server_time: Stream,
}

/// A request and its reply, bytes.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    request: u64,
    reply: u64,
}

/// A page in progress.
#[derive(Debug)]
struct Page {
    started: Time,
    /// Files that have not been requested.
    waiting: VecDeque<Exchange>,
    /// Number of files that have not arrived completely.
    left: u64,
    files: u32,
    bytes: u64,
    /// True if the first file, which names the others, has arrived.
    named: bool,
    failed: bool,
}

/// A connection in use.
#[derive(Debug, Default)]
struct WebConnection {
    /// Exchanges whose reply the client waits for.
    asked: VecDeque<Exchange>,
    /// Exchanges whose request the server has not read.
    coming: VecDeque<Exchange>,
    /// Bytes of the next request and of the next reply that have arrived.
    request_has: u64,
    reply_has: u64,
    /// Time of the last reply, as replies keep the order of their requests.
    last_ready: Time,
}

impl Web {
    /// A browser that draws from the streams returned by `stream`.
    pub fn new(does: Browsing, mut stream: impl FnMut(&str) -> Stream) -> Self {
        let chance = Chance {
            request: stream("request"),
            reply: stream("reply"),
            files: stream("files"),
            stay: stream("stay"),
            think: stream("think"),
            server_time: stream("server-time"),
        };
        Self {
            does,
            chance,
            page: None,
            open: BTreeMap::new(),
            opened: 0,
            stays: 0,
            think_until: None,
            working: BTreeMap::new(),
            worked: 0,
            pages: 0,
            completions: Completions::default(),
            stopped: false,
            actions: VecDeque::new(),
        }
    }

    /// The completed pages.
    pub fn completions(&self) -> &Completions {
        &self.completions
    }

    /// Number of connections opened.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.begin_page(now);
    }

    pub(crate) fn stop(&mut self, _: Time) {
        self.stopped = true;
        (self.think_until, self.page) = (None, None);
        self.working.clear();
        for connection in std::mem::take(&mut self.open).into_keys() {
            for end in [End::Client, End::Server] {
                self.actions.push_back(Action::StopWriting { connection, end });
            }
        }
    }

    fn begin_page(&mut self, now: Time) {
        if self.stays == 0 {
            self.stays = self.does.stay.draw_whole(&mut self.chance.stay);
            self.leave();
        }
        self.stays -= 1;
        self.completions.started += 1;
        // A limit on the files of a page: a distribution may have no largest value, but memory does.
        const MOST_FILES: u64 = 10_000;
        let files = self.does.files.draw_whole(&mut self.chance.files).min(MOST_FILES);
        let waiting = (0..files).map(|_| Exchange {
            request: self.does.request.draw_whole(&mut self.chance.request),
            reply: self.does.reply.draw_whole(&mut self.chance.reply),
        });
        self.page = Some(Page {
            started: now,
            waiting: waiting.collect(),
            left: files,
            files: files as u32,
            bytes: 0,
            named: false,
            failed: false,
        });
        self.ask();
    }

    /// Closes the connections to a server.
    fn leave(&mut self) {
        for connection in std::mem::take(&mut self.open).into_keys() {
            self.actions.push_back(Action::Shutdown { connection, end: End::Client });
        }
    }

    /// Requests as many files as there are connections for.
    fn ask(&mut self) {
        let Some(page) = &mut self.page else { return };
        while !page.waiting.is_empty() && (page.named || page.left == page.waiting.len() as u64) {
            let idle = self.open.iter().find(|(_, line)| line.asked.is_empty()).map(|(number, _)| *number);
            let connection = if let Some(idle) = idle {
                idle
            } else if self.open.len() < self.does.connections.max(1) as usize {
                let connection = self.opened;
                self.opened += 1;
                self.open.insert(connection, WebConnection::default());
                self.actions.push_back(Action::Open { connection });
                connection
            } else if self.does.persistent && self.does.pipelining {
                let shortest = self.open.iter().min_by_key(|(_, line)| line.asked.len());
                let Some((connection, _)) = shortest else { return };
                *connection
            } else {
                return;
            };
            let Some(exchange) = page.waiting.pop_front() else { return };
            let Some(line) = self.open.get_mut(&connection) else { return };
            line.asked.push_back(exchange);
            line.coming.push_back(exchange);
            self.actions.push_back(Action::Write { connection, end: End::Client, bytes: exchange.request });
            if self.does.half_close {
                self.actions.push_back(Action::Shutdown { connection, end: End::Client });
            }
        }
    }

    pub(crate) fn handle(&mut self, now: Time, notice: AppNotice) {
        match notice {
            // The server closes behind its reply.
            AppNotice::PeerFinished { end: End::Server, .. } if self.does.half_close => {}
            AppNotice::PeerFinished { connection, end } => {
                self.actions.push_back(Action::Shutdown { connection, end });
            }
            _ if self.stopped => {}
            AppNotice::Delivered { connection, end: End::Server, bytes } => {
                self.requested(now, connection, bytes)
            }
            AppNotice::Delivered { connection, end: End::Client, bytes } => {
                self.replied(now, connection, bytes)
            }
            AppNotice::Reset { connection, .. } => self.broken(now, connection),
            _ => {}
        }
    }

    /// Handles bytes of requests at the server.
    fn requested(&mut self, now: Time, connection: u32, bytes: u64) {
        let Some(line) = self.open.get_mut(&connection) else { return };
        line.request_has += bytes;
        let mut ready_now = Vec::new();
        while let Some(exchange) = line.coming.front().filter(|e| e.request <= line.request_has).copied() {
            line.request_has -= exchange.request;
            line.coming.pop_front();
            let wait = self.does.server_time.draw(&mut self.chance.server_time);
            line.last_ready = line.last_ready.max(now + span(wait));
            if line.last_ready <= now {
                ready_now.push(exchange.reply);
            } else {
                self.working.insert((line.last_ready, self.worked), (connection, exchange.reply));
                self.worked += 1;
            }
        }
        for reply in ready_now {
            self.reply(connection, reply);
        }
    }

    fn reply(&mut self, connection: u32, bytes: u64) {
        self.actions.push_back(Action::Write { connection, end: End::Server, bytes });
        if !self.does.persistent {
            self.actions.push_back(Action::Shutdown { connection, end: End::Server });
        }
    }

    /// Handles bytes of replies at the client.
    fn replied(&mut self, now: Time, connection: u32, bytes: u64) {
        let Some(line) = self.open.get_mut(&connection) else { return };
        line.reply_has += bytes;
        let mut done = false;
        while let Some(exchange) = line.asked.front().filter(|e| e.reply <= line.reply_has).copied() {
            line.reply_has -= exchange.reply;
            line.asked.pop_front();
            done = true;
            if let Some(page) = &mut self.page {
                page.left -= 1;
                page.bytes += exchange.reply;
                page.named = true;
            }
        }
        if done {
            if !self.does.persistent {
                self.open.remove(&connection);
            }
            self.go_on(now);
        }
    }

    /// Handles a reset: the outstanding replies of the connection will not come.
    fn broken(&mut self, now: Time, connection: u32) {
        let Some(line) = self.open.remove(&connection) else { return };
        self.working.retain(|_, (at, _)| *at != connection);
        if let Some(page) = self.page.as_mut().filter(|_| !line.asked.is_empty()) {
            page.failed = true;
            page.left -= line.asked.len() as u64;
            // Without its first file the other files of the page are unknown.
            if !page.named {
                page.waiting.clear();
                page.left = 0;
            }
            self.go_on(now);
        }
    }

    /// Completes the page, or requests more of it.
    fn go_on(&mut self, now: Time) {
        let Some(page) = self.page.take_if(|page| page.left == 0) else { return self.ask() };
        self.pages += 1;
        if page.failed {
            self.completions.failed += 1;
        } else {
            let took = now.since(page.started);
            let Page { started, bytes, files, .. } = page;
            self.completions.all.push(Completion { started, took, bytes, files });
        }
        if self.does.pages == Some(self.pages) {
            self.leave();
        } else {
            let think = self.does.think.draw(&mut self.chance.think);
            self.think_until = Some(now + span(think));
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        while let Some(entry) = self.working.first_entry().filter(|entry| entry.key().0 <= now) {
            let (connection, bytes) = entry.remove();
            self.reply(connection, bytes);
        }
        if self.think_until.take_if(|until| *until <= now).is_some() {
            self.begin_page(now);
        }
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn wants(&self) -> bool {
        !self.actions.is_empty() || self.poll_timeout().is_some()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let ready = self.working.first_key_value().map(|((at, _), _)| *at);
        [self.think_until, ready].into_iter().flatten().min()
    }

    pub(crate) fn finished(&self) -> bool {
        self.stopped || self.does.pages.is_some_and(|pages| self.pages >= pages)
    }
}

/// Drawn seconds as a span that can be added to any time.
pub(crate) fn span(seconds: f64) -> Span {
    const MOST_S: f64 = 1e9;
    Span::from_secs_f64(seconds.clamp(0.0, MOST_S))
}
