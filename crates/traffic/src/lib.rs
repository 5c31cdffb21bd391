//! What applications offer: how much, and when.
//!
//! Follows HT 4.2.3 (long transfers), 3.2.1 (the web) and 6.3 (a packet every so often to see the delay).
//! Differs: an application here only says what it wants next; hosts carry it out.
//! Leaves out contents: a request is so many bytes.

mod application;
mod bulk;
mod completions;
mod datagrams;
mod distribution;
mod mah;
mod measured;
mod ping;
mod transfers;
mod web;

pub use application::{Action, Application, End, Notice};
pub use bulk::Bulk;
pub use completions::{Completion, Completions};
pub use datagrams::Datagrams;
pub use distribution::Distribution;
pub use mah::Mah;
pub use measured::{Between, Measured};
pub use ping::Ping;
pub use skyhop_text::table::TableError;
pub use transfers::Transfers;
pub use web::{Browsing, Web};
