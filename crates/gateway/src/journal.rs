//! The journal of a gateway: its counters, and lines for the log.
//!
//! Follows docs/gateway.md, "Metrics". A condition that many connections may meet is logged for the first of them and counted for all.
//! Leaves out writing the lines (`daemon`), and the format of the counters (`counters`).

use crate::counters::GatewayCounters;
use crate::user::User;
use skyhop_splice::preamble::Answer;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Counters, and lines that have not been written.
#[derive(Debug, Default)]
pub struct Journal {
    pub counters: GatewayCounters,
    lines: VecDeque<String>,
}

impl Journal {
    /// Adds a line.
    pub fn say(&mut self, line: String) {
        self.lines.push_back(line);
    }

    /// The next line to be written.
    pub fn next_line(&mut self) -> Option<String> {
        self.lines.pop_front()
    }

    /// Counts the bytes of a finished connection, to the server and back; `opener` if its client is here.
    pub fn carried(&mut self, opener: bool, [up, down]: [u64; 2]) {
        let [from_link, to_link] = if opener { [down, up] } else { [up, down] };
        self.counters.bytes[0] += from_link;
        self.counters.bytes[1] += to_link;
    }

    /// Counts a refused connection; `opening` if the far gateway has refused it.
    pub fn refuse(&mut self, answer: Answer, opening: bool) {
        self.counters.refuse(answer);
        if opening && (answer, self.counters.refused(answer)) == (Answer::NotUnderstood, 1) {
            self.say(
                "a connection was not understood by the far gateway: it may be of an older version".into(),
            );
        }
    }

    /// Counts an attempt to connect for which no port was free.
    pub fn lacks_port(&mut self, to: SocketAddr) {
        self.counters.port_waits += 1;
        if self.counters.port_waits == 1 {
            self.say(format!(
                "no port is free for a connection to {to}: new ones wait (more ports: net.ipv4.ip_local_port_range)"
            ));
        }
    }

    /// Counts a connection that waits for its user's memory.
    pub fn waits_for_memory(&mut self, user: User) {
        self.counters.memory_waits += 1;
        if self.counters.memory_waits == 1 {
            self.say(format!(
                "{user}: connections that do not read hold this user's part of `memory`: new ones wait"
            ));
        }
    }

    /// Counts a connection that is reset because of the memory that it holds.
    pub fn reset_for_memory(&mut self, user: User) {
        self.counters.memory_resets += 1;
        if self.counters.memory_resets == 1 {
            self.say(format!("{user}: `memory` is used up: connections that hold it are reset"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_connection_is_logged_and_all_are_counted() {
        let mut journal = Journal::default();
        let user = User::of([10, 1, 0, 2].into(), &[]);
        for _ in 0..3 {
            journal.lacks_port(SocketAddr::from(([192, 0, 2, 1], 80)));
            journal.waits_for_memory(user);
            journal.reset_for_memory(user);
        }
        let counters = &journal.counters;
        assert_eq!([counters.port_waits, counters.memory_waits, counters.memory_resets], [3; 3]);
        let lines: Vec<String> = std::iter::from_fn(|| journal.next_line()).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].contains("192.0.2.1:80") && lines[1].starts_with("10.1.0.2: "), "{lines:?}");
    }

    #[test]
    fn a_far_gateway_that_does_not_understand_is_logged_and_a_program_is_not() {
        for (opening, lines) in [(true, 1), (false, 0)] {
            let mut journal = Journal::default();
            journal.refuse(Answer::Full, opening);
            journal.refuse(Answer::NotUnderstood, opening);
            journal.refuse(Answer::NotUnderstood, opening);
            assert_eq!(journal.counters.refused(Answer::NotUnderstood), 2);
            assert_eq!(std::iter::from_fn(|| journal.next_line()).count(), lines);
        }
    }

    #[test]
    fn bytes_count_by_their_direction_on_the_link() {
        let mut journal = Journal::default();
        journal.carried(true, [1, 20]);
        journal.carried(false, [300, 4000]);
        assert_eq!(journal.counters.bytes, [320, 4001]);
    }
}
