//! Split connections: a gateway between two transport connections that are one to their users.
//!
//! Follows HT 4.3, HK section VI and RFC 3135: splitting, spoofing, and a cache that splits the connections that it cannot answer.
//! Differs: data are not reported as complete before they are (the FIN is end to end), and a failure is a reset.
//! Leaves out payload: the machine tells the number of bytes to move, and the driver moves them.
//!
//! Each side uses TCP or STP, whose packets have separate methods.
//! A [`Splice`] is sans-IO: it takes `now` and a packet or a timeout, then returns packets and events. It uses neither the
//! simulator nor sockets.
//!
//! ```
//! use skyhop_splice::{Config, Event, Side, Splice};
//! use skyhop_transport::tcp::Connection;
//! use skyhop_units::{Span, Time};
//!
//! let tcp = skyhop_transport::tcp::Config::default();
//! let [client, server] = ["10.0.0.1:49152", "10.0.0.2:80"].map(|a| a.parse().unwrap());
//! let mut client_end = Connection::connect(tcp.clone(), client, server, 1);
//! let mut server_end = Connection::listen(tcp.clone(), server, client, 2);
//! let mut splice = Splice::new(Config::split(tcp.clone(), tcp, 100_000), [3, 4]);
//! client_end.write(5_000);
//! client_end.shutdown();
//!
//! let (mut now, mut moved) = (Time::ZERO, 0);
//! while server_end.delivered() < 5_000 {
//!     now = now + Span::from_millis(10);
//!     for end in [&mut client_end, &mut server_end] {
//!         end.handle_timeout(now);
//!         end.read();
//!     }
//!     splice.handle_timeout(now);
//!     while let Some(packet) = client_end.poll_transmit(now) {
//!         splice.handle_packet(now, Side::Client, &packet);
//!     }
//!     while let Some(packet) = server_end.poll_transmit(now) {
//!         splice.handle_packet(now, Side::Server, &packet);
//!     }
//!     while let Some((side, packet)) = splice.poll_transmit(now) {
//!         match side {
//!             Side::Client => client_end.handle_packet(now, &packet),
//!             Side::Server => server_end.handle_packet(now, &packet),
//!         }
//!     }
//!     while let Some(event) = splice.poll_event() {
//!         if let Event::Moved { from: Side::Client, bytes } = event {
//!             moved += bytes;
//!         }
//!     }
//! }
//! assert_eq!(moved, 5_000);
//! ```

mod answers;
mod config;
pub mod datagrams;
pub mod gateway;
pub mod gateway_end;
pub mod join;
mod leg;
pub mod owners;
pub mod preamble;
mod splice;
pub mod user_rates;
pub mod users;

pub use config::{Close, Config, Protocol, ServerOpening, Side};
pub use splice::{Event, Splice, Stats};
