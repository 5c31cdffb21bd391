//! Differentiated services code points across a split connection, and the table that changes them.
//!
//! Follows RFC 2474 (the field), 2597, 3246, 5865 and 8622 (names). A connection without a row in the table keeps its code point towards
//! the server and towards the client.
//! Leaves out the association's own packets, which have a single code point since they share a congestion control.

use std::fmt;
use std::str::FromStr;

/// A code point, 0 to 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Dscp(u8);

/// Names besides cs0 to cs7 and af11 to af43.
const NAMES: [(&str, u8); 3] = [("ef", 46), ("va", 44), ("le", 1)];

impl Dscp {
    /// The code point in a byte of IPv4 type of service or IPv6 traffic class.
    pub fn of_byte(byte: u8) -> Self {
        Dscp(byte >> 2)
    }

    /// The code point with a number; unassigned high bits in a peer's number are dropped.
    pub fn from_number(number: u8) -> Self {
        Dscp(number & 0x3f)
    }

    /// The number of the code point.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The byte of the header, with the ECN bits zero.
    pub fn byte(self) -> u8 {
        self.0 << 2
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = NAMES.iter().find(|(_, number)| *number == self.0) {
            return f.write_str(name);
        }
        let (class, drop) = (self.0 >> 3, (self.0 & 7) >> 1);
        match (self.0 & 7, class) {
            (0, _) => write!(f, "cs{class}"),
            (2 | 4 | 6, 1..=4) => write!(f, "af{class}{drop}"),
            _ => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().to_ascii_lowercase();
        let number = name.parse().ok().filter(|number| *number < 64);
        let known = (0..64).find(|number| Dscp(*number).to_string() == name);
        number.or(known).map(Dscp).ok_or_else(|| {
            format!("\"{text}\" is no code point; \"ef\", \"af41\", \"cs1\" and numbers from 0 to 63 are")
        })
    }
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DscpRow {
    /// Code points of clients' packets to which the row applies.
    pub client: Vec<Dscp>,
    /// The code point towards the server, if it changes.
    pub server: Option<Dscp>,
    /// The code point towards the client, if it changes.
    pub back: Option<Dscp>,
    /// Priority of the stream, in place of the one by age.
    pub priority: Option<u8>,
}

/// The table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DscpTable(pub Vec<DscpRow>);

impl DscpTable {
    fn row(&self, client: Dscp) -> Option<&DscpRow> {
        self.0.iter().find(|row| row.client.contains(&client))
    }

    /// The code point towards the server.
    pub fn server(&self, client: Dscp) -> Dscp {
        self.row(client).and_then(|row| row.server).unwrap_or(client)
    }

    /// The code point towards the client.
    pub fn back(&self, client: Dscp) -> Dscp {
        self.row(client).and_then(|row| row.back).unwrap_or(client)
    }

    /// The priority of the stream, if the table sets one.
    pub fn priority(&self, client: Dscp) -> Option<u8> {
        self.row(client)?.priority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_standards() {
        for (name, number) in [
            ("cs0", 0),
            ("le", 1),
            ("cs1", 8),
            ("af11", 10),
            ("af43", 38),
            ("va", 44),
            ("ef", 46),
            ("cs7", 56),
        ] {
            let dscp: Dscp = name.parse().unwrap();
            assert_eq!((dscp.number(), dscp.to_string().as_str()), (number, name));
            assert_eq!(Dscp::of_byte(dscp.byte() | 3), dscp, "{name} beside ECN");
        }
        for number in 0..64 {
            let dscp = Dscp(number);
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
            assert_eq!(number.to_string().parse(), Ok(dscp));
        }
        for wrong in ["64", "-1", "af14", "af51", "cs8", "", "e f"] {
            assert!(wrong.parse::<Dscp>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_in_the_table_stays() {
        let [ef, cs1, af41] = ["ef", "cs1", "af41"].map(|name| name.parse().unwrap());
        let row = DscpRow { client: vec![ef], server: Some(af41), back: None, priority: Some(1) };
        let table = DscpTable(vec![row]);
        assert_eq!((table.server(ef), table.back(ef), table.priority(ef)), (af41, ef, Some(1)));
        assert_eq!((table.server(cs1), table.back(cs1), table.priority(cs1)), (cs1, cs1, None));
    }
}
