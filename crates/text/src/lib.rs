//! What people write, beside scenarios: tables of separated values, and names with slips in them.
//!
//! Follows RFC 4180 and spreadsheets for tables, Damerau and Levenshtein for slips.
//! Differs from the libraries below: every mistake is told with its line and with what to write.
//! Leaves out what cells mean.

pub mod spelling;
pub mod table;
