//! Proportional rate reduction: during recovery the window follows arriving data, down to ssthresh.
//!
//! Follows RFC 9937 §6 with the slow-start reduction bound; the examples of RFC 6937 §4.
//! Differs: bytes in whole segments, and a window of at least a segment more than the pipe for the first repeat.
//! Leaves out the conservative reduction bound, which the RFC has for comparison.

#[derive(Debug, Clone, Default)]
pub(crate) struct Prr {
    /// Bytes delivered, and bytes sent, in this recovery.
    delivered: u64,
    out: u64,
    /// RecoverFS: bytes in the network when it began.
    recover_fs: u64,
}

impl Prr {
    pub fn begin(in_flight: u64) -> Self {
        Self { delivered: 0, out: 0, recover_fs: in_flight.max(1) }
    }

    pub fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// Handles an acknowledgment that delivered `delivered` bytes. Returns the window until the next one. It is `safe` if it moves
    /// forward and reports no further loss (§6.2, SafeACK): only then slow start may exceed the delivery.
    pub fn on_ack(&mut self, delivered: u64, safe: bool, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        self.delivered += delivered;
        let send = if pipe > ssthresh {
            let share = (self.delivered as u128 * ssthresh as u128).div_ceil(self.recover_fs as u128) as u64;
            // A started segment counts, as in the RFC's diagrams: half of one is never sent.
            (share.div_ceil(mss) * mss).saturating_sub(self.out)
        } else {
            let more = if safe { mss } else { 0 };
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + more;
            (ssthresh - pipe).min(limit)
        };
        pipe + send
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 20 segments of which the first `lost` are lost: after the signal, ACKs arrive one by one, each for one more
    /// segment. Returns the number of segments that each of them sends.
    fn recovery(lost: u64) -> Vec<u64> {
        let mss = 1;
        let (ssthresh, mut pipe) = (10, 20 - lost - 3);
        let mut prr = Prr::begin(20);
        // The third duplicate is the signal and the first to count.
        let mut window = prr.on_ack(1, false, pipe, ssthresh, mss);
        let mut sent = Vec::new();
        for ack in 0..20 - lost - 3 {
            if ack > 0 {
                pipe -= 1;
                window = prr.on_ack(1, false, pipe, ssthresh, mss);
            }
            let mut n = 0;
            // The first retransmission is sent regardless of the window.
            while pipe < window || (ack == 0 && n == 0) {
                (pipe, n) = (pipe + 1, n + 1);
                prr.sent(1);
            }
            sent.push(n);
        }
        sent
    }

    // RFC 6937 §4, first example: one loss in a window of 20, halved: PRR sends on every other acknowledgment.
    #[test]
    fn a_single_loss_sends_on_every_other_acknowledgment() {
        let sent = recovery(1);
        // Half of the acknowledgments send, and one more when the pipe has fallen to ssthresh.
        assert_eq!((sent.len(), sent.iter().sum::<u64>()), (16, 9), "{sent:?}");
        assert_eq!(sent[..12], [1, 0].repeat(6), "{sent:?}");
        assert!(sent.iter().all(|n| *n <= 1), "{sent:?}");
    }

    // RFC 6937 §4, second example: 15 of 20 are lost, and the pipe falls below ssthresh at once. With the slow-start bound each
    // acknowledgment sends one segment more than it delivered, without a burst.
    #[test]
    fn heavy_losses_are_repaired_in_slow_start() {
        let sent = recovery(15);
        assert!(sent[1..].iter().all(|n| (1..=2).contains(n)), "{sent:?}");
        assert!(sent[0] <= 4, "{sent:?}");
    }
}
