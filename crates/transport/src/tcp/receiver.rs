//! The receiving half: reassembly, selective and delayed acknowledgments, the window.
//!
//! Follows RFC 9293 §3.10.7, RFC 2018 §4 (choice and order of blocks), RFC 5681 §4.2 (times of acknowledgments), RFC 2883 (DSACK).
//! Differs: data that arrive in order are only counted; the window counts unread data.
//! Leaves out the tuning of the window (`receive_tuning`).

use super::acknowledger::Acknowledger;
use super::config::Config;
use super::receive_tuning::Tuning;
use super::scoreboard::Ranges;
use skyhop_units::{Span, Time};
use skyhop_wire::{MAX_SACK_BLOCKS, SackBlocks, wire_number};

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Next byte expected, counted from the peer's initial sequence number; the SYN is 0.
    pub rcv_nxt: u64,
    /// The peer's initial sequence number.
    pub irs: u32,
    window: u64,
    /// Tuning of the window, if it is not fixed.
    tuning: Option<Box<Tuning>>,
    mss: u64,
    unread: u64,
    /// One past the last byte that the peer has been allowed to send.
    announced: u64,
    out_of_order: Ranges,
    /// Sequence numbers of segments that arrived out of order, most recent first.
    recent: [u64; MAX_SACK_BLOCKS],
    fin_at: Option<u64>,
    /// True if a FIN in order is held back, unacknowledged.
    pub hold_fin: bool,
    pub acks: Acknowledger,
    /// True if acknowledgments or the window adapt.
    pub adapts: bool,
    /// True if duplicates are reported; `duplicate` is the next to report.
    dsack: bool,
    duplicate: Option<(u64, u64)>,
    /// Payload delivered in order.
    pub delivered: u64,
}

impl Receiver {
    pub fn new(config: &Config) -> Self {
        let (acks, tuning) = (Acknowledger::new(config), Tuning::new(config));
        Self {
            rcv_nxt: 0,
            irs: 0,
            window: config.window,
            adapts: acks.ato.is_some() || tuning.is_some(),
            acks,
            tuning,
            mss: config.mss as u64,
            unread: 0,
            announced: 0,
            out_of_order: Ranges::default(),
            recent: [u64::MAX; MAX_SACK_BLOCKS],
            fin_at: None,
            hold_fin: false,
            dsack: config.dsack,
            duplicate: None,
            delivered: 0,
        }
    }

    /// Starts with the peer's SYN.
    pub fn start(&mut self, irs: u32) {
        (self.irs, self.rcv_nxt, self.announced) = (irs, 1, 1 + self.window);
    }

    /// Returns true if any of [seq, seq + len) is within the window, or just after a full one: a FIN, or an acknowledgment that
    /// follows it. (§3.10.7.4 literally rejects all acknowledgments from a peer that has used up its window.)
    pub fn acceptable(&self, seq: u64, len: u64) -> bool {
        let edge = self.announced.max(self.rcv_nxt) + (len == 0) as u64;
        seq <= edge && seq + len.max(1) > self.rcv_nxt.saturating_sub((len == 0) as u64)
    }

    /// Handles a segment of `len` payload bytes at `seq`, with a FIN after them if `fin`. Returns the number of bytes that came
    /// into order.
    pub fn handle_data(&mut self, now: Time, seq: u64, len: u64, fin: bool) -> u64 {
        let mut end = (seq + len).min(self.announced.max(self.rcv_nxt));
        if fin && seq + len == end && end >= self.rcv_nxt {
            self.fin_at.get_or_insert(end);
        }
        // Data that a peer sends after its FIN are ignored.
        let last = self.fin_at.unwrap_or(u64::MAX);
        end = end.min(last);
        if len == 0 && !fin {
            return 0;
        }
        let before = self.rcv_nxt;
        self.note_duplicate(seq, end);
        if seq > self.rcv_nxt {
            self.out_of_order.insert(seq, end);
            self.remember(seq);
            self.acks.now = true;
            if self.adapts {
                self.adapt_to_disorder(now, Some(end.saturating_sub(seq)));
            }
        } else if end > self.rcv_nxt {
            let filled_gap = !self.out_of_order.is_empty();
            self.rcv_nxt = end;
            if filled_gap {
                self.out_of_order.remove_below(end);
                if let Some(joined) = self.out_of_order.take_at(end) {
                    self.rcv_nxt = joined.min(last);
                }
            }
            let quick = self.adapts && self.adapt(now, len, before);
            self.acks.delay(now, quick || (filled_gap && self.acks.gap_fillers));
        } else {
            // No new data: the peer has missed an acknowledgment.
            self.acks.now = true;
            if self.adapts {
                self.adapt_to_disorder(now, None);
            }
        }
        let fresh = self.rcv_nxt - before;
        self.unread += fresh;
        self.delivered += fresh;
        if self.fin_at == Some(self.rcv_nxt) {
            self.acks.now = true;
            self.take_fin();
        }
        fresh
    }

