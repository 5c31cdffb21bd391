//! DNS messages as a cache reads them: questions, times to live, sizes.
//!
//! Follows RFC 1035 §4, RFC 2308 §5 (negative answers), RFC 6891 (the client's UDP payload size).
//! Leaves out the meaning of names, and signatures: answers are passed on unchanged.

const HEADER: usize = 12;
const QR: u8 = 0x80;
const OPCODE: u8 = 0x78;
const TC: u8 = 0x02;
const SOA: u16 = 6;
const OPT: u16 = 41;
/// The largest response to a client that does not state a size.
const PLAIN_SIZE: usize = 512;
/// The longest time that an answer is kept.
const DAY_S: u32 = 86_400;

fn word(message: &[u8], at: usize) -> Option<u16> {
    message.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn long(message: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(word(message, at)?) << 16 | u32::from(word(message, at + 2)?))
}

/// The offset after a name, which may end in a compression pointer.
fn behind_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            len if len & 0xc0 == 0xc0 => return Some(at + 2),
            len if len & 0xc0 == 0 => at += 1 + usize::from(len),
            _ => return None,
        }
    }
}

/// A record after the question: its type, the offset of its time to live, and its data.
struct DnsRecord {
    section: usize,
    kind: u16,
    class: u16,
    ttl_at: usize,
    data: std::ops::Range<usize>,
}

/// The records of a message. `None` if it is malformed.
fn records(message: &[u8]) -> Option<Vec<DnsRecord>> {
    let mut at = question_end(message)?;
    let mut records = Vec::new();
    for section in 1..4 {
        for _ in 0..word(message, 4 + 2 * section)? {
            let name_end = behind_name(message, at)?;
            let len = usize::from(word(message, name_end + 8)?);
            let data = name_end + 10..name_end + 10 + len;
            message.get(data.clone())?;
            at = data.end;
            let (kind, class) = (word(message, name_end)?, word(message, name_end + 2)?);
            records.push(DnsRecord { section, kind, class, ttl_at: name_end + 4, data });
        }
    }
    Some(records)
}

/// The offset after the only question of a message. `None` if the message has none or several.
pub fn question_end(message: &[u8]) -> Option<usize> {
    if word(message, 4)? != 1 {
        return None;
    }
    let mut at = HEADER;
    // Names in a question are not compressed.
    while *message.get(at)? != 0 {
        let len = usize::from(message[at]);
        if len > 63 || at + len > HEADER + 255 {
            return None;
        }
        at += 1 + len;
    }
    message.get(..at + 5)?;
    Some(at + 5)
}

/// A query in normal form: without its ID, and with its name in lower case. `None` if it is not a standard query.
pub fn normal(query: &[u8]) -> Option<Vec<u8>> {
    let end = question_end(query)?;
    if query[2] & (QR | OPCODE | TC) != 0 || word(query, 6)? != 0 || word(query, 8)? != 0 {
        return None;
    }
    records(query)?;
    let mut normal = query[2..].to_vec();
    normal[HEADER - 2..end - 6].make_ascii_lowercase();
    Some(normal)
}

/// Returns true if a message answers this question; the case of letters does not matter.
pub fn answers(message: &[u8], query: &[u8]) -> bool {
    let (Some(end), Some(asked)) = (question_end(message), question_end(query)) else { return false };
    message[2] & QR != 0 && message[HEADER..end].eq_ignore_ascii_case(&query[HEADER..asked])
}

/// Seconds for which an answer may be cached: the smallest TTL of its records, for a negative one that of its SOA record. `None` if it may
/// not be cached.
pub fn lifetime_s(message: &[u8]) -> Option<u32> {
    let code = message.get(3)? & 0x0f;
    if !matches!(code, 0 | 3) || message[2] & TC != 0 {
        return None;
    }
    let records = records(message)?;
    let mut least = DAY_S;
    for record in records.iter().filter(|record| record.kind != OPT) {
        // RFC 2181 §8: a TTL with the highest bit set is zero.
        let ttl = long(message, record.ttl_at)?;
        least = least.min(if ttl >> 31 == 1 { 0 } else { ttl });
    }
    if code == 3 || !records.iter().any(|record| record.section == 1) {
        let soa = records.iter().find(|record| (record.section, record.kind) == (2, SOA))?;
        least = least.min(long(message, soa.data.end.checked_sub(4)?)?);
    }
    (least > 0).then_some(least)
}

/// The cached answer as a reply to another client's equal query, `age_s` later.
pub fn reply(answer: &[u8], query: &[u8], age_s: u32) -> Vec<u8> {
    let mut reply = answer.to_vec();
    let (Some(end), Some(asked)) = (question_end(answer), question_end(query)) else { return reply };
    reply[..2].copy_from_slice(&query[..2]);
    if end == asked {
        reply[HEADER..end].copy_from_slice(&query[HEADER..asked]);
    }
    for record in records(answer).into_iter().flatten().filter(|record| record.kind != OPT) {
        let ttl = long(answer, record.ttl_at).unwrap_or(0).saturating_sub(age_s);
        reply[record.ttl_at..record.ttl_at + 4].copy_from_slice(&ttl.to_be_bytes());
    }
    let size = size_taken(query);
    if reply.len() > size {
        // The client repeats the query over TCP.
        reply.truncate(end);
        reply[2] |= TC;
        reply[6..HEADER].fill(0);
    }
    reply
}

