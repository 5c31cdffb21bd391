//! Losses of packets to errors on the link.
//!
//! Follows TH 4.1: independent bit errors destroy a packet with probability 1 - (1 - bit_error_rate)^bits; Gilbert 1960 and
//! Elliott 1963 for losses in bursts, by time or by packets; ns-2's ErrorModel/List for losses of given packets.
//! Differs from TH table 6.1, which multiplies rate and bits; the two agree where the product is small.
//! Leaves out losses that follow a schedule, which are in [`crate::Timeline`].

use skyhop_chance::Stream;
use skyhop_units::{Span, Time};
use std::sync::Arc;

/// A loss model. A lost packet has used the link's time.
#[derive(Debug, Clone, PartialEq)]
pub enum Loss {
    /// No losses.
    None,
    /// Independent bit errors.
    BitErrors {
        /// Natural logarithm of the probability that a bit is received correctly.
        ln_bit_right: f64,
        /// Packet size for which `probability` was computed, bytes: most packets of a link have one size.
        size: u32,
        /// Probability that a packet of `size` bytes is lost.
        probability: f64,
    },
    /// Independent packet losses.
    Packets {
        /// Probability that a packet is lost.
        probability: f64,
    },
    /// Independent packet losses, by the size of the packet.
    BySize {
        /// Upper bounds of size, bytes, ascending, each with the probability of loss up to it; larger packets have the last.
        sizes: Arc<[(u32, f64)]>,
    },
    /// Gilbert-Elliott: two states, good and bad, each with a loss probability.
    Bursts {
        /// Law by which the state changes.
        change: Change,
        /// Probability of loss in the good state and in the bad one.
        probability: [f64; 2],
        /// The state at `seen`: true if bad; `None` before the first packet.
        bad: Option<bool>,
        /// Time at which the state was last computed.
        seen: Time,
    },
    /// Losses of given packets.
    List {
        /// Numbers of the lost packets, ascending; the first packet is 1.
        packets: Arc<[u64]>,
        /// Number of entries of `packets` that have been sent.
        passed: usize,
        /// Number of packets sent.
        sent: u64,
    },
}

/// The law by which a link changes between good and bad.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// After exponentially distributed times.
    Times {
        /// Mean time in the good state.
        good: Span,
        /// Mean time in the bad state.
        bad: Span,
    },
    /// At each packet, with a probability.
    Packets {
        /// Probability of going from good to bad.
        to_bad: f64,
        /// Probability of going from bad to good.
        to_good: f64,
    },
}

impl Change {
    /// Share of time, or of packets, in the bad state.
    pub fn share_bad(&self) -> f64 {
        match *self {
            Change::Times { good, bad } => {
                let [good, bad] = [good, bad].map(Span::as_secs_f64);
                if good + bad > 0.0 { bad / (good + bad) } else { 0.0 }
            }
            Change::Packets { to_bad, to_good } => {
                if to_bad + to_good > 0.0 {
                    to_bad / (to_bad + to_good)
                } else {
                    0.0
                }
            }
        }
    }

    /// Probability that the state is bad `since` after it was `bad`, or one packet after.
    fn probability_bad(&self, bad: bool, since: Span) -> f64 {
        match *self {
            Change::Times { good, bad: mean_bad } => {
                // The two-state chain forgets its start with the sum of both rates.
                let rate = 1.0 / good.as_secs_f64() + 1.0 / mean_bad.as_secs_f64();
                let share = self.share_bad();
                share + (f64::from(u8::from(bad)) - share) * (-rate * since.as_secs_f64()).exp()
            }
            Change::Packets { to_bad, to_good } => {
                if bad {
                    1.0 - to_good
                } else {
                    to_bad
                }
            }
        }
    }
}

impl Loss {
    /// Independent bit errors at `bit_error_rate`, 0 to 1.
    pub fn bit_errors(bit_error_rate: f64) -> Self {
        Loss::BitErrors { ln_bit_right: (-bit_error_rate).ln_1p(), size: 0, probability: 0.0 }
    }

    /// Losses in bursts, with the probabilities of the good and the bad state.
    pub fn bursts(change: Change, probability: [f64; 2]) -> Self {
        Loss::Bursts { change, probability, bad: None, seen: Time::ZERO }
    }

    /// Losses of the packets with these numbers, ascending; the first packet is 1.
    pub fn list(packets: impl Into<Arc<[u64]>>) -> Self {
        Loss::List { packets: packets.into(), passed: 0, sent: 0 }
    }

    /// Returns false if no packet can be lost, so that the link needs no random stream.
    pub fn loses(&self) -> bool {
        !matches!(self, Loss::None)
    }