    /// Handles the peer's echo of this end's clock in a segment of `len` bytes, after an RTT of `sample`.
    #[cold]
    pub fn take_echo(&mut self, echo: u32, sample: Span, len: u64) {
        if let Some(tuning) = &mut self.tuning {
            tuning.on_echo(echo, sample, len, self.unread);
        }
    }

    /// Adapts to a segment of `len` bytes in order. Returns true if it must be acknowledged at once.
    #[cold]
    #[inline(never)]
    fn adapt(&mut self, now: Time, len: u64, before: u64) -> bool {
        let window = self.announced.saturating_sub(before);
        let held = self.held();
        if let Some(ato) = &mut self.acks.ato {
            ato.on_data(now, len, window);
        }
        if let Some(tuning) = &mut self.tuning
            && tuning.on_data(now, len, self.rcv_nxt, window, held)
            && let Some(ato) = &mut self.acks.ato
        {
            ato.on_window(true, false);
        }
        self.acks.is_quick()
    }

    /// Adapts to a segment whose first `len` bytes arrived out of order, or, if `None`, whose bytes had all arrived before.
    #[cold]
    #[inline(never)]
    fn adapt_to_disorder(&mut self, now: Time, len: Option<u64>) {
        let (beyond, held) = (self.beyond(), self.held());
        match len {
            Some(len) => {
                if let Some(tuning) = &mut self.tuning {
                    tuning.on_gap(now, len, beyond, held);
                }
            }
            None => {
                if let Some(ato) = &mut self.acks.ato {
                    ato.on_duplicate(self.announced.saturating_sub(self.rcv_nxt));
                }
            }
        }
    }

    /// End of the data held behind gaps, relative to `rcv_nxt`.
    fn beyond(&self) -> u64 {
        self.out_of_order.highest().map_or(0, |highest| highest.saturating_sub(self.rcv_nxt))
    }

    /// Accepts a FIN that is in order, unless it is held. Returns true if it did.
    pub fn take_fin(&mut self) -> bool {
        let takes = self.fin_at == Some(self.rcv_nxt) && !self.hold_fin;
        self.rcv_nxt += takes as u64;
        self.acks.now |= takes;
        takes
    }

    /// Returns true if a FIN in order is held back.
    pub fn fin_waits(&self) -> bool {
        self.fin_at == Some(self.rcv_nxt)
    }

    /// One past the last byte that the peer may send.
    pub fn edge(&self) -> u64 {
        self.announced.max(self.rcv_nxt)
    }

    /// Bytes in order, and bytes held behind gaps: each segment with new data changes one of them.
    pub fn progress(&self) -> (u64, u64) {
        (self.delivered, self.out_of_order.total())
    }

    /// Highest sequence number received, counted from the first byte of payload.
    pub fn sequence_max(&self) -> u64 {
        self.delivered + self.beyond()
    }

    /// Bytes that have arrived and have not been read.
    pub fn held(&self) -> u64 {
        self.unread + self.out_of_order.total()
    }

    /// Returns true if the peer's FIN has been accepted in order.
    pub fn finished(&self) -> bool {
        self.fin_at.is_some_and(|at| self.rcv_nxt > at)
    }

    /// Reads all data in order. Returns the number of bytes.
    pub fn read(&mut self) -> u64 {
        self.read_up_to(u64::MAX)
    }

    /// Reads at most `bytes`.
    pub fn read_up_to(&mut self, bytes: u64) -> u64 {
        if self.adapts {
            return self.read_adapting(bytes);
        }
        let taken = self.unread.min(bytes);
        self.unread -= taken;
        self.reopen();
        taken
    }

    fn reopen(&mut self) {
        // RFC 9293 §3.8.6.2.2: a window is announced that has opened by a segment or half the buffer, not by each byte; and only to
        // a peer that it limits, since others get it with their next acknowledgment.
        let opened = (self.rcv_nxt + self.window - self.unread).saturating_sub(self.announced);
        let left = self.announced.saturating_sub(self.rcv_nxt);
        if opened >= self.mss.min(self.window / 2) && left < self.mss.max(self.window / 4) {
            self.acks.now = true;
        }
    }

