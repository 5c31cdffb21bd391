//! Key logs, with which the sealed packets of a capture are opened.
//!
//! Follows the purpose of the TLS key log (RFC 9850): the secrets of a session allow reading it later.
//! Differs: a line has both directions, under the indices in the packets. A packet is opened as often as it was captured, from any
//! address, and datagrams that the kernel sent as one are separated.
//! Leaves out handshakes, whose packets only identify the hosts, and whose results are in the log.

use crate::handshake::{
    Hello, INDEX_MASK, Secrets, index_of, kind, parse_answer, parse_cookie, parse_refusal,
};
use crate::keys::unhex;
use crate::seal::{Cipher, EPOCH_BITS, HEADER_LEN, OVERHEAD, Opener};
use skyhop_wire::stp::UDP_PORT;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;

/// First word of a line.
pub(crate) const WORD: &str = "SKYHOP_STP";

/// Largest number of keys by which a packet may be ahead of the last one opened: 400 GB that were not captured.
const SKIPPED_MAX: u64 = 4;

/// An invalid line of a key log; the error does not quote its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLogError {
    /// Number of the line, from 1; 0 for a file without lines.
    pub line: usize,
    why: &'static str,
}

impl fmt::Display for KeyLogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(self.why),
            line => write!(
                f,
                "line {line}: {}; expected \"{WORD} INITIATOR RESPONDER CIPHER FORWARD BACK\", as --key-log writes it",
                self.why
            ),
        }
    }
}

impl std::error::Error for KeyLogError {}

/// An association's line.
#[derive(Clone)]
struct Line {
    indices: (u32, u32),
    cipher: Cipher,
    secrets: Secrets,
}

/// The secrets of associations.
#[derive(Clone, Default)]
pub struct KeyLog {
    lines: Vec<Line>,
}

impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLog").field("associations", &self.lines.len()).finish_non_exhaustive()
    }
}

impl KeyLog {
    /// Adds the lines of a file, since both hosts may have kept one. Empty lines, lines that begin with #, and known ones are
    /// skipped.
    ///
    /// # Errors
    ///
    /// The first invalid line, or a file without lines; nothing of the file is added then.
    pub fn add(&mut self, text: &str) -> Result<(), KeyLogError> {
        let mut new = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                new.push(parse(line).map_err(|why| KeyLogError { line: number, why })?);
            }
        }
        if new.is_empty() {
            return Err(KeyLogError { line: 0, why: "no association in it" });
        }
        for line in new {
            let same = |known: &Line| {
                known.indices == line.indices
                    && known.cipher == line.cipher
                    && known.secrets.forward == line.secrets.forward
                    && known.secrets.back == line.secrets.back
            };
            if !self.lines.iter().any(same) {
                self.lines.push(line);
            }
        }
        Ok(())
    }

    /// Number of associations.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns true if there are no associations.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

fn parse(line: &str) -> Result<Line, &'static str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [WORD, initiator, responder, cipher, forward, back] = words[..] else {
        return Err("no line of a key log");
    };
    let index =
        |word: &str| u32::from_str_radix(word, 16).ok().filter(|i| *i <= INDEX_MASK && word.len() == 6);
    let indices = index(initiator).zip(index(responder)).ok_or("an index that is not six hex digits")?;
    let cipher = cipher.parse().map_err(|_| "an unknown cipher")?;
    let secret = |word: &str| unhex(word).ok_or("a secret that is not 64 hex digits");
    Ok(Line { indices, cipher, secrets: Secrets { forward: secret(forward)?, back: secret(back)? } })
}

/// A datagram of a capture, decrypted if possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Not of STP, as far as can be determined.
    Foreign,
    /// A packet that opens an association, or refuses to.
    Handshake,
    /// One or several sealed packets.
    Opened {
        /// The STP packets in them; altered ones are left as captured.
        packets: Vec<Vec<u8>>,
        /// Number of altered packets among them.
        altered: usize,
    },
    /// A sealed packet of an association that is not in the log.
    NoKey,
    /// A sealed packet of an association in the log that cannot be opened: altered on the way, or forged.
    Altered,
    /// A sealed packet that was captured only in part.
    CutOff,
}

/// Counts of datagrams by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Sealed packets that were opened.
    pub opened: u64,
    /// Associations with such packets.
    pub associations: u64,
    /// Packets of handshakes.
    pub handshake: u64,
    /// Sealed datagrams without a key.
    pub no_key: u64,
    /// Sealed datagrams that cannot be opened with their key.
    pub altered: u64,
    /// Sealed datagrams that were captured only in part.
    pub cut_off: u64,
    /// Other datagrams.
    pub foreign: u64,
}

impl Tally {
    /// Number of sealed datagrams that were not opened.
    pub fn unopened(&self) -> u64 {
        self.no_key + self.altered + self.cut_off
    }
}

struct DirectionKey {
    line: usize,
    opener: Opener,
}

/// Opens the packets of a capture with a key log.
pub struct Reader {
    /// Keys by the index in packets; two associations may have the same index.
    directions: BTreeMap<u32, Vec<DirectionKey>>,
    /// Pairs of addresses of which a packet was recognised.
    known: BTreeSet<[SocketAddr; 2]>,
    opened: BTreeSet<usize>,
    tally: Tally,
}

