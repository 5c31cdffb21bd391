//! Tables of separated values, as people, spreadsheets and instruments write them.
//!
//! Follows RFC 4180: a cell in quotes may hold separators and lines, and a quote written twice.
//! Differs: commas, semicolons or tabs, whichever the first row has; a byte-order mark, blank lines and lines that begin with # are
//! passed over; cells are trimmed. Leaves out other encodings than UTF-8 and decimal commas, which are refused with words.

use csv::{ReaderBuilder, StringRecord, StringRecordsIntoIter};
use std::fmt;

/// A mistake in a table and the line (from 1) that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableError {
    /// The line, from 1; `None` if the mistake concerns the whole file.
    pub line: Option<usize>,
    /// The mistake, as the end of a sentence whose subject is the file.
    pub message: String,
}

impl TableError {
    /// An error in a line.
    pub fn at(line: usize, message: impl Into<String>) -> Self {
        TableError { line: Some(line), message: message.into() }
    }

    /// An error of the whole file.
    pub fn whole(message: impl Into<String>) -> Self {
        TableError { line: None, message: message.into() }
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for TableError {}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// The line on which the row begins, from 1.
    pub line: usize,
    cells: StringRecord,
}

impl TableRow {
    /// The cells, without blanks around them.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.cells.iter()
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Always false for a row of a table; here because [`TableRow::len`] is.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// An error in this row.
    pub fn wrong(&self, message: impl Into<String>) -> TableError {
        TableError::at(self.line, message)
    }
}

/// The rows of a table that has its separator in every row.
pub struct TableRows<'a> {
    text: &'a str,
    records: StringRecordsIntoIter<&'a [u8]>,
    /// The byte up to which lines have been counted, and the number of lines up to it.
    counted: (usize, usize),
}

/// The separator of a text: the first of comma, semicolon and tab in its first row; `None` if it has none of them.
fn separator(text: &str) -> Option<u8> {
    let row = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let mut quoted = false;
    let outside = row.bytes().filter(|byte| {
        quoted ^= *byte == b'"';
        !quoted
    });
    outside.into_iter().find(|byte| matches!(byte, b',' | b';' | b'\t'))
}

/// The text of a file without its byte-order mark; refuses other encodings than UTF-8.
pub fn text(file: &[u8]) -> Result<&str, TableError> {
    if file.starts_with(b"\xff\xfe") || file.starts_with(b"\xfe\xff") {
        return Err(TableError::whole("is UTF-16; save it as UTF-8"));
    }
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    std::str::from_utf8(file).map_err(|e| {
        let line = file[..e.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        TableError::at(line, "is not text in UTF-8")
    })
}

/// The rows of a file, blank lines and comments left out.
pub fn rows(file: &[u8]) -> Result<TableRows<'_>, TableError> {
    let text = text(file)?;
    let records = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .delimiter(separator(text).unwrap_or(b','))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes())
        .into_records();
    Ok(TableRows { text, records, counted: (0, 1) })
}

impl TableRows<'_> {
    /// The line on which the record that starts at or after byte `from` begins; passes over comments and blank lines.
    fn line(&mut self, from: usize) -> usize {
        let (counted, lines) = &mut self.counted;
        *lines += self.text[*counted..from].bytes().filter(|byte| *byte == b'\n').count();
        *counted = from;
        let mut rest = &self.text[from..];
        while let Some(end) = rest.find('\n')
            && (rest[..end].trim_matches('\r').is_empty() || rest.starts_with('#'))
        {
            rest = &rest[end + 1..];
            *lines += 1;
            *counted += end + 1;
        }
        *lines
    }
}

