//! Applications of simulated hosts, for connections with programs.
//!
//! Follows RFC 862 (echo), RFC 863 (discard), RFC 864 (a stream of bytes to each client, here zeros) and HTTP/1.1 (RFC 9112) for
//! GET and HEAD.
//! Differs from applications of the simulator: they read the bytes that a program wrote.
//! Leaves out connections (`simulated`), and files.

use crate::serve::zeros;
use skyhop_sim::Exchanges;
use skyhop_transport::tcp::Carry;
use skyhop_units::Time;
use std::collections::VecDeque;

/// Number of bytes read or written at once.
const PART: usize = 1 << 14;
/// The longest head of a request or reply.
const LONGEST_HEAD: usize = 1 << 16;

/// An application over one connection.
#[derive(Debug)]
pub enum Responder {
    /// Sends back the bytes that arrive.
    Echo(Vec<u8>),
    /// Discards the bytes that arrive.
    Sink,
    /// Sends this many zeros, and reads and discards what arrives.
    Source(u64),
    /// Answers HTTP requests.
    Http(Http),
    /// Sends one request and reads the reply.
    Fetch(ServerFetch),
}

/// The server's side of an HTTP connection.
#[derive(Debug, Default)]
pub struct Http {
    head: Vec<u8>,
    /// Replies in order: the time at which each is ready (`None` if it is), its head, and the number of zeros after it.
    replies: VecDeque<(Option<Time>, Vec<u8>, u64)>,
    /// True if the connection ends with the last reply.
    last: bool,
}

/// The client's side of one HTTP exchange.
#[derive(Debug)]
pub struct ServerFetch {
    request: Vec<u8>,
    head: Vec<u8>,
    /// Bytes of the body that have not arrived, once the head has.
    left: Option<u64>,
    /// True if the reply was not understood.
    pub wrong: bool,
}

impl ServerFetch {
    /// A request to `host` for `bytes` zeros.
    pub fn new(host: &str, bytes: u64, persistent: bool) -> Self {
        let close = if persistent { "" } else { "Connection: close\r\n" };
        let request =
            format!("GET /bytes/{bytes} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: skyhop\r\n{close}\r\n");
        Self { request: request.into_bytes(), head: Vec::new(), left: None, wrong: false }
    }

    /// Returns true if the whole reply has arrived.
    pub fn done(&self) -> bool {
        self.left == Some(0)
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let [first, rest @ ..] = bytes
            && self.left.is_none()
            && !self.wrong
        {
            self.head.push(*first);
            bytes = rest;
            if self.head.ends_with(b"\r\n\r\n") {
                self.left = length(&self.head);
                self.wrong = self.left.is_none();
            }
            self.wrong |= self.head.len() > LONGEST_HEAD;
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes.len() as u64);
        }
    }
}

/// `Content-Length` of a successful reply.
fn length(head: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.lines();
    let status = lines.next()?.split(' ').nth(1)?;
    let field = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    };
    let length = lines.find_map(field)?;
    status.starts_with('2').then_some(length)
}

impl Http {
    /// Handles bytes that arrive at `now`. `replies` gives the length of replies to requests that name none.
    fn take(&mut self, now: Time, bytes: &[u8], replies: Option<&mut Exchanges>) {
        let mut replies = replies;
        for byte in bytes {
            self.head.push(*byte);
            if self.head.ends_with(b"\r\n\r\n") {
                let head = std::mem::take(&mut self.head);
                self.request(now, &String::from_utf8_lossy(&head), replies.as_deref_mut());
            }
            if self.head.len() > LONGEST_HEAD {
                self.head.clear();
                self.answer(now, "431 Request Header Fields Too Large", 0, true);
            }
        }
    }

    fn request(&mut self, now: Time, head: &str, replies: Option<&mut Exchanges>) {
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let asked = lines.any(|line| line.trim().eq_ignore_ascii_case("connection: close"));
        let last = asked || words.next() == Some("HTTP/1.0");
        let path = target.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
        let (status, ready, len, last) = match (method, replies) {
            ("GET" | "HEAD", Some(replies)) => {
                let len = zeros(path).unwrap_or_else(|| replies.reply());
                ("200 OK", now + replies.server_time(), len, last || !replies.persistent())
            }
            ("GET" | "HEAD", None) => match zeros(path) {
                Some(len) => ("200 OK", now, len, last),
                None => ("404 Not Found", now, 0, last),
            },
            _ => ("405 Method Not Allowed", now, 0, last),
        };
        self.answer(ready, status, len, last);
        if method == "HEAD"
            && let Some((_, _, body)) = self.replies.back_mut()
        {
            *body = 0;
        }
    }

    fn answer(&mut self, ready: Time, status: &str, len: u64, last: bool) {
        if self.last {
            return;
        }
        let close = if last { "Connection: close\r\n" } else { "" };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\n{close}\r\n").into_bytes();
        // Replies keep the order of their requests.
        let before = self.replies.back().and_then(|(before, ..)| *before);
        self.replies.push_back((Some(before.map_or(ready, |before| ready.max(before))), head, len));
        self.last = last;
    }
}

impl Responder {
    /// The service of a port of a simulated host; `None` if the port is closed. `source` is the number of bytes that RFC 864 sends.
    pub fn at(port: u16, source: u64) -> Option<Self> {
        match port {
            7 => Some(Responder::Echo(Vec::new())),
            9 => Some(Responder::Sink),
            19 => Some(Responder::Source(source)),
            80 => Some(Responder::Http(Http::default())),
            _ => None,
        }
    }

