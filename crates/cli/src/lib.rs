//! The skyhop command.
