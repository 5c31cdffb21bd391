//! The gateway: TCP connections split at the satellite link, on real hosts.
//!
//! Follows HT 4.3 and HK section VI: a hub on the Internet's side serves terminals on the users' side, and between them is STP.
//! Differs from the papers: one sealed association for each terminal carries all connections as streams, and a failure is a reset.
//! Leaves out UDP, which passes unsplit.
//!
//! | file | holds |
//! |---|---|
//! | `config` | the file that describes a gateway |
//! | `prefix` | ranges of addresses, and those that are nobody's business |
//! | `rules` | the firewall's table that hands over connections |
//! | `routing` | the route of what was handed over |
//! | `kernel` | sockets of the kernel |
//! | `sides` | a socket and a stream as the sides of a join |
//! | `flow` | one connection |
//! | `flows` | all of them |
//! | `peers` | the terminals, or the hub |
//! | `users` | who shares the link with whom |
//! | `socks` | what a program asks of a proxy |
//! | `names` | names that are looked up |
//! | `counters` | what is counted |
//! | `admin` | metrics and the status, over HTTP on loopback |
//! | `gateway` | what is done with what comes |
//! | `daemon` | the thread, its clock and its poller |

mod admin;
mod config;
mod counters;
mod daemon;
mod flow;
mod flows;
mod gateway;
mod kernel;
mod names;
mod peers;
mod prefix;
mod routing;
mod rules;
mod sides;
mod socks;
mod users;

pub use config::{Config, ConfigError, Fail, Forward, Intercept, Quic, Role, SourceAddress, Terminal};
pub use daemon::{DaemonError, run};
pub use prefix::Prefix;
pub use rules::ruleset;
