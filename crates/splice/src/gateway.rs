//! The rules of a gateway with an association, for the daemon and the simulator: budgets, priorities, and the stream as a side of a
//! join.
//!
//! Follows docs/gateway.md, "Priorities and shares", and docs/stp.md §15 for streams.
//! Differs from a kernel's socket, which accepts data up to its buffer: a stream accepts only as much as keeps the path busy, so that
//! later data of higher priority can still be sent first.
//! Leaves out sockets, addresses and the clock.

use crate::join::{Input, SplitSide};
use skyhop_transport::stp::{Budgets, DatagramDelay, Payload, Trunk};
use skyhop_units::Span;
use std::collections::VecDeque;

/// Bytes of a connection that may wait to be sent: the limit, and the limit with very many connections.
const UNSENT_MAX: u64 = 512 << 10;
const UNSENT_MIN: u64 = 16 << 10;
/// Bytes after which a connection yields to others.
pub const BULK: u64 = 256 << 10;
/// Priorities of new connections, and of those that have carried much.
const NEW: u8 = 3;
const LONG: u8 = 5;
/// A queue of datagrams that persists beyond a geostationary round trip is shortened.
const DATAGRAM_DELAY: DatagramDelay =
    DatagramDelay { target: Span::from_millis(25), interval: Span::from_millis(500) };
/// Credit for datagrams: at least half of it is used in a round trip, so that 8 MiB carry 56 Mbit/s over 600 ms.
const DATAGRAMS_MIN: u64 = 256 << 10;
const DATAGRAMS_MAX: u64 = 8 << 20;
/// Bytes passed on in one call.
pub const WRITE_MAX: usize = 64 << 10;
/// Usual length of a piece: the data of a packet.
const PIECE: usize = 1400;
/// Pieces passed on in one call.
pub const PIECES_MAX: usize = 64;
/// Less room does not justify a call.
const ROOM_MIN: u64 = 4096;

/// The priority of a connection's stream: `bulk` if it has carried more than [`BULK`].
pub fn priority(bulk: bool) -> u8 {
    if bulk { LONG } else { NEW }
}

/// Bytes of one connection that may wait to be sent, out of `memory` for all of `connections`.
pub fn unsent_max(memory: u64, connections: u64) -> u64 {
    (memory / 4 / connections.max(1)).clamp(UNSENT_MIN, UNSENT_MAX)
}

/// Budgets of an association with `memory` for at most `connections` connections.
pub fn budgets(memory: u64, connections: u64) -> Budgets {
    Budgets {
        stream_window: (memory / 4) * 3,
        first_window: first_window(memory),
        streams: connections,
        datagram_window: (memory / 8).clamp(DATAGRAMS_MIN, DATAGRAMS_MAX),
        datagram_delay: Some(DATAGRAM_DELAY),
        ..Budgets::default()
    }
}

/// Streams that may wait for memory at the far end, out of `memory` of an association: their first windows are a quarter of it.
pub fn waiting_max(memory: u64) -> usize {
    (memory / 4 / first_window(memory)) as usize
}

/// The first window of a stream: small, so that hundreds of clients that do not read leave room for the others.
fn first_window(memory: u64) -> u64 {
    (memory / 1024).clamp(16 << 10, 256 << 10)
}

/// A stream as a side of a join.
pub struct StreamSide<'a, P> {
    /// Its association.
    pub trunk: &'a mut Trunk<P>,
    /// Its number.
    pub id: u64,
    /// Limit of bytes that wait to be sent.
    pub unsent_max: u64,
    /// The peer has ended its direction.
    pub finished: bool,
    /// Bytes of it that may wait here or be on their way: less than the memory allows for a user with a rate (`user_rates`).
    pub window: u64,
    /// The far gateway has not answered yet, so its data are not the server's.
    pub unanswered: bool,
}

impl<P: Payload> SplitSide<P> for StreamSide<'_, P> {
    fn read(&mut self, most: u64, pieces: &mut VecDeque<P>) -> Input {
        if self.unanswered {
            return Input::Nothing;
        }
        self.trunk.limit_window(self.id, self.window);
        let mut left = usize::try_from(most).unwrap_or(usize::MAX).min(WRITE_MAX);
        let before = pieces.len();
        pieces.reserve(left.min(self.trunk.readable(self.id) as usize).div_ceil(PIECE).min(PIECES_MAX));
        while left > 0
            && pieces.len() < PIECES_MAX
            && let Some(data) = self.trunk.read(self.id, left)
        {
            left -= data.len();
            pieces.push_back(data);
        }
        match pieces.len() > before {
            true => Input::Data,
            false if self.finished => Input::End,
            false => Input::Nothing,
        }
    }

    fn room(&mut self) -> u64 {
        let room = self.unsent_max.saturating_sub(self.trunk.unsent(self.id));
        if room < ROOM_MIN.min(self.unsent_max) {
            self.trunk.want_room(self.id, self.unsent_max / 2);
            return 0;
        }
        room
    }

    fn write(&mut self, pieces: &mut VecDeque<P>) {
        while let Some(data) = pieces.pop_front() {
            if let Some(rest) = self.trunk.write(self.id, data) {
                return pieces.push_front(rest);
            }
        }
    }

    fn shutdown(&mut self) {
        self.trunk.shutdown(self.id);
    }

    fn all_acknowledged(&mut self) -> bool {
        self.trunk.unacknowledged(self.id) == 0
    }
}
