//! An end of a connection that is a stream of an association: the application's requests, and the events for it.
//!
//! Follows docs/stp.md §15.3: an application uses a stream as it uses a connection of version 1.
//! Differs from an end of a connection: packets, timers and windows belong to the association, and `association` moves requests and
//! events.
//! Leaves out the machine, [`skyhop_transport::stp::Trunk`].

use crate::told::Event;
use skyhop_transport::stp::Class;
use skyhop_transport::{Cause, Limits};
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// Parameters of a flow's connections that are streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamOf {
    /// Number of the association.
    pub association: u32,
    /// Side of the association at which the flow's client is.
    pub client: u8,
    pub class: Class,
}

/// State of the sending direction at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnding {
    /// The application may write more.
    Open,
    /// The application has written all data; the association does not know yet.
    Due,
    /// As above, and unsent data are to be withdrawn.
    Stopped,
    /// The association knows.
    Told,
}

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct StreamEnd {
    pub of: StreamOf,
    /// The association's side at which it is.
    pub side: u8,
    /// True if it opens the stream and has been asked to.
    pub asked: Option<bool>,
    /// Number of the stream, once this end knows it.
    pub id: Option<u64>,
    /// Bytes that the application has written and that have not been passed to the association.
    pub unwritten: u64,
    pub ending: StreamEnding,
    /// Bytes that have been passed to the association.
    pub written: u64,
    pub acknowledged: u64,
    pub delivered: u64,
    pub in_flight: u64,
    pub over: bool,
    pub held: Held,
    events: VecDeque<Event>,
}

impl StreamEnd {
    /// The end at `side`; the client's end requests the stream.
    pub fn new(of: StreamOf, client: bool) -> Self {
        Self {
            of,
            side: if client { of.client } else { 1 - of.client },
            asked: client.then_some(false),
            id: None,
            unwritten: 0,
            ending: StreamEnding::Open,
            written: 0,
            acknowledged: 0,
            delivered: 0,
            in_flight: 0,
            over: false,
            held: Held::default(),
            events: VecDeque::new(),
        }
    }

    pub fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub fn write(&mut self, bytes: u64) {
        if self.ending == StreamEnding::Open {
            self.unwritten += bytes;
        }
    }

    pub fn shutdown(&mut self) {
        if self.ending == StreamEnding::Open {
            self.ending = StreamEnding::Due;
        }
    }

    pub fn stop_writing(&mut self) {
        self.unwritten = 0;
        self.ending = StreamEnding::Stopped;
    }

    /// Returns true if this direction is closed, and the peer is not known to have all of its data.
    pub fn closing(&self) -> bool {
        self.ending != StreamEnding::Open && !self.over
    }
}

/// State of a stream's sending half: the event that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendPhase {
    /// Its number: the peer accepts no more streams yet, or the association is not open.
    Opening,
    /// Its opener.
    Listening,
    /// Its turn to send data.
    Sending,
    /// The arrival of sent data.
    Sent,
    /// Its application.
    Idle,
    /// Nothing: the stream is complete.
    Over,
}

/// The time of a stream's sending half by cause: while it has data to send, that of its association.
///
/// A stream that waits for its own credit while the association has nothing else to send is limited by the receiver.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// True if its causes are counted.
    pub counts: bool,
    phase: Option<SendPhase>,
    since: Time,
    /// The association's counters at that time.
    then: [Span; Cause::COUNT],
    pub spent: [Span; Cause::COUNT],
}

impl Held {
    /// Changes the awaited event at `now`; `limits` are the association's at this side.
    pub fn change(&mut self, now: Time, phase: SendPhase, limits: &Limits) {
        if self.counts && self.phase != Some(phase) && self.phase != Some(SendPhase::Over) {
            self.settle(now, limits);
            self.phase = Some(phase);
        }
    }

    /// Accounts for the time up to `now`.
    pub fn settle(&mut self, now: Time, limits: &Limits) {
        if !self.counts {
            return;
        }
        let all = limits.spent(now);
        if let Some(phase) = self.phase {
            self.add(phase, now.since(self.since), &all);
        }
        (self.since, self.then) = (now, all);
    }

    /// Attributes `passed` to causes: first those of the phase, by the association's change from `then` to `all`, then the
    /// remainder to one of them.
    fn add(&mut self, phase: SendPhase, passed: Span, all: &[Span; Cause::COUNT]) {
        let mut left = passed;
        let mut give = |cause: Cause, span: Span| {
            let span = span.min(left);
            left = left.saturating_sub(span);
            self.spent[cause as usize] += span;
        };
        let rest = match phase {
            SendPhase::Over => return,
            SendPhase::Idle => Cause::Application,
            SendPhase::Opening | SendPhase::Sending => Cause::ReceiveWindow,
            SendPhase::Sent => Cause::Application,
            SendPhase::Listening => Cause::Handshake,
        };
        let counts = |cause: Cause| match phase {
            SendPhase::Idle | SendPhase::Over => false,
            SendPhase::Opening => matches!(cause, Cause::Handshake | Cause::NoLink),
            SendPhase::Listening => cause == Cause::NoLink,
            SendPhase::Sending => cause != Cause::Application,
            SendPhase::Sent => matches!(cause, Cause::Recovery | Cause::NoLink),
        };
        // Time taken from one cause, when a timeout showed the true one, is in another.
        for cause in Cause::ALL.into_iter().filter(|cause| counts(*cause)) {
            give(cause, all[cause as usize].saturating_sub(self.then[cause as usize]));
        }
        give(rest, passed);
    }
}
