//! Identifiers within a run: connections and their participants.
//!
//! Follows RFC 9293's view that a connection is a pair of sockets.

use skyhop_network::Rank;
use skyhop_traffic::End;

/// Key of a conversation; it does not match a later conversation in the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConversationId {
    pub place: u32,
    pub generation: u32,
}

/// A participant of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Actor {
    /// One of its ends.
    End(End),
    /// A splice between them, counted from the client.
    Splice(u8),
}

impl ConversationId {
    /// Number for packets that belong to no connection.
    pub const NONE: Self = Self { place: u32::MAX, generation: 0 };

    /// The two numbers in a frame that identify its connection.
    pub fn numbers(self) -> [u32; 2] {
        [self.generation, self.place]
    }

    /// Rank of an actor of this connection among events at one instant.
    pub fn rank(self, flow: u32, actor: Actor) -> Rank {
        let part = match actor {
            Actor::End(End::Client) => 1,
            Actor::End(End::Server) => 2,
            Actor::Splice(leg) => 3 + leg % 13,
        };
        Rank::host(flow, self.generation, part)
    }
}