    /// Returns true if the service sends data that are counted.
    pub fn sends(&self) -> bool {
        !matches!(self, Responder::Sink)
    }

    /// Reads and writes as much as possible; `finished` is true if the peer sends no more.
    pub fn step(&mut self, now: Time, carry: &mut Carry, finished: bool, replies: Option<&mut Exchanges>) {
        let mut replies = replies;
        let mut buffer = [0; PART];
        loop {
            // An echo reads no more than it can write.
            let waits = matches!(self, Responder::Echo(left) if !left.is_empty());
            let count = if waits { 0 } else { carry.read(&mut buffer) };
            let bytes = &buffer[..count];
            match self {
                Responder::Echo(left) => left.extend_from_slice(bytes),
                Responder::Sink | Responder::Source(_) => {}
                Responder::Http(http) => http.take(now, bytes, replies.as_deref_mut()),
                Responder::Fetch(fetch) => fetch.take(bytes),
            }
            let wrote = self.write(now, carry);
            if count == 0 && !wrote {
                break;
            }
        }
        let over = match self {
            Responder::Echo(left) => finished && left.is_empty() && carry.readable() == 0,
            Responder::Sink => finished,
            Responder::Source(left) => *left == 0,
            Responder::Http(http) => (finished || http.last) && http.replies.is_empty(),
            Responder::Fetch(fetch) => finished || fetch.wrong,
        };
        if over {
            carry.shutdown();
        }
    }

    /// Writes as much as possible. Returns true if that was anything.
    fn write(&mut self, now: Time, carry: &mut Carry) -> bool {
        match self {
            Responder::Sink => false,
            Responder::Echo(left) => drain(left, carry),
            Responder::Fetch(fetch) => drain(&mut fetch.request, carry),
            Responder::Source(left) => fill(left, carry),
            Responder::Http(http) => {
                let Some((ready, head, left)) = http.replies.front_mut() else { return false };
                if ready.is_some_and(|ready| ready > now) {
                    return false;
                }
                *ready = None;
                let wrote = drain(head, carry) | (head.is_empty() && fill(left, carry));
                let done = head.is_empty() && *left == 0;
                if done {
                    http.replies.pop_front();
                }
                wrote || done
            }
        }
    }

    /// Time of its next timer.
    pub fn poll_timeout(&self) -> Option<Time> {
        let Responder::Http(http) = self else { return None };
        http.replies.front().and_then(|(ready, ..)| *ready)
    }
}

/// Writes from the front of `left`.
fn drain(left: &mut Vec<u8>, carry: &mut Carry) -> bool {
    let taken = carry.write(left);
    left.drain(..taken);
    taken > 0
}

/// Writes zeros, at most `left`.
fn fill(left: &mut u64, carry: &mut Carry) -> bool {
    static ZEROS: [u8; PART] = [0; PART];
    let most = (*left).min(PART as u64) as usize;
    let taken = carry.write(&ZEROS[..most]);
    *left -= taken as u64;
    taken > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Vec<(String, u64)> {
        let mut http = Http::default();
        http.take(Time::ZERO, text.as_bytes(), None);
        let text = |(_, head, len): (Option<Time>, Vec<u8>, u64)| (String::from_utf8(head).unwrap(), len);
        http.replies.into_iter().map(text).collect()
    }

    #[test]
    fn requests_are_answered_in_their_order() {
        let two = asked("GET /bytes/10kB HTTP/1.1\r\nHost: x\r\n\r\nHEAD /bytes/7 HTTP/1.1\r\n\r\nGET /no");
        assert_eq!(
            two,
            [
                ("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n".to_owned(), 10_000),
                ("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".to_owned(), 0)
            ]
        );
        let last = asked("GET /none HTTP/1.1\r\nconnection: CLOSE\r\n\r\nGET /bytes/7 HTTP/1.1\r\n\r\n");
        assert_eq!(last.len(), 1, "none behind the last");
        assert!(
            last[0].0.starts_with("HTTP/1.1 404 Not Found\r\n") && last[0].0.contains("Connection: close")
        );
        assert!(asked("PUT / HTTP/1.1\r\n\r\n")[0].0.contains("405"));
        assert!(asked(&"x".repeat(LONGEST_HEAD + 1))[0].0.contains("431"));
    }

    #[test]
    fn a_reply_waits_until_it_is_ready() {
        let mut http = Http::default();
        let ready = Time::ZERO + skyhop_units::Span::from_millis(5);
        http.answer(ready, "200 OK", 3, false);
        let answer = Responder::Http(http);
        assert_eq!(answer.poll_timeout(), Some(ready), "also when that is now");
    }

    #[test]
    fn a_reply_is_here_with_its_last_byte() {
        let mut fetch = ServerFetch::new("server", 5, true);
        fetch.take(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n1234");
        assert!(!fetch.done() && !fetch.wrong);
        fetch.take(b"5");
        assert!(fetch.done());
        for wrong in ["HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n", "hello\r\n\r\n"] {
            let mut fetch = ServerFetch::new("server", 5, false);
            fetch.take(wrong.as_bytes());
            assert!(fetch.wrong && !fetch.done(), "{wrong}");
        }
    }
}