impl Reader {
    /// A reader for the associations in `log`.
    pub fn new(log: &KeyLog) -> Self {
        let mut directions: BTreeMap<u32, Vec<DirectionKey>> = BTreeMap::new();
        for (number, line) in log.lines.iter().enumerate() {
            let (initiator, responder) = line.indices;
            for (index, secret) in [(responder, &line.secrets.forward), (initiator, &line.secrets.back)] {
                let opener = Opener::new(line.cipher, secret, EPOCH_BITS);
                directions.entry(index).or_default().push(DirectionKey { line: number, opener });
            }
        }
        Reader { directions, known: BTreeSet::new(), opened: BTreeSet::new(), tally: Tally::default() }
    }

    /// Counts so far.
    pub fn tally(&self) -> Tally {
        Tally { associations: self.opened.len() as u64, ..self.tally }
    }

    /// Handles a datagram between two addresses; `whole` unless the capture has truncated it.
    pub fn datagram(&mut self, from: SocketAddr, to: SocketAddr, payload: &[u8], whole: bool) -> Seen {
        let pair = [from.min(to), from.max(to)];
        let seen = self.look(pair, payload, whole);
        let counted = match &seen {
            Seen::Foreign => &mut self.tally.foreign,
            Seen::Handshake => &mut self.tally.handshake,
            Seen::NoKey => &mut self.tally.no_key,
            Seen::Altered => &mut self.tally.altered,
            Seen::CutOff => &mut self.tally.cut_off,
            Seen::Opened { packets, altered } => {
                self.tally.opened += (packets.len() - altered) as u64;
                self.tally.altered += *altered as u64;
                self.known.insert(pair);
                return seen;
            }
        };
        *counted += 1;
        seen
    }

    fn look(&mut self, pair: [SocketAddr; 2], payload: &[u8], whole: bool) -> Seen {
        // Any datagram may begin with these bytes, so the port or earlier packets between the two addresses must confirm it.
        let ours = self.known.contains(&pair) || pair.iter().any(|end| end.port() == UDP_PORT);
        if handshake(payload) && (ours || Hello::parse(payload).is_some_and(|hello| hello.version == 1)) {
            self.known.insert(pair);
            return Seen::Handshake;
        }
        let Some(counter) = counter(payload) else { return Seen::Foreign };
        let index = index_of(&payload[1..4]);
        if !whole {
            let claimed = ours || self.directions.contains_key(&index);
            return if claimed { Seen::CutOff } else { Seen::Foreign };
        }
        if payload.len() < OVERHEAD {
            return if ours { Seen::Altered } else { Seen::Foreign };
        }
        let Some(directions) = self.directions.get_mut(&index) else {
            return if ours { Seen::NoKey } else { Seen::Foreign };
        };
        for direction in directions {
            if let Some(seen) = pieces(payload, counter).find_map(|len| direction.open(payload, len)) {
                self.opened.insert(direction.line);
                return seen;
            }
        }
        Seen::Altered
    }
}

impl DirectionKey {
    /// Opens a datagram split into pieces of `len` bytes and a remainder, if any of them opens.
    fn open(&mut self, payload: &[u8], len: usize) -> Option<Seen> {
        let mut altered = 0;
        let packets: Vec<Vec<u8>> = payload
            .chunks(len)
            .map(|piece| {
                self.open_one(piece).unwrap_or_else(|| {
                    altered += 1;
                    piece.to_vec()
                })
            })
            .collect();
        (altered < packets.len()).then_some(Seen::Opened { packets, altered })
    }

    fn open_one(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        let counter = counter(piece)?;
        let mut packet = piece.to_vec();
        let len = match self.opener.open(&mut packet) {
            Some(len) => len,
            None => {
                let mut ahead = self.opener.ahead(counter, SKIPPED_MAX)?;
                packet.copy_from_slice(piece);
                let len = ahead.open(&mut packet)?;
                self.opener = ahead;
                len
            }
        };
        packet.truncate(HEADER_LEN + len);
        packet.drain(..HEADER_LEN);
        Some(packet)
    }
}

/// Possible piece lengths of a datagram that the kernel combined, where the next counter would be found; the whole length comes
/// last.
fn pieces(payload: &[u8], counter: u64) -> impl Iterator<Item = usize> {
    let following = counter.wrapping_add(1).to_be_bytes();
    let places = (OVERHEAD..payload.len().saturating_sub(OVERHEAD - 1)).filter(move |&at| {
        payload[at..at + 4] == payload[..4] && payload[at + 4..at + HEADER_LEN] == following
    });
    places.chain([payload.len()])
}

fn counter(payload: &[u8]) -> Option<u64> {
    let header = payload.get(..HEADER_LEN).filter(|header| header[0] == kind::SEALED)?;
    Some(u64::from_be_bytes(header[4..].try_into().ok()?))
}

fn handshake(payload: &[u8]) -> bool {
    match payload.first() {
        Some(&kind::HELLO) => Hello::parse(payload).is_some(),
        Some(&kind::ANSWER) => parse_answer(payload).is_some(),
        Some(&kind::COOKIE) => parse_cookie(payload).is_some(),
        Some(&kind::REFUSED) => parse_refusal(payload).is_some(),
        _ => false,
    }
}