    /// Returns true if a packet of `packet` bytes that leaves at `at` is lost. Successive calls must not go back in time.
    pub(crate) fn spoils(&mut self, at: Time, packet: u32, chance: &mut Stream) -> bool {
        match self {
            Loss::None => false,
            Loss::Packets { probability } => chance.happens(*probability),
            Loss::BySize { sizes } => {
                let known = sizes.iter().find(|(up_to, _)| packet <= *up_to).or(sizes.last());
                chance.happens(known.map_or(0.0, |(_, probability)| *probability))
            }
            Loss::BitErrors { ln_bit_right, size, probability } => {
                if *size != packet {
                    *size = packet;
                    *probability = -(*ln_bit_right * packet as f64 * 8.0).exp_m1();
                }
                chance.happens(*probability)
            }
            Loss::Bursts { change, probability, bad, seen } => {
                let p_bad = match *bad {
                    Some(bad) => change.probability_bad(bad, at.since(*seen)),
                    None => change.share_bad(),
                };
                let is_bad = chance.happens(p_bad);
                *bad = Some(is_bad);
                *seen = at;
                chance.happens(probability[usize::from(is_bad)])
            }
            Loss::List { packets, passed, sent } => {
                *sent += 1;
                let lost = packets.get(*passed) == Some(sent);
                *passed += usize::from(lost);
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_chance::Seed;

    #[test]
    fn bit_errors_spoil_long_packets_more() {
        // 1 - (1 - 1e-5)^(8 * 1000) = 7.688 % and for 40 bytes 0.3195 %.
        for (size, expected) in [(1000, 0.076_88), (40, 0.003_195)] {
            let mut loss = Loss::bit_errors(1e-5);
            let mut chance = Seed(3).stream("loss");
            let n = 400_000;
            let lost =
                (0..n).filter(|_| loss.spoils(Time::ZERO, size, &mut chance)).count() as f64 / n as f64;
            let deviation = (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((lost - expected).abs() < 4.0 * deviation, "{size} bytes: {lost} against {expected}");
        }
    }

    #[test]
    fn a_state_that_is_never_left_has_all_of_the_time() {
        let share = |to_bad, to_good| Change::Packets { to_bad, to_good }.share_bad();
        assert_eq!(
            [share(0.1, 0.3), share(0.1, 0.0), share(0.0, 0.3), share(0.0, 0.0)],
            [0.25, 1.0, 0.0, 0.0]
        );
        let share =
            |good, bad| Change::Times { good: Span::from_secs(good), bad: Span::from_secs(bad) }.share_bad();
        assert_eq!([share(3, 1), share(0, 1), share(3, 0), share(0, 0)], [0.25, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_list_spoils_its_packets_and_no_others() {
        let mut chance = Seed(5).stream("loss");
        let numbers: Vec<u64> = vec![1, 17, 18, 40];
        let mut loss = Loss::list(numbers.clone());
        assert!(loss.loses());
        let lost: Vec<u64> = (1..=100)
            .filter(|n| loss.spoils(Time::ZERO, if n % 2 == 0 { 40 } else { 1500 }, &mut chance))
            .collect();
        assert_eq!(lost, numbers);
        // Nothing was drawn: the next draw is the stream's first.
        assert_eq!(chance.bits(), Seed(5).stream("loss").bits());
        let mut nothing = Loss::list([]);
        assert!((0..10).all(|_| !nothing.spoils(Time::ZERO, 40, &mut chance)));
    }

    /// The share of packets lost, and the mean length of a run of losses.
    fn observe(mut loss: Loss, gap: Span) -> (f64, f64) {
        let mut chance = Seed(4).stream("loss");
        let n = 2_000_000u64;
        let (mut lost, mut runs, mut before) = (0, 0, false);
        for packet in 0..n {
            let now = loss.spoils(Time::ZERO + gap * packet, 1000, &mut chance);
            lost += u64::from(now);
            runs += u64::from(now && !before);
            before = now;
        }
        (lost as f64 / n as f64, lost as f64 / runs as f64)
    }

    #[test]
    fn bursts_by_packets_have_the_share_and_length_of_the_chain() {
        // Share p / (p + r) = 1/21; with every packet of the bad state lost a run is geometric with mean 1/r = 5.
        let change = Change::Packets { to_bad: 0.01, to_good: 0.2 };
        let (share, run) = observe(Loss::bursts(change, [0.0, 1.0]), Span::ZERO);
        assert!((share - 1.0 / 21.0).abs() < 0.001, "{share}");
        assert!((run - 5.0).abs() < 0.1, "{run}");
        // Elliott: both states lose, 1 % and 30 %.
        let (share, _) = observe(Loss::bursts(change, [0.01, 0.3]), Span::ZERO);
        let expected = 20.0 / 21.0 * 0.01 + 1.0 / 21.0 * 0.3;
        assert!((share - expected).abs() < 0.0006, "{share} against {expected}");
    }

    #[test]
    fn bursts_in_time_do_not_depend_on_how_often_packets_come() {
        // Bad for 20 ms of 1.02 s. Packets every 1 ms: a run is 1 / (1 - P(still bad after 1 ms)), and
        // P = pi + (1 - pi) exp(-(1/1 + 1/0.02) 0.001), which is 0.95123: 20.5 packets.
        let change = Change::Times { good: Span::from_secs(1), bad: Span::from_millis(20) };
        let pi: f64 = 0.02 / 1.02;
        for gap_ms in [1u64, 10, 500] {
            let stay = pi + (1.0 - pi) * (-51.0 * gap_ms as f64 / 1000.0f64).exp();
            let run = 1.0 / (1.0 - stay);
            let (share, observed) = observe(Loss::bursts(change, [0.0, 1.0]), Span::from_millis(gap_ms));
            assert!((share - pi).abs() < 0.0016, "every {gap_ms} ms: {share} against {pi}");
            assert!((observed / run - 1.0).abs() < 0.03, "every {gap_ms} ms: {observed} against {run}");
        }
    }
}
