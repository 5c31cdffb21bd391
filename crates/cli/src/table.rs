//! Tables and numbers for people.
//!
//! Follows the units of a link engineer: Mbit/s, ms, MB, with enough digits for comparisons.
//! Differs from the JSON summary, which has SI units and all digits.
//! Leaves out borders and colours.

/// A table with aligned columns; numbers are aligned right.
pub struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with these headings.
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        TextTable { rows: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// Headings and rows, for other formats of the same table.
    pub fn cells(&self) -> (&[String], &[Vec<String>]) {
        (&self.rows[0], &self.rows[1..])
    }

    /// The table as text.
    pub fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, c: usize| row.get(c).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|c| self.rows.iter().map(|r| cell(r, c).chars().count()).max().unwrap_or(0))
            .collect();
        let right: Vec<bool> = (0..columns).map(|c| self.is_numeric(c)).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for c in 0..columns {
                let (text, width) = (cell(row, c), widths[c]);
                let gap = if c == 0 { "" } else { "  " };
                line +=
                    &if right[c] { format!("{gap}{text:>width$}") } else { format!("{gap}{text:<width$}") };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn is_numeric(&self, column: usize) -> bool {
        self.rows[1..]
            .iter()
            .filter_map(|r| r.get(column))
            .all(|t| t == "-" || t.starts_with(|c: char| c.is_ascii_digit()))
    }
}

/// A rate: "1.41 Mbit/s".
pub fn rate(bps: f64) -> String {
    let (scale, unit) = match bps {
        b if b >= 1e9 => (1e9, "Gbit/s"),
        b if b >= 1e6 => (1e6, "Mbit/s"),
        b if b >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    format!("{} {unit}", digits(bps / scale))
}

/// A time: "57.2 s", "598 ms".
pub fn time(s: f64) -> String {
    match s {
        s if s >= 1.0 => format!("{} s", digits(s)),
        s if s >= 1e-3 => format!("{} ms", digits(s * 1e3)),
        0.0 => "0 s".into(),
        s => format!("{} us", digits(s * 1e6)),
    }
}

/// A size: "10 MB".
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{} GB", digits(b / 1e9)),
        b if b >= 1e6 => format!("{} MB", digits(b / 1e6)),
        b if b >= 1e4 => format!("{} kB", digits(b / 1e3)),
        b => format!("{b:.0} B"),
    }
}

/// A share: "96.4 %".
pub fn share(x: f64) -> String {
    format!("{:.1} %", x * 100.0)
}

/// A number with thousands separators: "1,234,567".
pub fn count(n: u64) -> String {
    let text = n.to_string();
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i > 0 && (text.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A value or a dash.
pub fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".into())
}

/// Four significant digits, or all digits of the integer part if that has more.
pub fn digits(x: f64) -> String {
    let before = if x.abs() >= 1.0 { x.abs().log10().floor() as i32 + 1 } else { 1 };
    format!("{x:.*}", (4 - before).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_an_engineer_writes_them() {
        assert_eq!(rate(1_412_345.0), "1.412 Mbit/s");
        assert_eq!(rate(64_000.0), "64.00 kbit/s");
        assert_eq!(
            (time(57.24), time(0.5984), time(0.0)),
            ("57.24 s".into(), "598.4 ms".into(), "0 s".into())
        );
        assert_eq!((time(0.000_25), time(86_400.0)), ("250.0 us".into(), "86400 s".into()));
        assert_eq!((size(10e6), size(1000.0)), ("10.00 MB".into(), "1000 B".into()));
        assert_eq!(
            (count(1_234_567), count(999), count(1000)),
            ("1,234,567".into(), "999".into(), "1,000".into())
        );
        assert_eq!(share(0.9641), "96.4 %");
    }

    #[test]
    fn columns_line_up() {
        let mut table = TextTable::new(["flow", "goodput"]);
        table.row(["download".into(), "1.41 Mbit/s".into()]);
        table.row(["x".into(), "-".into()]);
        assert_eq!(table.text(), "flow          goodput\ndownload  1.41 Mbit/s\nx                   -\n");
    }
}
