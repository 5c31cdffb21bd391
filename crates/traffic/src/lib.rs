//! What applications offer: how much, and when.
//!
//! Follows HT 4.2.3 (long transfers), 3.2.1 (the web) and 6.3 (a packet every so often to see the delay).
//! Differs: an application here only says what it wants next; hosts carry it out.
//! Leaves out contents: a request is so many bytes.

mod application;
mod bulk;
mod distribution;
mod mah;
mod measured;
mod ping;

pub use application::{Action, Application, End, Notice};
pub use bulk::Bulk;
pub use distribution::Distribution;
pub use mah::Mah;
pub use measured::{Between, Measured, MeasuredError};
pub use ping::Ping;
