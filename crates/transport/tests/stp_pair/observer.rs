//! Observes both ends' packets and checks each against docs/stp.md.
//!
//! Follows §3.1 (combinations with POLL and END), §4, §6 and §7: credit, repeats of reported SDs only, correct reports.
//! Differs from the machines: keeps everything, knows what has arrived, and shares no code with them.
//! Leaves out sending times.

use super::net::pattern;
use super::plan::Plan;
use bytes::Bytes;
use skyhop_transport::stp::Packet;
use skyhop_units::Time;
use skyhop_wire::stp::Features;

/// An SD that has been sent.
struct Sent {
    /// Position of its data in the stream.
    offset: u64,
    len: usize,
    times: u64,
    /// Number of reports naming it that have reached its sender.
    named: u64,
    /// POLLs that its sender sent while it was the last.
    polls: u64,
    arrived: bool,
}

/// The data of one end and the other's reports on them.
#[derive(Default)]
struct Direction {
    first: u64,
    sent: Vec<Sent>,
    bytes: u64,
    /// The largest N(MR) that has reached the sender.
    edge: Option<u64>,
    /// Largest number that the sender could assume before.
    assumed: u64,
    last_poll: Option<u32>,
    polls_arrived: Vec<u32>,
    /// N(R) and N(MR) of the receiver's last report.
    said: (u64, u64),
    /// One past the last number, once an END has been sent.
    end: Option<u64>,
    most_payload: Option<usize>,
}

pub struct Observer {
    directions: [Direction; 2],
    copies: u64,
    /// True if the format is not the plain one.
    extended: bool,
    /// Number of repeated SDs.
    pub repeats: u64,
}

/// The number nearest to `near` with the bits `wire`.
fn number(wire: u32, near: u64) -> u64 {
    assert!(wire < 1 << 24);
    let base = near & !0xff_ffff;
    [base.wrapping_sub(1 << 24), base, base + (1 << 24)]
        .into_iter()
        .map(|b| b.wrapping_add(u64::from(wire)))
        .filter(|n| *n < 1 << 62)
        .min_by_key(|n| n.abs_diff(near))
        .expect("one of three")
}

impl Observer {
    pub fn new(plan: &Plan) -> Self {
        let direction = |end: usize| Direction {
            first: u64::from(plan.sides[end].initial),
            assumed: if end == 0 { plan.config.early_packets() } else { 0 },
            said: (0, 0),
            ..Direction::default()
        };
        Self {
            directions: [direction(0), direction(1)],
            copies: u64::from(plan.config.tail_copies),
            extended: plan.config.features != Features::PLAIN,
            repeats: 0,
        }
    }

    /// Returns true if an end's numbers have wrapped from 2^24-1 to 0.
    pub fn wrapped(&self) -> bool {
        self.directions.iter().any(|d| d.first + d.sent.len() as u64 > 1 << 24)
    }

    /// `from` sends a packet.
    pub fn sent(&mut self, from: usize, _now: Time, packet: &Packet<Bytes>) {
        self.data_sent(from, packet);
        self.reports_sent(from, packet);
    }

    fn data_sent(&mut self, from: usize, packet: &Packet<Bytes>) {
        let (copies, extended) = (self.copies, self.extended);
        let d = &mut self.directions[from];
        let next = d.first + d.sent.len() as u64;
        let n = number(packet.seq, next);
        let end = packet.control.as_ref().and_then(|c| c.end);
        if let Some(data) = &packet.data {
            assert!((d.first..=next).contains(&n), "SD {n} when {next} is next");
            if n == next {
                assert!(d.end.is_none(), "new data behind an END");
                let edge = d.edge.unwrap_or(d.first + d.assumed);
                assert!(n < edge, "SD {n} beyond the credit {edge}");
                assert!(d.most_payload.is_none_or(|most| data.len() <= most), "more than the peer takes");
                let (offset, len) = (d.bytes, data.len());
                d.sent.push(Sent { offset, len, times: 1, named: 0, polls: 0, arrived: false });
                d.bytes += data.len() as u64;
            } else {
                self.repeats += 1;
                assert!(packet.poll.is_none() && end.is_none(), "a POLL or END on an SD that is sent again");
                let sent = &mut d.sent[(n - d.first) as usize];
                sent.times += 1;
                // A copy of the last one may follow each POLL that is not answered.
                let doubts = if extended { sent.polls } else { 0 };
                assert!(
                    sent.times <= 1 + sent.named * (1 + copies) + doubts,
                    "SD {n} again, unasked: {} times, named {}",
                    sent.times,
                    sent.named
                );
                assert_eq!(sent.len, data.len(), "SD {n} has another length");
            }
            let sent = &d.sent[(n - d.first) as usize];
            assert!(
                data.iter().enumerate().all(|(i, b)| *b == pattern(from, sent.offset + i as u64)),
                "SD {n} has other data"
            );
        } else {
            assert_eq!(n, next, "without data, N(S) is that of the next new SD");
        }
        if let Some(stamp) = packet.poll {
            if let Some(last) = d.last_poll {
                assert!(stamp != last && stamp.wrapping_sub(last) < 1 << 31, "a POLL's time goes back");
            }
            d.last_poll = Some(stamp);
            if let Some(last) = d.sent.last_mut() {
                last.polls += 1;
            }
        }
        if end.is_some_and(|end| end.reason.number() == 0) {
            let behind = d.first + d.sent.len() as u64;
            assert!(d.end.is_none_or(|end| end == behind));
            d.end = Some(behind);
        }
    }

