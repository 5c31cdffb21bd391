//! The first bytes of a stream between two gateways: the destination of the connection, and the answer.
//!
//! Follows docs/stp.md §16. Differs from SOCKS5 (RFC 1928), which has the same purpose: nothing is negotiated first, so data follow
//! it at once.
//! Leaves out keys: the association knows its peer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Version of the preamble.
pub const VERSION: u8 = 1;
/// The longest preamble that this version writes, bytes.
pub const MOST: usize = 4 + 1 + 1 + 255 + 2 + 1 + 16 + 2 + OPTION_HEADER + 1;
/// The longest that it reads: a later one may have more options.
pub const READ_MOST: usize = MOST + 256;
const OPTION_HEADER: usize = 2;

/// The destination of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// An address and a port.
    Address(SocketAddr),
    /// A name that the far gateway resolves, and a port.
    Name(String, u16),
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::Address(address) => address.fmt(f),
            Destination::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

/// Contents of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Carries {
    /// The bytes of a TCP connection.
    #[default]
    Connection = 0,
    /// Datagrams of UDP: the association's on the channel of the stream's number, and in the stream those that are too large for one.
    Datagrams = 1,
}

/// The purpose of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preamble {
    /// Its contents.
    pub carries: Carries,
    /// Destination of the connection.
    pub destination: Destination,
    /// Address and port of the client, if known.
    pub source: Option<SocketAddr>,
    /// The code point of the client's packets (RFC 2474), 0 to 63, if it is not zero.
    pub dscp: Option<u8>,
}

/// The reason for which bytes are not a preamble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreambleError {
    /// Its version is another.
    Version(u8),
    /// The preamble contradicts itself.
    Malformed,
}

/// The far gateway's first byte in return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// The connection with the server is open.
    Connected,
    /// The server has refused it.
    Refused,
    /// The network reports that the server is unreachable.
    Unreachable,
    /// The server has not answered.
    TimedOut,
    /// The gateway does not allow this destination.
    Forbidden,
    /// The gateway has reached its limit of connections.
    Full,
    /// The name is not known.
    NoSuchName,
    /// The preamble was not understood.
    NotUnderstood,
    /// The client's terminal has used up its quota.
    OverQuota,
}

impl Answer {
    /// All answers, in order of their numbers.
    pub const ALL: [Answer; 9] = [
        Answer::Connected,
        Answer::Refused,
        Answer::Unreachable,
        Answer::TimedOut,
        Answer::Forbidden,
        Answer::Full,
        Answer::NoSuchName,
        Answer::NotUnderstood,
        Answer::OverQuota,
    ];

    /// Its number, which is the byte sent.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The answer with this number; [`Answer::NotUnderstood`] for one of a later version.
    pub fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Answer::NotUnderstood)
    }

    /// Name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Connected => "connected",
            Answer::Refused => "refused",
            Answer::Unreachable => "unreachable",
            Answer::TimedOut => "timed-out",
            Answer::Forbidden => "forbidden",
            Answer::Full => "full",
            Answer::NoSuchName => "no-such-name",
            Answer::NotUnderstood => "not-understood",
            Answer::OverQuota => "over-quota",
        }
    }
}

const IPV4: u8 = 4;
const IPV6: u8 = 6;
const NAME: u8 = 1;
const NONE: u8 = 0;
const DSCP: u8 = 1;

impl Preamble {
    /// Of a connection to there, of a client that is not named.
    pub fn to(destination: Destination) -> Self {
        Preamble { carries: Carries::Connection, destination, source: None, dscp: None }
    }

    /// Appends the preamble: version, two bytes of length, contents, destination, source, options.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[VERSION, 0, 0, self.carries as u8]);
        match &self.destination {
            Destination::Address(address) => put_address(*address, out),
            Destination::Name(name, port) => {
                let name = &name.as_bytes()[..name.len().min(255)];
                out.extend_from_slice(&[NAME, name.len() as u8]);
                out.extend_from_slice(name);
                out.extend_from_slice(&port.to_be_bytes());
            }
        }
        match self.source {
            Some(source) => put_address(source, out),
            None => out.push(NONE),
        }
        if let Some(dscp) = self.dscp {
            out.extend_from_slice(&[DSCP, 1, dscp]);
        }
        let len = (out.len() - start - 4) as u16;
        out[start + 1..start + 3].copy_from_slice(&len.to_be_bytes());
    }

    /// Reads a preamble at the beginning of `bytes`, and its length. `None` if it is not complete yet.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, PreambleError> {
        let Some(&version) = bytes.first() else { return Ok(None) };
        if version != VERSION {
            return Err(PreambleError::Version(version));
        }
        let Some((head, rest)) = bytes.split_at_checked(4) else { return Ok(None) };
        let len = usize::from(u16::from_be_bytes([head[1], head[2]]));
        let carries = match head[3] {
            0 => Carries::Connection,
            1 => Carries::Datagrams,
            _ => return Err(PreambleError::Malformed),
        };
        if len > READ_MOST - 4 {
            return Err(PreambleError::Malformed);
        }
        let Some(mut rest) = rest.get(..len) else { return Ok(None) };
        let parsed = (|| {
            let destination = match take(&mut rest, 1)?[0] {
                NAME => {
                    let len = usize::from(take(&mut rest, 1)?[0]);
                    let name = std::str::from_utf8(take(&mut rest, len)?).ok()?;
                    let printable = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
                    Destination::Name(printable.then(|| name.to_owned())?, port(&mut rest)?)
                }
                family => Destination::Address(address(family, &mut rest)?),
            };
            let source = match take(&mut rest, 1)?[0] {
                NONE => None,
                family => Some(address(family, &mut rest)?),
            };
            let mut dscp = None;
            while !rest.is_empty() {
                let kind = take(&mut rest, 1)?[0];
                let len = usize::from(take(&mut rest, 1)?[0]);
                // An option of a later version changes nothing that has to be understood.
                match (kind, take(&mut rest, len)?) {
                    (DSCP, &[number]) if number < 64 => dscp = Some(number),
                    (DSCP, _) => return None,
                    _ => {}
                }
            }
            Some(Preamble { carries, destination, source, dscp })
        })();
        parsed.map(|preamble| Some((preamble, 4 + len))).ok_or(PreambleError::Malformed)
    }
}

