//! A DNS cache: clients' queries to name servers, and answers kept for their time to live.
//!
//! Follows RFC 1035 §7 and RFC 2308; an answer is given only for queries to the server that it came from.
//! Differs from a resolver: it sends no queries of its own, and does not resolve from the root.
//! Leaves out sockets and streams: queries to be sent are returned to the caller.

use crate::dns_message::{answers, lifetime_s, normal, reply};
use skyhop_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// A server, and a query without its ID.
type DnsQuestion = (SocketAddr, Vec<u8>);

/// Limit of bytes in cached answers and queries.
const BYTES_MOST: usize = 8 << 20;
/// Limit of unanswered queries, and the time after which they are given up.
const OPEN_MOST: usize = 4096;
const OPEN: Span = Span::from_secs(10);
/// Limit of clients that wait for the same answer.
const ASKERS_MOST: usize = 64;

/// A client that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    pub client: SocketAddr,
    pub query: Vec<u8>,
}

#[derive(Debug)]
struct OpenQuestion {
    number: u16,
    since: Time,
    askers: Vec<Asker>,
}

#[derive(Debug)]
struct Kept {
    answer: Vec<u8>,
    since: Time,
    until: Time,
}

/// The handling of a query.
#[derive(Debug, PartialEq, Eq)]
pub enum QueryFate {
    /// The cached answer.
    Known(Vec<u8>),
    /// The query to be sent to the server.
    Ask(Vec<u8>),
    /// The same query has been sent, and its answer is awaited.
    Waits,
    /// The cache cannot handle this query.
    Other,
}

/// Counters of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DnsCounters {
    /// Queries answered from the cache.
    pub known: u64,
    /// Queries sent to a server.
    pub asked: u64,
}

/// The cache.
#[derive(Debug, Default)]
pub struct DnsCache {
    kept: BTreeMap<DnsQuestion, Kept>,
    ends: BTreeSet<(Time, DnsQuestion)>,
    bytes: usize,
    open: BTreeMap<DnsQuestion, OpenQuestion>,
    numbers: BTreeMap<(SocketAddr, u16), DnsQuestion>,
    next_number: u16,
    pub counters: DnsCounters,
}

