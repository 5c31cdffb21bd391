//! A file from several sources at once: each flow fetches pieces from a source of its own, and requests the next one that no flow has.
//!
//! Follows TH 3.7.1: different sources provide different parts of the data.
//! Differs: an idle flow takes the next piece, so that a faster source provides more.
//! Leaves out requests for the last pieces to two sources, and sources with a part of the file only.

use crate::{Action, AppNotice, Completion, Completions, End};
use skyhop_units::Time;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The pieces of a file that were not requested yet; the flows that fetch it share them.
#[derive(Debug, Clone)]
pub struct FilePieces {
    left: Arc<Mutex<PiecesLeft>>,
    piece: u64,
}

#[derive(Debug)]
struct PiecesLeft {
    bytes: u64,
    /// Pieces whose source broke off.
    again: Vec<u64>,
}

impl FilePieces {
    /// A file of `size` bytes in pieces of `piece` bytes, the last of which may be shorter.
    pub fn new(size: u64, piece: u64) -> Self {
        let left = PiecesLeft { bytes: size, again: Vec::new() };
        Self { left: Arc::new(Mutex::new(left)), piece: piece.max(1) }
    }

    /// Takes the next piece that was not requested yet, and returns its length.
    fn take(&self) -> Option<u64> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(piece) = left.again.pop() {
            return Some(piece);
        }
        let piece = left.bytes.min(self.piece);
        left.bytes -= piece;
        (piece > 0).then_some(piece)
    }

    /// Returns a piece that its source will not send.
    fn give_back(&self, piece: u64) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).again.push(piece);
    }
}

/// One flow that fetches pieces, over one connection.
#[derive(Debug)]
pub struct Fetch {
    pieces: FilePieces,
    request: u64,
    /// The requested piece: the time of the request, its length, and the bytes that have not arrived.
    asked: Option<(Time, u64, u64)>,
    /// Bytes of the request that have not reached the source.
    unread: u64,
    opened: bool,
    ended: bool,
    completions: Completions,
    actions: VecDeque<Action>,
}

/// The flow's only connection.
const CONNECTION: u32 = 0;

impl Fetch {
    /// Fetches `pieces` with requests of `request` bytes.
    pub fn new(pieces: FilePieces, request: u64) -> Self {
        Self {
            pieces,
            request: request.max(1),
            asked: None,
            unread: 0,
            opened: false,
            ended: false,
            completions: Completions::default(),
            actions: VecDeque::new(),
        }
    }

    /// The pieces that have arrived from this source.
    pub fn completions(&self) -> &Completions {
        &self.completions
    }

    /// Number of connections opened.
    pub fn opened(&self) -> u32 {
        u32::from(self.opened)
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.ask(now);
        if self.asked.is_none() {
            self.ended = true;
        }
    }

    pub(crate) fn stop(&mut self, _: Time) {
        if !std::mem::replace(&mut self.ended, true) && self.opened {
            self.actions.push_back(Action::Shutdown { connection: CONNECTION, end: End::Client });
        }
    }

    /// Requests the next piece, or ends the connection if there is none.
    fn ask(&mut self, now: Time) {
        let (connection, end) = (CONNECTION, End::Client);
        let Some(piece) = self.pieces.take() else {
            if self.opened && !std::mem::replace(&mut self.ended, true) {
                self.actions.push_back(Action::Shutdown { connection, end });
            }
            return;
        };
        if !std::mem::replace(&mut self.opened, true) {
            self.actions.push_back(Action::Open { connection });
        }
        self.completions.started += 1;
        self.asked = Some((now, piece, piece));
        self.unread = self.request;
        self.actions.push_back(Action::Write { connection, end, bytes: self.request });
    }

    pub(crate) fn handle(&mut self, now: Time, notice: AppNotice) {
        match notice {
            AppNotice::Delivered { connection, end: End::Server, bytes } => {
                let before = self.unread;
                self.unread = self.unread.saturating_sub(bytes);
                if before > 0
                    && self.unread == 0
                    && let Some((_, piece, _)) = self.asked
                {
                    self.actions.push_back(Action::Write { connection, end: End::Server, bytes: piece });
                }
            }
            AppNotice::Delivered { end: End::Client, bytes, .. } => {
                let Some((started, piece, left)) = &mut self.asked else { return };
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    let (started, bytes) = (*started, *piece);
                    self.asked = None;
                    self.completions.all.push(Completion {
                        started,
                        took: now.since(started),
                        bytes,
                        files: 1,
                    });
                    if !self.ended {
                        self.ask(now);
                    }
                }
            }
            AppNotice::PeerFinished { connection, end: End::Server } => {
                self.actions.push_back(Action::Shutdown { connection, end: End::Server });
            }
            AppNotice::Reset { .. } => {
                self.ended = true;
                if let Some((_, piece, _)) = self.asked.take() {
                    self.completions.failed += 1;
                    self.pieces.give_back(piece);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn wants(&self) -> bool {
        !self.actions.is_empty()
    }

    pub(crate) fn finished(&self) -> bool {
        self.ended && self.asked.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(fetch: &mut Fetch) -> Vec<Action> {
        std::iter::from_fn(|| fetch.poll_action()).collect()
    }

    fn arrives(fetch: &mut Fetch, bytes: u64) {
        fetch.handle(Time::ZERO, AppNotice::Delivered { connection: 0, end: End::Client, bytes });
    }

    #[test]
    fn the_idle_source_is_asked_for_the_next_piece() {
        let pieces = FilePieces::new(250, 100);
        let [mut quick, mut slow] = [0; 2].map(|_| Fetch::new(pieces.clone(), 30));
        quick.start(Time::ZERO);
        slow.start(Time::ZERO);
        let asks = Action::Write { connection: 0, end: End::Client, bytes: 30 };
        assert_eq!(actions(&mut quick), [Action::Open { connection: 0 }, asks]);
        quick.handle(Time::ZERO, AppNotice::Delivered { connection: 0, end: End::Server, bytes: 30 });
        assert_eq!(actions(&mut quick), [Action::Write { connection: 0, end: End::Server, bytes: 100 }]);
        arrives(&mut quick, 60);
        assert_eq!(actions(&mut quick), []);
        arrives(&mut quick, 40);
        assert_eq!(actions(&mut quick), [asks], "the last piece, of 50 bytes");
        arrives(&mut quick, 50);
        let closes = Action::Shutdown { connection: 0, end: End::Client };
        assert_eq!((actions(&mut quick), quick.finished()), (vec![closes], true));
        assert!(!slow.finished());
        arrives(&mut slow, 100);
        assert!(slow.finished());
        assert_eq!((quick.completions().all.len(), slow.completions().all.len()), (2, 1));
    }

    #[test]
    fn a_piece_whose_source_breaks_off_comes_from_another() {
        let pieces = FilePieces::new(300, 100);
        let [mut broken, mut whole] = [0; 2].map(|_| Fetch::new(pieces.clone(), 1));
        broken.start(Time::ZERO);
        whole.start(Time::ZERO);
        broken.handle(Time::ZERO, AppNotice::Reset { connection: 0, end: End::Client });
        assert!(broken.finished());
        (0..3).for_each(|_| arrives(&mut whole, 100));
        assert_eq!(
            (whole.completions().all.len(), whole.finished(), broken.completions().failed),
            (3, true, 1)
        );
    }
}
