//! What applications offer: how much, and when.
//!
//! Follows HT 4.2.3 (long transfers) and 6.3 (a packet every so often to see the delay).
//! Differs: an application here only says what it wants next; hosts carry it out.
//! Leaves out web models, constant rates and everything with think times.

mod application;
mod bulk;
mod ping;

pub use application::{Action, Application, End, Notice};
pub use bulk::Bulk;
pub use ping::Ping;
