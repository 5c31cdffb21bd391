//! Whose bytes go to the client, in their order: the server's, or answers of the splice's owner.
//!
//! Follows HT 4.3.1's web cache: what it holds it sends itself, the rest comes from the server.
//! Differs from a cache: it knows neither names nor contents.
//! Leaves out requests; whoever can read them says how long they are.

use std::collections::VecDeque;

/// Runs of bytes on their way to the client. A splice that is no cache has none.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    runs: VecDeque<(bool, u64)>,
}

impl Answers {
    /// Bytes of the owner's, or of the server's, behind all others.
    pub fn written(&mut self, own: bool, bytes: u64) {
        match self.runs.back_mut() {
            Some((last, n)) if *last == own => *n += bytes,
            _ => self.runs.push_back((own, bytes)),
        }
    }

    /// The client has acknowledged `bytes` more. Returns how many of them were the owner's.
    pub fn acknowledged(&mut self, mut bytes: u64) -> u64 {
        let mut owners = 0;
        while let Some((own, n)) = self.runs.front_mut() {
            let taken = bytes.min(*n);
            owners += if *own { taken } else { 0 };
            (*n, bytes) = (*n - taken, bytes - taken);
            if *n > 0 {
                break;
            }
            self.runs.pop_front();
        }
        owners
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_acknowledged_is_told_apart_in_order() {
        let mut answers = Answers::default();
        for (own, bytes) in [(true, 10), (false, 5), (false, 5), (true, 10)] {
            answers.written(own, bytes);
        }
        assert_eq!([4, 10, 7, 9].map(|n| answers.acknowledged(n)), [4, 6, 1, 9]);
        assert_eq!(answers.acknowledged(100), 0);
    }
}
