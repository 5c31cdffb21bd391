//! A table of what changes on a link by the clock, as it was measured.
//!
//! Comma-separated, a line of column names first: t_s, and any of rate_bps, delay_s, loss, bit_error_rate.
//! Differs from a trace of packets: each row holds until the next one's time; an empty cell is the link's own value.
//! Leaves out quotes; there is no text in it.

use skyhop_link::{Loss, Step};
use skyhop_units::{Rate, Span, Time};

const COLUMNS: [&str; 5] = ["t_s", "rate_bps", "delay_s", "loss", "bit_error_rate"];

/// The steps of a table. An error names the line.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Step>, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| format!("byte {} is not text", e.valid_up_to()))?;
    let mut lines =
        text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, line)| !line.is_empty());
    let Some((_, head)) = lines.next() else {
        return Err("is empty; expected a line of column names".into());
    };
    let head: Vec<&str> = head.split(',').map(str::trim).collect();
    for (i, name) in head.iter().enumerate() {
        if !COLUMNS.contains(name) {
            return Err(format!(
                "line 1: unknown column \"{}\"; expected some of {}",
                shown(name),
                COLUMNS.join(", ")
            ));
        }
        if head[..i].contains(name) {
            return Err(format!("line 1: column {name} is there twice"));
        }
    }
    if head.first() != Some(&"t_s") || head.len() < 2 {
        return Err(format!("line 1: expected t_s and some of {}", COLUMNS[1..].join(", ")));
    }
    if head.contains(&"loss") && head.contains(&"bit_error_rate") {
        return Err("line 1: loss and bit_error_rate are both there; expected one of both".into());
    }
    let mut steps: Vec<Step> = Vec::new();
    for (number, line) in lines {
        let step = row(&head, line).map_err(|e| format!("line {number}: {e}"))?;
        if let Some(before) = steps.last().filter(|before| before.from >= step.from) {
            return Err(format!("line {number}: t_s of {} is not after {}", step.from, before.from));
        }
        steps.push(step);
    }
    if steps.is_empty() { Err("has no rows".into()) } else { Ok(steps) }
}

/// The beginning of a cell as it may stand in a message.
fn shown(cell: &str) -> String {
    cell.chars().take(40).flat_map(char::escape_debug).collect()
}

fn row(head: &[&str], line: &str) -> Result<Step, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != head.len() {
        return Err(format!("{} values for {} columns", cells.len(), head.len()));
    }
    let mut step = Step::default();
    for (name, cell) in head.iter().zip(cells) {
        if cell.is_empty() && *name != "t_s" {
            continue;
        }
        let value: f64 = cell.parse().map_err(|_| format!("{name}: \"{}\" is not a number", shown(cell)))?;
        let within = |least: f64, most: f64| {
            let fits = (least..=most).contains(&value);
            fits.then_some(value).ok_or_else(|| format!("{name}: {cell} is outside {least} to {most}"))
        };
        match *name {
            "t_s" => step.from = Time::ZERO + Span::from_secs_f64(within(0.0, 1e9)?),
            "rate_bps" => step.rate = Rate::from_bps(within(1.0, 1e15)? as u64),
            "delay_s" => step.delay = Some(Span::from_secs_f64(within(0.0, 1e5)?)),
            "loss" => step.loss = Some(Loss::Packets { probability: within(0.0, 1.0)? }),
            _ => step.loss = Some(Loss::bit_errors(within(0.0, 1.0)?)),
        }
    }
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_what_it_says_and_an_empty_cell_nothing() {
        let steps = read(b"t_s,rate_bps,loss\n0,1e6,\n\n2.5, ,0.25\r\n").unwrap();
        assert_eq!(steps[0], Step { rate: Rate::from_bps(1_000_000), ..Step::default() });
        let loss = Some(Loss::Packets { probability: 0.25 });
        assert_eq!(steps[1], Step { from: Time::from_nanos(2_500_000_000), loss, ..Step::default() });
        assert_eq!(steps.len(), 2);
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, expected) in [
            ("", "is empty"),
            ("t_s,rate\n", "line 1: unknown column \"rate\"; expected some of t_s, rate_bps"),
            ("t_s,\u{1b}[31m\n", "line 1: unknown column \"\\u{1b}[31m\";"),
            ("rate_bps,t_s\n", "line 1: expected t_s"),
            ("t_s\n0\n", "line 1: expected t_s and some of"),
            ("t_s,loss,loss\n", "line 1: column loss is there twice"),
            ("t_s,loss,bit_error_rate\n", "one of both"),
            ("t_s,loss\n", "has no rows"),
            ("t_s,loss\n0,0.1\n0,0.2\n", "line 3: t_s of 0 s is not after 0 s"),
            ("t_s,loss\n0\n", "line 2: 1 values for 2 columns"),
            ("t_s,loss\n0,x\n", "line 2: loss: \"x\" is not a number"),
            ("t_s,loss\n0,1.5\n", "line 2: loss: 1.5 is outside 0 to 1"),
            ("t_s,rate_bps\n0,0\n", "line 2: rate_bps: 0 is outside 1 to"),
            ("t_s,loss\n,0.5\n", "line 2: t_s: \"\" is not a number"),
            ("t_s,delay_s\n0,nan\n", "line 2: delay_s: nan is outside"),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        assert!(read(b"t_s,loss\n\xff").unwrap_err().contains("is not text"));
    }
}