impl DnsCache {
    /// Handles a client's query to a server.
    pub fn ask(&mut self, now: Time, client: SocketAddr, server: SocketAddr, query: &[u8]) -> QueryFate {
        self.expire(now);
        let Some(normal) = normal(query) else { return QueryFate::Other };
        let question = (server, normal);
        if let Some(kept) = self.kept.get(&question) {
            self.counters.known += 1;
            let age = now.since(kept.since).as_secs_f64() as u32;
            return QueryFate::Known(reply(&kept.answer, query, age));
        }
        let asker = Asker { client, query: query.to_vec() };
        if let Some(open) = self.open.get_mut(&question) {
            // A retransmitted query replaces the one before.
            open.askers.retain(|before| *before != asker);
            if open.askers.len() < ASKERS_MOST {
                open.askers.push(asker);
            }
            return QueryFate::Waits;
        }
        if self.open.len() >= OPEN_MOST {
            return QueryFate::Other;
        }
        while self.numbers.contains_key(&(server, self.next_number)) {
            self.next_number = self.next_number.wrapping_add(1);
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        self.counters.asked += 1;
        let message = [&number.to_be_bytes()[..], &question.1].concat();
        self.numbers.insert((server, number), question.clone());
        self.open.insert(question, OpenQuestion { number, since: now, askers: vec![asker] });
        QueryFate::Ask(message)
    }

    /// Handles a server's answer. Returns the replies to clients.
    pub fn answer(&mut self, now: Time, server: SocketAddr, message: &[u8]) -> Vec<(SocketAddr, Vec<u8>)> {
        let Some(number) = message.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes)) else {
            return Vec::new();
        };
        let Some(question) = self.numbers.get(&(server, number)) else { return Vec::new() };
        let asked = [&number.to_be_bytes()[..], &question.1].concat();
        if !answers(message, &asked) {
            return Vec::new();
        }
        let question = question.clone();
        self.numbers.remove(&(server, number));
        let Some(open) = self.open.remove(&question) else { return Vec::new() };
        if let Some(seconds) = lifetime_s(message) {
            let until = now + Span::from_secs(u64::from(seconds));
            self.keep(question, Kept { answer: message.to_vec(), since: now, until });
        }
        open.askers.into_iter().map(|asker| (asker.client, reply(message, &asker.query, 0))).collect()
    }

    /// Unanswered queries to a server, to be sent again.
    pub fn open_to(&self, server: SocketAddr) -> Vec<Vec<u8>> {
        let own = self.numbers.range((server, 0)..=(server, u16::MAX));
        own.map(|((_, number), question)| [&number.to_be_bytes()[..], &question.1].concat()).collect()
    }

    /// Drops the unanswered queries to a server, and returns their clients.
    pub fn give_up(&mut self, server: SocketAddr) -> Vec<Asker> {
        let own = self.numbers.range((server, 0)..=(server, u16::MAX));
        let questions: Vec<DnsQuestion> = own.map(|(_, question)| question.clone()).collect();
        self.numbers.retain(|(of, _), _| *of != server);
        questions
            .into_iter()
            .filter_map(|question| self.open.remove(&question))
            .flat_map(|open| open.askers)
            .collect()
    }

    /// The number of cached answers.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    fn keep(&mut self, question: DnsQuestion, kept: Kept) {
        self.bytes += question.1.len() + kept.answer.len();
        self.ends.insert((kept.until, question.clone()));
        self.kept.insert(question, kept);
        while self.bytes > BYTES_MOST {
            self.drop_first();
        }
    }

    /// Drops the answer that expires first.
    fn drop_first(&mut self) {
        if let Some((_, question)) = self.ends.pop_first()
            && let Some(kept) = self.kept.remove(&question)
        {
            self.bytes -= question.1.len() + kept.answer.len();
        }
    }

    fn expire(&mut self, now: Time) {
        while self.ends.first().is_some_and(|(until, _)| *until <= now) {
            self.drop_first();
        }
        let numbers = &mut self.numbers;
        self.open.retain(|question, open| {
            let waits = now.since(open.since) < OPEN;
            if !waits {
                numbers.remove(&(question.0, open.number));
            }
            waits
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns_message::tests::{answer, query};

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_question_goes_out_and_all_who_ask_get_the_answer() {
        let mut cache = DnsCache::default();
        let (server, other) = (address("9.9.9.9:53"), address("8.8.8.8:53"));
        let [one, two] = ["10.1.0.2:4000", "10.1.0.3:4000"].map(address);
        let QueryFate::Ask(sent) = cache.ask(at(0), one, server, &query(11, "a.example", None)) else {
            panic!()
        };
        assert_eq!(cache.ask(at(0), two, server, &query(22, "A.example", None)), QueryFate::Waits);
        assert_eq!(
            cache.ask(at(1), one, server, &query(11, "a.example", None)),
            QueryFate::Waits,
            "asked again"
        );
        let mut forged = answer(&sent, 1, 60);
        forged[0] ^= 1;
        assert!(cache.answer(at(1), server, &forged).is_empty(), "another number");
        assert!(cache.answer(at(1), other, &answer(&sent, 1, 60)).is_empty(), "another server");
        assert!(cache.answer(at(1), server, &sent).is_empty(), "a query");
        let got = cache.answer(at(1), server, &answer(&sent, 1, 60));
        let expected = [(two, query(22, "A.example", None)), (one, query(11, "a.example", None))];
        assert_eq!(got, expected.map(|(client, query)| (client, answer(&query, 1, 60))));
        assert!(cache.answer(at(1), server, &answer(&sent, 1, 60)).is_empty(), "once");
        let again = query(33, "a.example", None);
        assert_eq!(cache.ask(at(31), one, server, &again), QueryFate::Known(answer(&again, 1, 30)));
        assert!(
            matches!(cache.ask(at(31), one, other, &again), QueryFate::Ask(_)),
            "not what another server said"
        );
        assert!(matches!(cache.ask(at(61), one, server, &again), QueryFate::Ask(_)), "its time is over");
        assert_eq!(cache.counters, DnsCounters { known: 1, asked: 3 });
    }

    #[test]
    fn what_is_kept_and_what_is_open_is_bounded() {
        let mut cache = DnsCache::default();
        let (server, client) = (address("9.9.9.9:53"), address("10.1.0.2:4000"));
        for n in 0..20_000 {
            let asked = query(n as u16, &format!("name-{n}.example"), None);
            let QueryFate::Ask(sent) = cache.ask(at(0), client, server, &asked) else { panic!("{n}") };
            cache.answer(at(0), server, &answer(&sent, 30, 60 + n));
        }
        assert!(cache.bytes <= BYTES_MOST && cache.bytes > BYTES_MOST - 2_000 && cache.len() > 10_000);
        assert_eq!(cache.kept.len(), cache.ends.len());
        cache.ask(at(100_000), client, server, b"");
        assert_eq!((cache.len(), cache.bytes), (0, 0));
        for n in 0..2 * OPEN_MOST {
            cache.ask(at(100_000), client, server, &query(n as u16, &format!("open-{n}.example"), None));
        }
        assert_eq!((cache.open.len(), cache.numbers.len()), (OPEN_MOST, OPEN_MOST));
        assert_eq!(cache.open_to(server).len(), OPEN_MOST);
        cache.ask(at(100_011), client, server, &query(1, "new.example", None));
        assert_eq!((cache.open.len(), cache.numbers.len()), (1, 1));
        let asker = Asker { client, query: query(1, "new.example", None) };
        assert_eq!(cache.give_up(server), [asker]);
        assert_eq!((cache.open.len(), cache.numbers.len()), (0, 0));
    }
}