    fn reports_sent(&mut self, from: usize, packet: &Packet<Bytes>) {
        let d = &mut self.directions[1 - from];
        let Some(control) = packet.control.as_deref() else { return };
        let has = |d: &Direction, n: u64| {
            n >= d.first && d.sent.get((n - d.first) as usize).is_some_and(|sent| sent.arrived)
        };
        let lists = [
            control.stat.as_ref().map(|s| (s.next, s.credit, Some((s.from, s.upto, s.echo)), &s.gaps)),
            control.ustat.as_ref().map(|u| (u.next, u.credit, None, &u.gaps)),
        ];
        for (next, credit, list, gaps) in lists.into_iter().flatten() {
            let next = number(next, d.first + d.sent.len() as u64);
            assert!((d.first..next).all(|n| has(d, n)), "N(R) {next} is not true");
            let credit = number(credit, next);
            assert!(next >= d.said.0 && credit >= d.said.1, "N(R) or N(MR) goes back");
            assert!(credit >= next);
            d.said = (next, credit);
            let mut missing = Vec::new();
            for gap in gaps {
                let (start, end) = (number(gap.start, next), number(gap.end, next));
                assert!(next <= start && start < end && missing.last().is_none_or(|&(_, e)| e <= start));
                missing.push((start, end));
            }
            match list {
                Some((from, upto, echo)) => {
                    assert!(d.polls_arrived.contains(&echo), "the answer to a POLL that never came");
                    let (from, upto) = (number(from, next), number(upto, next));
                    assert!(next <= from && from <= upto);
                    let outside = |n: &u64| !missing.iter().any(|(s, e)| (s..e).contains(&n));
                    assert!(
                        (from..upto).filter(outside).all(|n| has(d, n)),
                        "a STAT claims what has not come"
                    );
                }
                None => {
                    assert!(!missing.is_empty(), "a USTAT names nothing");
                }
            }
        }
        if control.end_ack {
            let end = d.end.expect("an ENDAK answers an END");
            assert!((d.first..end).all(|n| has(d, n)), "an ENDAK before all has come");
        }
        for begin in control.begin.iter().chain(&control.begin_ack) {
            let me = &self.directions[from];
            assert_eq!(u64::from(begin.first), me.first & 0xff_ffff);
        }
    }

    /// An unaltered packet reaches `to`.
    pub fn arrived(&mut self, to: usize, packet: &Packet<Bytes>) {
        let d = &mut self.directions[1 - to];
        if packet.data.is_some() {
            let n = number(packet.seq, d.first + d.sent.len() as u64);
            d.sent[(n - d.first) as usize].arrived = true;
        }
        d.polls_arrived.extend(packet.poll);
        let Some(control) = packet.control.as_deref() else { return };
        let d = &mut self.directions[to];
        let here = d.first + d.sent.len() as u64;
        let learn = |d: &mut Direction, credit: u32, near: u64| {
            let credit = number(credit, near);
            d.edge = Some(d.edge.map_or(credit, |edge| edge.max(credit)));
        };
        if let Some(begin) = &control.begin {
            d.most_payload = Some(usize::from(begin.max_payload));
            let credit = d.first + u64::from(begin.credit);
            d.edge = Some(d.edge.map_or(credit, |edge| edge.max(credit)));
        }
        if let Some(begin) = &control.begin_ack {
            d.most_payload = Some(usize::from(begin.max_payload));
            learn(d, begin.credit, d.first);
        }
        let lists = [
            control.stat.as_ref().map(|s| (s.next, s.credit, &s.gaps)),
            control.ustat.as_ref().map(|u| (u.next, u.credit, &u.gaps)),
        ];
        for (next, credit, gaps) in lists.into_iter().flatten() {
            if d.most_payload.is_none() {
                // It has overtaken the BGNAK: an initiator has no number of the peer yet.
                continue;
            }
            let next = number(next, here);
            learn(d, credit, next);
            for gap in gaps {
                let (start, end) = (number(gap.start, next), number(gap.end, next));
                for n in start.max(d.first)..end {
                    if let Some(sent) = d.sent.get_mut((n - d.first) as usize) {
                        sent.named += 1;
                    }
                }
            }
        }
    }
}
