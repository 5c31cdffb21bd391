//! Text written by people: tables of separated values, and misspelt names.
//!
//! Follows RFC 4180 and spreadsheets for tables, Damerau and Levenshtein for misspellings.
//! Differs from the libraries below: an error has the line, and the text to write.
//! Leaves out the meaning of cells.

pub mod spelling;
pub mod table;
