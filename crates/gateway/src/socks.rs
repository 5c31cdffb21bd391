//! A program's request to a SOCKS5 proxy.
//!
//! Follows RFC 1928 (CONNECT only) and RFC 1929 (user and password).
//! Differs: data that arrive early, after the request, are kept for the server.
//! Leaves out BIND, UDP ASSOCIATE and GSSAPI, which are refused as the RFC requires.

use skyhop_splice::preamble::{Answer, Destination};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const VERSION: u8 = 5;
const NO_PASSWORD: u8 = 0;
const PASSWORD: u8 = 2;
const NONE_OF_THEM: u8 = 0xff;
const CONNECT: u8 = 1;
/// The longest request, bytes.
const MOST: usize = 4 + 256 + 2;

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Methods,
    Password,
    Request,
}

/// The result of a program's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The request is incomplete.
    More,
    /// A request for a connection to this destination.
    Connect(Destination),
    /// The request is refused and the answer is sent; the connection ends.
    Refused,
}

/// A program whose request is incomplete.
#[derive(Debug)]
pub struct Socks {
    password: Option<(String, String)>,
    stage: Stage,
    read: Vec<u8>,
    /// Bytes to be sent to the program.
    pub out: Vec<u8>,
}

impl Socks {
    /// A new program, which needs this user and password.
    pub fn new(password: Option<(String, String)>) -> Self {
        Socks { password, stage: Stage::Methods, read: Vec::new(), out: Vec::new() }
    }

    /// Adds bytes from the program, which may be an incomplete request.
    pub fn handle(&mut self, bytes: &[u8]) -> Asked {
        self.read.extend_from_slice(bytes);
        loop {
            let step = match self.stage {
                Stage::Methods => self.methods(),
                Stage::Password => self.check_password(),
                Stage::Request => return self.request(),
            };
            match step {
                Some(true) => {}
                Some(false) => return Asked::Refused,
                None => return Asked::More,
            }
        }
    }

    /// Bytes that the program has sent after its request.
    pub fn rest(self) -> Vec<u8> {
        self.read
    }

    fn methods(&mut self) -> Option<bool> {
        let &[version, count, ..] = &self.read[..] else { return self.version_first() };
        if version != VERSION {
            return Some(false);
        }
        let methods = self.read.get(2..2 + usize::from(count))?;
        let wanted = if self.password.is_some() { PASSWORD } else { NO_PASSWORD };
        let chosen = if methods.contains(&wanted) { wanted } else { NONE_OF_THEM };
        self.out.extend_from_slice(&[VERSION, chosen]);
        self.read.drain(..2 + usize::from(count));
        self.stage = if chosen == PASSWORD { Stage::Password } else { Stage::Request };
        Some(chosen != NONE_OF_THEM)
    }

    /// The first byte alone identifies a program of another protocol.
    fn version_first(&self) -> Option<bool> {
        (self.read.first().is_some_and(|version| *version != VERSION)).then_some(false)
    }

    fn check_password(&mut self) -> Option<bool> {
        let user_len = usize::from(*self.read.get(1)?);
        let password_len = usize::from(*self.read.get(2 + user_len)?);
        let end = 3 + user_len + password_len;
        let said = self.read.get(..end)?;
        let (user, password) = (&said[2..2 + user_len], &said[3 + user_len..]);
        let good = said[0] == 1
            && self.password.as_ref().is_some_and(|(own_user, own_password)| {
                same(user, own_user.as_bytes()) & same(password, own_password.as_bytes())
            });
        self.out.extend_from_slice(&[1, u8::from(!good)]);
        self.read.drain(..end);
        self.stage = Stage::Request;
        Some(good)
    }