    /// Reads at most `bytes`, and informs the adaptive parts.
    #[cold]
    #[inline(never)]
    fn read_adapting(&mut self, bytes: u64) -> u64 {
        let taken = self.unread.min(bytes);
        self.unread -= taken;
        if taken > 0 && self.unread == 0 {
            self.acks.read_all();
        }
        let beyond = self.beyond();
        let Some(tuning) = &mut self.tuning else {
            self.reopen();
            return taken;
        };
        tuning.on_read(self.rcv_nxt - self.unread, self.unread, beyond);
        let window = tuning.window(self.unread, self.out_of_order.total());
        self.acks.now |= tuning.reopened(self.announced.saturating_sub(self.rcv_nxt), window);
        taken
    }

    /// The window to announce, if it may tune itself.
    #[cold]
    #[inline(never)]
    fn adapted_window(&mut self) -> u64 {
        let held = self.held();
        let Some(tuning) = &self.tuning else { return self.window.saturating_sub(self.unread) };
        if let Some(ato) = &mut self.acks.ato {
            ato.on_window(false, tuning.scarce(held));
        }
        tuning.window(self.unread, self.out_of_order.total())
    }

    /// The window to announce, in scaled form; announced space is never withdrawn.
    pub fn announce(&mut self, scale: u8) -> u16 {
        let room = if self.adapts { self.adapted_window() } else { self.window.saturating_sub(self.unread) };
        let edge = (self.rcv_nxt + room).max(self.announced);
        let field = ((edge - self.rcv_nxt) >> scale).min(65_535);
        self.announced = self.announced.max(self.rcv_nxt + (field << scale));
        field as u16
    }

    /// SACK blocks: first the one with the latest arrival, then earlier ones (RFC 2018 §4).
    pub fn sack_blocks(&mut self, most: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut most = most;
        if most > 0
            && let Some((start, end)) = self.duplicate.take()
        {
            blocks.push(wire_number(self.irs, start), wire_number(self.irs, end));
            most -= 1;
        }
        if self.out_of_order.is_empty() {
            return blocks;
        }
        let mut listed = [(0, 0); MAX_SACK_BLOCKS];
        let mut count = 0;
        for &position in &self.recent {
            let Some(range) = self.out_of_order.containing(position) else { continue };
            if count < most && !listed[..count].contains(&range) {
                listed[count] = range;
                count += 1;
                blocks.push(wire_number(self.irs, range.0), wire_number(self.irs, range.1));
            }
        }
        blocks
    }

    /// Reduces the rate of acknowledgments after a mark on one.
    pub fn acknowledge_less(&mut self, now: Time, rtt: Option<Span>) {
        self.acks.acknowledge_less(now, rtt, self.window, self.mss);
    }

    /// RFC 2883 §4: records the first part of [seq, end) that has arrived before.
    fn note_duplicate(&mut self, seq: u64, end: u64) {
        if !self.dsack || seq >= end {
            return;
        }
        if seq < self.rcv_nxt {
            self.duplicate = Some((seq, end.min(self.rcv_nxt)));
        } else if let Some((_, held)) = self.out_of_order.containing(seq) {
            self.duplicate = Some((seq, end.min(held)));
        }
    }

