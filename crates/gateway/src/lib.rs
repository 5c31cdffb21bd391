//! The gateway: TCP connections split at the satellite link, on real hosts.
//!
//! Follows HT 4.3 and HK section VI: a hub on the Internet's side serves terminals on the users' side, with STP between them.
//! Differs from the papers: one encrypted association per terminal carries all connections as streams, and a failure resets them.
//! Leaves out ICMP, which passes beside the association.
//!
//! | file | holds |
//! |---|---|
//! | `config` | the configuration file |
//! | `port_waits` | connections that wait for a local port |
//! | `prefix` | ranges of addresses, and the special-purpose ones |
//! | `rules` | the firewall's table that intercepts connections |
//! | `routing` | the route of intercepted packets |
//! | `kernel` | sockets of the kernel |
//! | `syn` | a client's SYN, and what the firewall does with it |
//! | `syn_log` | SYNs that the firewall has logged |
//! | `syn_device` | the device through which they come back |
//! | `syn_path` | the way through both |
//! | `handshakes` | handshakes that wait for the server's answer |
//! | `poller_keys` | keys of the poller |
//! | `sides` | a socket and a stream as the sides of a join |
//! | `fate` | the result of a connection's turn, and the causes of its end |
//! | `flow` | one connection |
//! | `opening` | its first bytes |
//! | `carrying` | its data in its turn |
//! | `stream_class` | the class of a connection's stream |
//! | `user_claims` | a connection's parts of its user's resources |
//! | `ack_checks` | checks for an acknowledgment of the kernel's peer |
//! | `flows` | all connections |
//! | `peers` | the terminals of a hub, or the hub of a terminal |
//! | `peer_links` | the associations with them |
//! | `refused_streams` | streams of the far gateway that are refused |
//! | `dscp` | code points, and the table that changes them |
//! | `quotas` | quotas of terminals on the link, and periods of quotas |
//! | `file_text` | values of the file, and errors with their lines |
//! | `rule_counters` | counters of the firewall's rules |
//! | `usage` | the file of their usage |
//! | `user` | users |
//! | `user_limits` | limits of single users in the file |
//! | `user_connections` | numbers of users' connections |
//! | `user_memory` | users' shares of the memory |
//! | `memory_waits` | connections that wait for it |
//! | `memory_shortage` | associations without memory, and the connections that hold it |
//! | `user_quotas` | quotas of single users |
//! | `user_shares` | all that users share or have limits for |
//! | `socks` | requests of programs to the SOCKS5 proxy |
//! | `names` | name resolution |
//! | `user_counters` | the counters of users |
//! | `counters` | the counters |
//! | `journal` | the counters, and lines for the log |
//! | `admin` | metrics and the status, over HTTP on loopback |
//! | `datagram_socket` | UDP sockets |
//! | `udp_flows` | UDP flows |
//! | `udp_loads` | the loads of UDP datagrams |
//! | `udp` | UDP datagrams through an association |
//! | `dns_message` | DNS messages |
//! | `dns` | the DNS cache |
//! | `name_servers` | the name servers behind the cache, and streams to them |
//! | `connector` | connections to servers |
//! | `unsent` | data in the kernel towards the users of a hub without terminals |
//! | `gateway_core` | the file, the associations, the connections and the journal |
//! | `turns` | the turns of connections |
//! | `gateway` | the machines, and the handling of events |
//! | `daemon_clock` | the clock of the thread |
//! | `signal_fd` | its signals |
//! | `link_socket` | the socket of the associations |
//! | `listeners` | listeners for connections |
//! | `usage_meter` | the count of what is used of quotas |
//! | `daemon` | the thread and its poller |

mod ack_checks;
mod admin;
mod carrying;
mod config;
mod connector;
mod counters;
mod daemon;
mod daemon_clock;
mod datagram_socket;
mod dns;
mod dns_message;
mod dscp;
mod fate;
mod file_text;
mod flow;
mod flows;
mod gateway;
mod gateway_core;
mod handshakes;
mod journal;
mod kernel;
mod link_socket;
mod listeners;
mod memory_shortage;
mod memory_waits;
mod name_servers;
mod names;
mod opening;
mod peer_links;
mod peers;
mod poller_keys;
mod port_waits;
mod prefix;
mod quotas;
mod refused_streams;
mod routing;
mod rule_counters;
mod rules;
mod sides;
mod signal_fd;
mod socks;
mod stream_class;
mod syn;
mod syn_device;
mod syn_log;
mod syn_path;
mod turns;
mod udp;
mod udp_flows;
mod udp_loads;
mod unsent;
mod usage;
mod usage_meter;
mod user;
mod user_claims;
mod user_connections;
mod user_counters;
mod user_limits;
mod user_memory;
mod user_quotas;
mod user_shares;

pub use config::{
    Config, Dns, Fail, Forward, Handshake, Intercept, Quic, Role, SourceAddress, Terminal, UdpRule,
    host_and_port,
};
pub use daemon::{DaemonError, run};
pub use dscp::{Dscp, DscpRow, DscpTable};
pub use file_text::ConfigError;
pub use prefix::Prefix;
pub use quotas::Quota;
pub use rules::ruleset;