    fn request(&mut self) -> Asked {
        let Some(&[version, command, _, kind]) = self.read.first_chunk() else { return Asked::More };
        if version != VERSION {
            return Asked::Refused;
        }
        let len = match kind {
            1 => 4,
            4 => 16,
            3 => match self.read.get(4) {
                Some(len) => 1 + usize::from(*len),
                None => return Asked::More,
            },
            _ => return self.refuse(8),
        };
        let Some(address) = self.read.get(4..4 + len + 2) else {
            return if self.read.len() > MOST { Asked::Refused } else { Asked::More };
        };
        let port = u16::from_be_bytes([address[len], address[len + 1]]);
        let ip = |bytes: &[u8]| match bytes.len() {
            4 => <[u8; 4]>::try_from(bytes).map(|octets| IpAddr::V4(Ipv4Addr::from(octets))),
            _ => <[u8; 16]>::try_from(bytes).map(|octets| IpAddr::V6(Ipv6Addr::from(octets))),
        };
        let destination = match kind {
            3 => match std::str::from_utf8(&address[1..len]) {
                Ok(name) if !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic()) => {
                    match name.parse() {
                        Ok(ip) => Destination::Address(SocketAddr::new(ip, port)),
                        Err(_) => Destination::Name(name.to_owned(), port),
                    }
                }
                _ => return self.refuse(1),
            },
            _ => Destination::Address(SocketAddr::new(ip(&address[..len]).expect("of this length"), port)),
        };
        self.read.drain(..4 + len + 2);
        if command != CONNECT {
            return self.refuse(7);
        }
        Asked::Connect(destination)
    }

    fn refuse(&mut self, code: u8) -> Asked {
        self.out.extend_from_slice(&[VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]);
        Asked::Refused
    }
}

/// The reply to a request, after the far gateway's answer.
pub fn reply(answer: Answer) -> [u8; 10] {
    let code = match answer {
        Answer::Connected => 0,
        Answer::Forbidden | Answer::OverQuota => 2,
        Answer::Unreachable | Answer::NoSuchName => 4,
        Answer::Refused => 5,
        Answer::TimedOut => 6,
        Answer::Full | Answer::NotUnderstood => 1,
    };
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// Compares in constant time.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked(socks: &mut Socks, bytes: &[u8]) -> Asked {
        // Byte by byte, as a path may deliver them.
        let mut last = Asked::More;
        for byte in bytes {
            last = socks.handle(&[*byte]);
        }
        last
    }

    #[test]
    fn a_connection_by_name_and_by_address() {
        let mut socks = Socks::new(None);
        assert_eq!(asked(&mut socks, &[5, 1, 0]), Asked::More);
        assert_eq!(socks.out, [5, 0]);
        let wanted = Destination::Name("a.example".into(), 80);
        assert_eq!(socks.handle(b"\x05\x01\x00\x03\x09a.example\x00\x50GET"), Asked::Connect(wanted));
        assert_eq!(socks.rest(), b"GET");
        let mut socks = Socks::new(None);
        let wanted = Destination::Address("192.0.2.7:443".parse().unwrap());
        let request = [5, 2, 2, 0, 5, 1, 0, 1, 192, 0, 2, 7, 1, 187];
        assert_eq!(asked(&mut socks, &request), Asked::Connect(wanted));
    }

    #[test]
    fn a_password_is_asked_for_and_checked() {
        let password = Some(("me".to_owned(), "secret".to_owned()));
        let mut socks = Socks::new(password.clone());
        assert_eq!(asked(&mut socks, &[5, 1, 0]), Asked::Refused);
        assert_eq!(socks.out, [5, 0xff]);
        let mut socks = Socks::new(password.clone());
        assert_eq!(asked(&mut socks, b"\x05\x01\x02\x01\x02me\x06secret"), Asked::More);
        assert_eq!(socks.out, [5, 2, 1, 0]);
        for wrong in [&b"\x01\x02me\x06secreT"[..], b"\x01\x02me\x05secre", b"\x01\x00\x00"] {
            let mut socks = Socks::new(password.clone());
            asked(&mut socks, &[5, 1, 2]);
            assert_eq!(asked(&mut socks, wrong), Asked::Refused);
        }
    }

    #[test]
    fn other_requests_and_protocols_are_refused() {
        let mut socks = Socks::new(None);
        assert_eq!(socks.handle(b"GET / HTTP/1.1\r\n"), Asked::Refused);
        assert!(socks.out.is_empty());
        for (request, code) in [(&[5, 2, 0, 1, 1, 2, 3, 4, 0, 80][..], 7), (&[5, 1, 0, 9], 8)] {
            let mut socks = Socks::new(None);
            socks.handle(&[5, 1, 0]);
            assert_eq!(socks.handle(request), Asked::Refused);
            assert_eq!(socks.out[3], code);
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_within_bounds(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..20)) {
            let mut socks = Socks::new(Some(("a".into(), "b".into())));
            let mut first = vec![5, 1, 2, 1, 1, b'a', 1, b'b'];
            for piece in pieces {
                first.extend(piece);
                if socks.handle(&std::mem::take(&mut first)) != Asked::More {
                    break;
                }
                prop_assert!(socks.read.len() <= MOST);
            }
        }
    }
}