    fn remember(&mut self, seq: u64) {
        // Blocks are distinguished by range, not by arrival: a segment that extends the latest block only renews it.
        let range = self.out_of_order.containing(seq);
        let mut kept = [u64::MAX; MAX_SACK_BLOCKS];
        kept[0] = seq;
        let mut count = 1;
        for &position in &self.recent {
            let known = self.out_of_order.containing(position);
            if count < MAX_SACK_BLOCKS && known.is_some() && known != range {
                kept[count] = position;
                count += 1;
            }
        }
        self.recent = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::DelayedAck;
    use super::*;

    fn receiver(policy: DelayedAck) -> Receiver {
        let mut receiver =
            Receiver::new(&Config { window: 10_000, delayed_ack: policy, ..Config::default() });
        receiver.start(1000);
        receiver
    }

    #[test]
    fn blocks_name_the_latest_arrival_first() {
        let mut r = receiver(DelayedAck::None);
        for seq in [2001, 4001, 6001, 8001] {
            r.handle_data(Time::ZERO, seq, 1000, false);
        }
        let lefts: Vec<u32> = r.sack_blocks(3).as_slice().iter().map(|b| b.0 - 1000).collect();
        assert_eq!(lefts, [8001, 6001, 4001]);
        // RFC 2018 §4: a segment that joins two blocks makes one.
        r.handle_data(Time::ZERO, 5001, 1000, false);
        let blocks: Vec<_> = r.sack_blocks(4).as_slice().iter().map(|b| (b.0 - 1000, b.1 - 1000)).collect();
        assert_eq!(blocks, [(4001, 7001), (8001, 9001), (2001, 3001)]);
        assert_eq!(r.handle_data(Time::ZERO, 1, 2000, false), 3000);
        assert_eq!(r.rcv_nxt, 3001);
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_a_lone_one_in_time() {
        let at = Time::ZERO + Span::from_millis(30);
        let mut r = receiver(DelayedAck::OneShot(Span::from_millis(200)));
        r.handle_data(at, 1, 1000, false);
        assert_eq!((r.acks.now, r.acks.at), (false, Some(at + Span::from_millis(200))));
        r.handle_data(at, 1001, 1000, false);
        assert!(r.acks.now);
        let mut beat = receiver(DelayedAck::Heartbeat(Span::from_millis(200)));
        beat.handle_data(at, 1, 1000, false);
        assert_eq!(beat.acks.at, Some(Time::ZERO + Span::from_millis(200)));
        let mut once = receiver(DelayedAck::None);
        once.handle_data(at, 1, 1000, false);
        assert!(once.acks.now);
    }

    // RFC 2883 §4.1.1 to §4.1.3: its examples, with the acknowledgment and blocks that it prints.
    #[test]
    fn duplicates_are_reported_as_in_the_examples_of_rfc_2883() {
        let mut config = Config { window: 100_000, delayed_ack: DelayedAck::None, ..Config::default() };
        config.dsack = true;
        let play = |segments: &[(u64, u64)]| {
            let mut r = Receiver::new(&config);
            // The examples' numbers are offsets, here larger by 1.
            r.start(0u32.wrapping_sub(1));
            r.handle_data(Time::ZERO, 1, 3000, false);
            let mut last = Vec::new();
            for &(from, to) in segments {
                r.handle_data(Time::ZERO, from + 1, to - from, false);
                last = r.sack_blocks(3).as_slice().to_vec();
            }
            (r.rcv_nxt - 1, last)
        };
        // §4.1.1: 3000-3499 and 3500-3999 arrive, their ACKs are lost, 3000-3499 again: ACK 4000, SACK 3000-3500.
        assert_eq!(play(&[(3000, 3500), (3500, 4000), (3000, 3500)]), (4000, vec![(3000, 3500)]));
        // §4.1.2: 3500 to 5000 are missing except 4500-5000; 3000-3500 arrives again: ACK 4000, SACK 3000-3500, 4500-5000.
        assert_eq!(
            play(&[(3000, 3500), (3500, 4000), (4500, 5000), (3000, 3500)]),
            (4000, vec![(3000, 3500), (4500, 5000)])
        );
        // §4.1.3: 5000-5500 arrives twice above a hole: ACK 4000, SACK 5000-5500, 4500-5500.
        assert_eq!(
            play(&[(3000, 4000), (4500, 5000), (5000, 5500), (5000, 5500)]),
            (4000, vec![(5000, 5500), (4500, 5500)])
        );
    }

    #[test]
    fn a_fin_that_overtakes_data_waits_for_it() {
        let mut r = receiver(DelayedAck::None);
        r.handle_data(Time::ZERO, 1001, 500, true);
        assert!(!r.finished());
        r.handle_data(Time::ZERO, 1, 1000, false);
        assert!(r.finished());
        assert_eq!((r.rcv_nxt, r.delivered), (1502, 1500));
    }

    #[test]
    fn the_window_closes_with_unread_data_and_never_shrinks() {
        let mut r = receiver(DelayedAck::None);
        assert_eq!(r.announce(0), 10_000);
        r.handle_data(Time::ZERO, 1, 9_000, false);
        assert_eq!(r.announce(0), 1_000);
        // Data of a peer beyond the window are cut off.
        assert_eq!(r.handle_data(Time::ZERO, 9_001, 3_000, false), 1_000);
        assert_eq!(r.announce(0), 0);
        assert!(!r.acceptable(10_002, 10));
        assert_eq!(r.read(), 10_000);
        assert!(r.acks.now);
        assert_eq!(r.announce(0), 10_000);
    }
}
