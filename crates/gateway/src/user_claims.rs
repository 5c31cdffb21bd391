//! The parts of its user's resources that a connection has, so that they are given back when it ends.
//!
//! Follows docs/gateway.md, "Priorities and shares". Differs from the users' own state (`user_shares`): a connection keeps its user
//! through a reload that tells users apart otherwise.
//! Leaves out the rates, for which a connection is known by its slot.

use crate::memory_waits::WaitPlace;
use crate::unsent::UnsentLimit;
use crate::user::User;

/// The claims of a connection.
#[derive(Debug, Default)]
pub struct UserClaims {
    /// The user whose connection it is, if on this side of the link.
    pub here: Option<User>,
    /// The user whose share of the link the connection uses, if it was opened here.
    pub sharer: Option<User>,
    /// The user whose memory the connection's stream uses.
    pub owner: Option<User>,
    /// The connection's place among those that wait for their user's memory.
    pub waits_in: Option<WaitPlace>,
    /// Data in the kernel towards the user, if there is no far gateway.
    pub unsent: UnsentLimit,
}
