//! What a link does to packets.
