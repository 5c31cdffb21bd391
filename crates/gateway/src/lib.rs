//! The gateway: TCP connections split at the satellite link, on real hosts.
//!
//! Follows HT 4.3 and HK section VI: a hub on the Internet's side serves terminals on the users' side, and between them is STP.
//! Differs from the papers: one sealed association for each terminal carries all connections as streams, and a failure is a reset.
//! Leaves out ICMP, which passes beside it.
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
//! | `dscp` | code points, and the table that changes them |
//! | `quotas` | what terminals have used of the link |
//! | `usage` | the file in which that is kept |
//! | `users` | who shares the link with whom |
//! | `socks` | what a program asks of a proxy |
//! | `names` | names that are looked up |
//! | `counters` | what is counted |
//! | `admin` | metrics and the status, over HTTP on loopback |
//! | `datagram_socket` | sockets of UDP |
//! | `udp_flows` | flows of UDP |
//! | `udp_loads` | their class |
//! | `udp` | their datagrams through an association |
//! | `dns_message` | messages of DNS |
//! | `dns` | a cache of them |
//! | `name_streams` | streams to name servers |
//! | `name_servers` | the servers behind the cache |
//! | `acceptor` | connections to servers |
//! | `alone` | connections of a hub without terminals |
//! | `gateway` | what is done with what comes |
//! | `daemon` | the thread, its clock and its poller |

mod acceptor;
mod admin;
mod alone;
mod config;
mod counters;
mod daemon;
mod datagram_socket;
mod dns;
mod dns_message;
mod dscp;
mod flow;
mod flows;
mod gateway;
mod kernel;
mod name_servers;
mod name_streams;
mod names;
mod peers;
mod prefix;
mod quotas;
mod routing;
mod rules;
mod sides;
mod socks;
mod udp;
mod udp_flows;
mod udp_loads;
mod usage;
mod users;

pub use config::{
    Config, ConfigError, Dns, Fail, Forward, Intercept, Quic, Role, SourceAddress, Terminal, Udp,
};
pub use daemon::{DaemonError, run};
pub use dscp::{Dscp, DscpRow, DscpTable};
pub use prefix::Prefix;
pub use quotas::Quota;
pub use rules::ruleset;