impl Iterator for TableRows<'_> {
    type Item = Result<TableRow, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let from = self.records.reader().position().byte() as usize;
            let cells = match self.records.next()? {
                Ok(cells) => cells,
                Err(error) => return Some(Err(TableError::whole(error.to_string()))),
            };
            let line = self.line(from);
            // A comment behind blanks, and a line of blanks.
            if cells.iter().all(str::is_empty) && cells.len() == 1 || cells[0].starts_with('#') {
                continue;
            }
            return Some(Ok(TableRow { line, cells }));
        }
    }
}

/// A cell's number. The error for a decimal comma has the corrected number.
pub fn number(cell: &str) -> Result<f64, String> {
    cell.parse().map_err(|_| match comma(cell) {
        Some(point) => format!("\"{}\" has a decimal comma; write {point}", shown(cell)),
        None => format!("\"{}\" is not a number", shown(cell)),
    })
}

/// A number with a decimal comma, written with a point.
pub fn comma(cell: &str) -> Option<String> {
    let point = cell.replacen(',', ".", 1);
    (point != cell && point.parse::<f64>().is_ok()).then_some(point)
}

/// The beginning of a cell in the form used in messages.
pub fn shown(cell: &str) -> String {
    cell.chars().take(40).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &[u8]) -> Vec<(usize, Vec<String>)> {
        rows(file)
            .unwrap()
            .map(|row| {
                let row = row.unwrap();
                (row.line, row.cells().map(str::to_owned).collect())
            })
            .collect()
    }

    #[test]
    fn lines_are_counted_over_blanks_comments_quotes_and_carriage_returns() {
        for end in ["\n", "\r\n"] {
            let text = [
                "# a comment",
                "",
                "a, b",
                "  ",
                "1,\"x,",
                "y\"",
                "",
                "# 5,5",
                "  # 6",
                "2,\"say \"\"z\"\"\"",
                "",
                "3,",
                "4,5",
            ];
            let expected = [
                (3, ["a", "b"]),
                (5, ["1", "x,|y"]),
                (10, ["2", "say \"z\""]),
                (12, ["3", ""]),
                (13, ["4", "5"]),
            ];
            let got = read(text.join(end).as_bytes());
            assert_eq!(got.len(), expected.len(), "{got:?}");
            for ((line, cells), (expected_line, expected)) in got.iter().zip(expected) {
                let cells: Vec<String> = cells.iter().map(|c| c.replace(end, "|")).collect();
                assert_eq!((*line, cells), (expected_line, expected.map(str::to_owned).to_vec()), "{end:?}");
            }
        }
    }

    #[test]
    fn marks_and_separators_of_spreadsheets_are_read() {
        let expected = vec![(1, vec!["a".into(), "b".to_owned()]), (2, vec!["1".into(), "2,5".into()])];
        assert_eq!(read(b"\xef\xbb\xbfa;b\r\n1;2,5\r\n"), expected);
        assert_eq!(read(b"a\tb\n1\t2,5\n"), expected);
        assert_eq!(read(b"\"a\",b\n1,\"2,5\"\n"), expected);
        assert_eq!(read(b"\"a,c\";b\n")[0].1, ["a,c", "b"]);
        assert_eq!(read(b""), []);
        assert_eq!(read(b"\xef\xbb\xbf\n"), []);
        assert_eq!(text(b"\xef\xbb\xbfa"), Ok("a"));
        let wide = rows(b"\xff\xfea\0").err().unwrap();
        assert_eq!(wide.to_string(), "is UTF-16; save it as UTF-8");
        assert_eq!(rows(b"a\nb\xff").err().unwrap().to_string(), "line 2: is not text in UTF-8");
    }

    #[test]
    fn numbers_say_what_to_write() {
        assert_eq!(number("-2.5e3"), Ok(-2500.0));
        assert_eq!(number("2,5").unwrap_err(), "\"2,5\" has a decimal comma; write 2.5");
        assert_eq!(number("x").unwrap_err(), "\"x\" is not a number");
        assert!(number("\u{1b}[31m").unwrap_err().contains("\\u{1b}"));
        assert_eq!(comma("1,2,3"), None);
    }
}
