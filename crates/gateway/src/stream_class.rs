//! The class of a connection's stream: its priority, by code point or age, and its weight within its user's share.
//!
//! Follows docs/gateway.md, "Priorities and shares" and "DSCP": a connection that has carried much yields to others, unless the table
//! sets its priority.
//! Leaves out telling the association, and the weights themselves (`skyhop_splice::users`).

use crate::dscp::{Dscp, DscpTable};
use skyhop_splice::gateway::{BULK, priority};
use skyhop_transport::stp::Class;

/// The properties of a connection from which the class of its stream follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamClass {
    /// The code point of the client's packets.
    pub dscp: Dscp,
    /// The connection's weight within its user's share.
    pub weight: u8,
    /// The connection has carried enough data to yield to others.
    bulk: bool,
}

impl StreamClass {
    /// That of a new connection with this code point.
    pub fn new(dscp: Dscp) -> Self {
        StreamClass { dscp, weight: Class::default().weight, bulk: false }
    }

    /// The class with a table: its priority is the table's, or the one by age.
    pub fn with(&self, table: &DscpTable) -> Class {
        let priority = table.priority(self.dscp).unwrap_or(priority(self.bulk));
        Class { priority, weight: self.weight }
    }

    /// Notes the bytes that the connection has carried so far. Returns true if the class changes.
    pub fn carried(&mut self, bytes: u64) -> bool {
        bytes > BULK && !std::mem::replace(&mut self.bulk, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dscp::DscpRow;

    #[test]
    fn a_connection_yields_once_it_has_carried_much_unless_the_table_says_otherwise() {
        let ef: Dscp = "ef".parse().unwrap();
        let row = DscpRow { client: vec![ef], server: None, back: None, priority: Some(1) };
        let table = DscpTable(vec![row]);
        for (dscp, young, old) in [(Dscp::default(), priority(false), priority(true)), (ef, 1, 1)] {
            let mut stream = StreamClass::new(dscp);
            stream.weight = 7;
            assert!(!stream.carried(BULK));
            assert_eq!(stream.with(&table), Class { priority: young, weight: 7 });
            assert!(stream.carried(BULK + 1) && !stream.carried(BULK + 2), "once");
            assert_eq!(stream.with(&table), Class { priority: old, weight: 7 });
        }
        assert!(priority(false) < priority(true));
    }
}