/// The largest datagram that the client of a query accepts.
fn size_taken(query: &[u8]) -> usize {
    let records = records(query).unwrap_or_default();
    let said = records.iter().find(|record| record.kind == OPT).map(|record| usize::from(record.class));
    said.unwrap_or(PLAIN_SIZE).max(PLAIN_SIZE)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A query with that ID for a name's address, with the size of RFC 6891 if given.
    pub fn query(number: u16, name: &str, size: Option<u16>) -> Vec<u8> {
        let mut out = number.to_be_bytes().to_vec();
        out.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(size.is_some())]);
        for label in name.split('.') {
            out.push(label.len() as u8);
            out.extend_from_slice(label.as_bytes());
        }
        out.extend_from_slice(&[0, 0, 1, 0, 1]);
        if let Some(size) = size {
            out.extend_from_slice(&[0, 0, 41]);
            out.extend_from_slice(&size.to_be_bytes());
            out.extend_from_slice(&[0, 0, 0, 0, 0, 0]);
        }
        out
    }

    /// The answer to it, with so many addresses and this time to live.
    pub fn answer(query: &[u8], count: u16, ttl: u32) -> Vec<u8> {
        let end = question_end(query).unwrap();
        let mut out = query[..end].to_vec();
        (out[2], out[3]) = (0x81, 0x80);
        out[6..8].copy_from_slice(&count.to_be_bytes());
        out[10..12].fill(0);
        for n in 0..count {
            out.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1]);
            out.extend_from_slice(&ttl.to_be_bytes());
            out.extend_from_slice(&[0, 4, 192, 0, 2, n as u8]);
        }
        out
    }

    fn no_such_name(query: &[u8], ttl: u32, minimum: u32) -> Vec<u8> {
        let mut out = answer(query, 0, 0);
        out[3] |= 3;
        out[9] = 1;
        out.extend_from_slice(&[0, 0, 6, 0, 1]);
        out.extend_from_slice(&ttl.to_be_bytes());
        out.extend_from_slice(&[0, 22, 0, 0]);
        out.extend_from_slice(&[0; 16]);
        out.extend_from_slice(&minimum.to_be_bytes());
        out
    }

    #[test]
    fn the_same_question_is_the_same_whoever_asks() {
        assert_eq!(normal(&query(1, "Www.Example", None)), normal(&query(9, "www.eXample", None)));
        assert_ne!(normal(&query(1, "www.example", None)), normal(&query(1, "www.example", Some(1232))));
        assert_ne!(normal(&query(1, "a.example", None)), normal(&query(1, "b.example", None)));
        let answered = answer(&query(1, "a.example", None), 1, 60);
        assert_eq!(normal(&answered), None, "an answer is no query");
        assert!(answers(&answered, &query(1, "A.example", None)));
        assert!(!answers(&answered, &query(1, "b.example", None)));
    }

    #[test]
    fn an_answer_lives_as_long_as_its_first_record_that_dies() {
        let asked = query(1, "a.example", None);
        assert_eq!(lifetime_s(&answer(&asked, 3, 77)), Some(77));
        assert_eq!(lifetime_s(&answer(&asked, 3, 0)), None);
        assert_eq!(lifetime_s(&answer(&asked, 1, 1 << 31)), None);
        assert_eq!(lifetime_s(&answer(&asked, 1, 1 << 30)), Some(DAY_S));
        assert_eq!(lifetime_s(&answer(&asked, 0, 0)), None, "nothing says how long there is nothing");
        assert_eq!(lifetime_s(&no_such_name(&asked, 300, 60)), Some(60));
        assert_eq!(lifetime_s(&no_such_name(&asked, 30, 60)), Some(30));
        let mut failed = answer(&asked, 1, 60);
        failed[3] |= 2;
        assert_eq!(lifetime_s(&failed), None);
    }

    #[test]
    fn a_reply_is_the_askers_own_with_less_time_to_live() {
        let kept = answer(&query(1, "a.example", None), 2, 60);
        let asked = query(0xbeef, "A.Example", None);
        assert_eq!(reply(&kept, &asked, 10), answer(&asked, 2, 50));
        let large = answer(&query(1, "a.example", Some(1232)), 60, 60);
        let short = reply(&large, &query(7, "a.example", None), 0);
        assert_eq!(
            (short.len(), short[2] & TC, &short[6..12]),
            (27, TC, &[0; 6][..]),
            "too large for 512 bytes"
        );
        assert_eq!(reply(&large, &query(7, "a.example", Some(1232)), 0).len(), large.len());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), seed in any::<u16>()) {
            let mut damaged = answer(&query(seed, "www.example", Some(1232)), 3, 60);
            for (at, byte) in bytes.iter().enumerate().take(8) {
                let place = usize::from(*byte) * (at + 1) % damaged.len();
                damaged[place] ^= *bytes.last().unwrap();
            }
            for message in [&bytes[..], &damaged] {
                let _ = (normal(message), lifetime_s(message), reply(message, &damaged, 5), reply(&damaged, message, 5));
                let _ = answers(message, &damaged) || answers(&damaged, message);
            }
        }
    }
}
