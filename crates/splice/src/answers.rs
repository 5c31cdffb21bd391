//! The order of bytes to the client, from the server or from the owner of the splice.
//!
//! Follows HT 4.3.1's web cache: it sends the files that it holds, and the server sends all others.
//! Differs from a cache: it knows neither names nor contents.
//! Leaves out requests: the owner parses them and passes their lengths.

use std::collections::VecDeque;

/// Runs of bytes on their way to the client. Only a cache has any.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    runs: VecDeque<(bool, u64)>,
}

impl Answers {
    /// Appends bytes of the owner's (`own`) or of the server's.
    pub fn written(&mut self, own: bool, bytes: u64) {
        match self.runs.back_mut() {
            Some((last, n)) if *last == own => *n += bytes,
            _ => self.runs.push_back((own, bytes)),
        }
    }

    /// Records that the client has acknowledged `bytes` more. Returns the number of them that were the owner's.
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