fn put_address(address: SocketAddr, out: &mut Vec<u8>) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(IPV4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(IPV6);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&address.port().to_be_bytes());
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(n)?;
    *bytes = rest;
    Some(taken)
}

fn port(bytes: &mut &[u8]) -> Option<u16> {
    take(bytes, 2).map(|port| u16::from_be_bytes([port[0], port[1]]))
}

fn address(family: u8, bytes: &mut &[u8]) -> Option<SocketAddr> {
    let ip = match family {
        IPV4 => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(take(bytes, 4)?).ok()?)),
        IPV6 => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(take(bytes, 16)?).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn emitted(preamble: &Preamble) -> Vec<u8> {
        let mut bytes = Vec::new();
        preamble.emit(&mut bytes);
        bytes
    }

    /// The bytes of the example in docs/stp.md §16.
    #[test]
    fn bytes_are_those_of_the_document() {
        let preamble = Preamble {
            source: Some("10.1.0.9:50000".parse().unwrap()),
            ..Preamble::to(Destination::Address("192.0.2.7:443".parse().unwrap()))
        };
        let bytes = [1, 0, 14, 0, 4, 192, 0, 2, 7, 1, 0xbb, 4, 10, 1, 0, 9, 0xc3, 0x50];
        assert_eq!(emitted(&preamble), bytes);
        let named = Preamble::to(Destination::Name("a.example".into(), 80));
        assert_eq!(emitted(&named), b"\x01\x00\x0e\x00\x01\x09a.example\x00\x50\x00");
        let marked = Preamble { carries: Carries::Datagrams, dscp: Some(46), ..preamble };
        let bytes = [1, 0, 17, 1, 4, 192, 0, 2, 7, 1, 0xbb, 4, 10, 1, 0, 9, 0xc3, 0x50, 1, 1, 46];
        assert_eq!(emitted(&marked), bytes);
    }

    #[test]
    fn the_longest_one_is_as_long_as_said() {
        let name = "x".repeat(255);
        let source = Some("[2001:db8::1]:1".parse().unwrap());
        let longest = Preamble { source, dscp: Some(63), ..Preamble::to(Destination::Name(name, 1)) };
        let bytes = emitted(&longest);
        assert_eq!(bytes.len(), MOST);
        assert!(Preamble::parse(&bytes).unwrap().is_some());
    }

    #[test]
    fn options_of_later_versions_are_passed_over_and_broken_ones_are_not() {
        let known = Preamble { dscp: Some(10), ..Preamble::to(Destination::Name("a.example".into(), 80)) };
        let with = |option: &[u8]| {
            let mut bytes = emitted(&known);
            bytes.extend_from_slice(option);
            bytes[2] += option.len() as u8;
            Preamble::parse(&bytes).map(|read| read.map(|(preamble, _)| preamble))
        };
        assert_eq!(with(&[200, 3, 1, 2, 3]), Ok(Some(known.clone())));
        assert_eq!(with(&[200, 0]), Ok(Some(known.clone())));
        for wrong in [&[200][..], &[200, 4, 1, 2, 3], &[1, 1, 64], &[1, 2, 1, 1], &[1, 0]] {
            assert_eq!(with(wrong), Err(PreambleError::Malformed), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn it_reads_back_from_any_piece(
            v6 in any::<bool>(), low in any::<u32>(), port in any::<u16>(), source in any::<bool>(), more in 0..9_usize,
        ) {
            let ip = if v6 { IpAddr::V6(Ipv6Addr::from(u128::from(low) << 64 | 7)) } else { IpAddr::V4(Ipv4Addr::from(low)) };
            let address = SocketAddr::new(ip, port);
            let dscp = (low & 64 == 0).then_some((low & 63) as u8);
            let carries = if low & 128 == 0 { Carries::Connection } else { Carries::Datagrams };
            let destination = Destination::Address(address);
            let preamble = Preamble { carries, destination, source: source.then_some(address), dscp };
            let mut bytes = emitted(&preamble);
            let len = bytes.len();
            for part in 0..len {
                prop_assert_eq!(Preamble::parse(&bytes[..part]), Ok(None));
            }
            bytes.resize(len + more, 0xaa);
            prop_assert_eq!(Preamble::parse(&bytes), Ok(Some((preamble, len))));
        }

        #[test]
        fn anything_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), version in any::<bool>()) {
            let mut bytes = bytes;
            if version && !bytes.is_empty() {
                bytes[0] = VERSION;
            }
            if let Ok(Some((preamble, len))) = Preamble::parse(&bytes) {
                // Options that are not known are not written again.
                let again = emitted(&preamble);
                prop_assert!(again.len() <= len);
                prop_assert_eq!(Preamble::parse(&again), Ok(Some((preamble, again.len()))));
            }
        }
    }
}
