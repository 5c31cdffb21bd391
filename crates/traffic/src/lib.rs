//! Traffic models: the amount and the times of the data that applications send.
//!
//! Follows HT 4.2.3 (long transfers), 3.2.1 (the web) and 6.3 (periodic packets to measure the delay),
//! Kota et al. 1999 §4.1 (an open loop of requests).
//! Differs: an application only requests actions; hosts carry them out.
//! Leaves out contents: a request is a number of bytes.

mod action;
mod application;
mod batches;
mod bulk;
mod completions;
mod datagrams;
mod distribution;
mod fetch;
mod mah;
mod measured;
mod ping;
mod transfers;
mod web;

pub use action::{Action, AppNotice, End};
pub use application::Application;
pub use batches::{Batches, Batching};
pub use bulk::Bulk;
pub use completions::{Completion, Completions};
pub use datagrams::Datagrams;
pub use distribution::Distribution;
pub use fetch::{Fetch, FilePieces};
pub use mah::Mah;
pub use measured::{Interpolation, Measured};
pub use ping::Ping;
pub use skyhop_text::table::TableError;
pub use transfers::Transfers;
pub use web::{Browsing, Web};
