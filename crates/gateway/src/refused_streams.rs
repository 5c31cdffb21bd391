//! Streams of the far gateway that are refused: each ends once the far gateway has read the answer, or is reset after a while.
//!
//! Follows docs/stp.md §16: an answer other than "connected" is the last byte of its stream.
//! Leaves out the answers, and the streams themselves (`peer_links`).

use crate::flow::StreamName;
use skyhop_units::{Span, Time};
use std::collections::VecDeque;

/// The time that the far gateway has for ending the stream.
const ENDING_MAX: Span = Span::from_secs(30);

/// Refused streams in the order in which they were refused, with the time at which each is reset.
#[derive(Debug, Default)]
pub struct RefusedStreams {
    streams: VecDeque<(Time, StreamName)>,
}

impl RefusedStreams {
    /// Adds a stream that is refused now.
    pub fn add(&mut self, now: Time, stream: StreamName) {
        self.streams.push_back((now + ENDING_MAX, stream));
    }

    /// The next stream that is to be reset by now.
    pub fn take_due(&mut self, now: Time) -> Option<StreamName> {
        self.streams.pop_front_if(|(at, _)| *at <= now).map(|(_, stream)| stream)
    }

    /// The time at which the next stream is reset.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.streams.front().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_is_reset_once_after_its_time() {
        let at = |s| Time::ZERO + Span::from_secs(s);
        let mut refused = RefusedStreams::default();
        assert_eq!(refused.poll_timeout(), None);
        refused.add(at(1), (7, 1));
        refused.add(at(2), (7, 5));
        assert_eq!((refused.poll_timeout(), refused.take_due(at(30))), (Some(at(31)), None));
        assert_eq!([0; 2].map(|_| refused.take_due(at(31))), [Some((7, 1)), None]);
        assert_eq!([0; 2].map(|_| refused.take_due(at(40))), [Some((7, 5)), None]);
        assert_eq!(refused.poll_timeout(), None);
    }
}
