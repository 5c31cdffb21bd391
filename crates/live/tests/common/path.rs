//! Two engines, a client and a server, and a path of 10 ms each way between them, in virtual time.
//!
//! Leaves out losses.

#![allow(dead_code, reason = "no test needs all of it")]

use crate::two;
use skyhop_live::batch::Batch;
use skyhop_live::engine::{Config, Engine, Event};
use skyhop_live::keys::Keys;
use skyhop_units::{Span, Time};
use skyhop_wire::Ecn;
use std::collections::VecDeque;
use std::net::SocketAddr;

pub struct Path {
    pub now: Time,
    pub ends: [Engine; 2],
    pub under_way: VecDeque<(Time, usize, Vec<u8>, Ecn)>,
    pub batch: Batch,
    pub packets: u64,
    /// Those among `packets` that are ECN-capable.
    pub capable: u64,
    /// True if the path erases the ECN field.
    pub erases: bool,
    pub events: [Vec<Event>; 2],
}

const DELAY: Span = Span::from_millis(10);

pub fn address(end: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, end as u8 + 1], 57_824))
}

impl Path {
    pub fn new(config: impl Fn(&mut Config)) -> Self {
        let (now, keys) = (Time::ZERO + Span::from_secs(1000), Keys::generate_shared());
        let end = |name: &str, accepts| {
            let mut of = Config::new(keys.clone());
            of.associations.accepts = accepts;
            config(&mut of);
            Engine::new(now, of, two::seeded(name))
        };
        Path {
            now,
            ends: [end("client", false), end("server", true)],
            under_way: VecDeque::new(),
            batch: Batch::new(1),
            packets: 0,
            capable: 0,
            erases: false,
            events: [Vec::new(), Vec::new()],
        }
    }

    pub fn drain(&mut self, end: usize) {
        loop {
            let more = self.ends[end].fill(self.now, &mut self.batch);
            while let Some(part) = self.batch.next().copied() {
                self.packets += 1;
                let packet = self.batch.buffer[part.start..part.end].to_vec();
                self.capable += u64::from(part.capable);
                let field = if part.capable && !self.erases { Ecn::Capable0 } else { Ecn::NotCapable };
                self.under_way.push_back((self.now + DELAY, 1 - end, packet, field));
                self.batch.advance();
            }
            if !more {
                break;
            }
        }
        self.events[end].extend(std::iter::from_fn(|| self.ends[end].poll_event()));
    }

    /// Lets time pass.
    pub fn run(&mut self, span: Span) {
        let until = self.now + span;
        loop {
            self.drain(0);
            self.drain(1);
            let arrival = self.under_way.front().map(|(at, ..)| *at);
            let timers = self.ends.iter().filter_map(Engine::poll_timeout);
            let Some(next) = timers.chain(arrival).min().filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            while let Some((_, to, mut packet, field)) =
                self.under_way.pop_front_if(|(at, ..)| *at <= self.now)
            {
                if self.ends[to].handle_datagram(self.now, (address(1 - to), None, field), &mut packet) {
                    self.drain(to);
                }
            }
            for end in &mut self.ends {
                if end.poll_timeout().is_some_and(|at| at <= self.now) {
                    end.handle_timeout(self.now);
                }
            }
        }
        self.now = until;
    }

    pub fn up(&mut self, end: usize) -> Vec<u32> {
        let ups = self.events[end].iter().filter_map(|event| match event {
            Event::Up { id, .. } => Some(*id),
            _ => None,
        });
        ups.collect()
    }
}
