//! The open connections between two hosts, which share what the path allows.
//!
//! Follows RFC 9040 §8 (an ensemble of connections).
//! Differs: the owner of the connections keeps them, and asks for a division when it opens one more.
//! Leaves out shares returned when a connection closes, and the state kept between connections (`memory`).

use super::connection::Connection;

/// Divides the windows of open connections between two hosts among them and one more (RFC 9040 §8: an ensemble), so that together
/// they send no more than before. Returns the initial window of the new one; `None` if none is open.
pub fn divide(open: &mut [&mut Connection]) -> Option<u64> {
    let count = open.len() as u64;
    let total: u64 = open.iter().map(|connection| connection.cwnd()).sum();
    for connection in open.iter_mut() {
        connection.scale_window(count, count + 1);
    }
    (count > 0).then(|| total / (count + 1))
}
