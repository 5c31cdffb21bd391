//! A factorial analysis for people: tables, and a sentence for each finding.
//!
//! Follows the order of KG tables 6 and 7: how the variation is divided, then effects with their intervals.
//! Differs from them: F ratios, and both intervals where they are not the same.
//! Leaves out figures; `skyhop.plot.effects` draws.

use super::{Effect, Factorial};

impl Factorial {
    /// Tables and findings as plain text.
    pub fn text(&self) -> String {
        let mut out = self.head();
        for table in self.tables() {
            let widths: Vec<usize> = (0..table[0].len())
                .map(|c| table.iter().map(|row| row[c].chars().count()).max().unwrap_or(0))
                .collect();
            out.push('\n');
            for row in &table {
                let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, width))| match c {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
                out += &format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end());
            }
        }
        out + "\n" + &self.findings().iter().map(|line| format!("{line}\n")).collect::<String>()
    }

    /// Tables and findings in Markdown.
    pub fn markdown(&self) -> String {
        let mut out = self.head();
        for table in self.tables() {
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace("* ", "\\* "));
            out += &format!("\n{}|---|{}\n", line(&table[0]), "---:|".repeat(table[0].len() - 1));
            table[1..].iter().for_each(|row| out += &line(row));
        }
        out + "\n" + &self.findings().iter().map(|line| format!("- {line}\n")).collect::<String>()
    }

    /// A sentence for each finding that is significant.
    pub fn findings(&self) -> Vec<String> {
        let (what, digits) = (&self.response, self.digits());
        let mut out = Vec::new();
        for part in self.components.iter().filter(|c| c.p.is_some_and(|p| p < 1.0 - self.confidence)) {
            let who = match part.factors.as_slice() {
                [a, b] => format!("{a} and {b} together"),
                _ => part.name.clone(),
            };
            let verb = if part.factors.len() == 1 { "explains" } else { "explain" };
            out.push(format!("{who} {verb} {:.2} % of the variation of {what}.", part.percent));
        }
        for e in self.effects.iter().filter(|e| e.significant && !e.mirrored) {
            let side = if e.effect < 0.0 { "below" } else { "above" };
            let interval = format!("{} % interval {}", self.level(), between(e.low, e.high, digits));
            let size = format!("{:.digits$}", e.effect.abs());
            out.push(match (e.factors.as_slice(), e.levels.as_slice()) {
                ([a, b], [of_a, of_b]) => format!(
                    "Where {a} is {of_a} and {b} is {of_b}, {what} is {size} {side} the sum of their own effects ({interval})."
                ),
                _ => format!("Where {} is {}, {what} is {size} {side} its mean ({interval}).", e.factors[0], e.levels[0]),
            });
        }
        if out.is_empty() {
            out.push(format!("No effect on {what} is significant at {} %.", self.level()));
        }
        out
    }

    fn head(&self) -> String {
        let digits = self.digits();
        let level = self.level();
        let out_of = match self.left_out {
            0 => String::new(),
            n => format!(", {n} more without a response"),
        };
        let mut out = format!(
            "{}: mean {:.digits$} of {} runs, {} a cell{out_of}\n\
             standard error {:.digits$} with {} degrees of freedom: {}\n\
             {level} % intervals: effect +- {:.3} s_e sqrt(df / {})",
            self.response,
            self.mean,
            self.runs,
            self.replications,
            self.error.standard_error,
            self.error.df,
            self.error.source,
            self.error.t,
            self.runs
        );
        match &self.paper {
            None => {}
            Some(_) if self.replications == 1 => out += "; Kota et al. have the same",
            Some(p) => {
                out += &format!(
                    "\nKota et al.: s_e {:.digits$} with {} degrees of freedom: {}; {:.3} s_e sqrt(df / {})",
                    p.standard_error,
                    p.df,
                    p.source,
                    p.t,
                    self.runs / self.replications
                );
            }
        }
        out + "\n"
    }

    fn tables(&self) -> [Vec<Vec<String>>; 2] {
        let digits = self.digits();
        let text = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<String>>();
        let mut parts = vec![text(&["component", "sum of squares", "%", "df", "F", "p"])];
        for (name, squares) in
            [("values", self.squares), ("mean", self.squares_of_mean), ("total variation", self.variation)]
        {
            let percent = if name == "total variation" { "100.00" } else { "" };
            parts.push(text(&[name, &short(squares), percent, "", "", ""]));
        }
        for c in &self.components {
            let f = c.f.map_or(String::new(), |f| format!("{f:.2}"));
            let p =
                c.p.map_or(String::new(), |p| if p < 5e-5 { "<0.0001".into() } else { format!("{p:.4}") });
            parts.push(vec![
                c.name.clone(),
                short(c.sum_of_squares),
                format!("{:.2}", c.percent),
                c.df.to_string(),
                f,
                p,
            ]);
        }
        let both = self.replications > 1 && self.paper.is_some();
        let mut effects = vec![text(&["effect", "value", "interval", ""])];
        if both {
            effects[0].push("Kota et al.".into());
        }
        for e in &self.effects {
            let mark = if e.significant { "*" } else { "" };
            let value = format!("{:.digits$}", e.effect);
            let mut row = vec![name(e), value, between(e.low, e.high, digits), mark.into()];
            if both {
                row.push(e.paper.map_or(String::new(), |(low, high)| between(low, high, digits)));
            }
            effects.push(row);
        }
        [parts, effects]
    }

    /// The confidence in per cent, without the residue of binary fractions: 99.9.
    fn level(&self) -> f64 {
        (1e8 * self.confidence).round() / 1e6
    }

    /// Decimals that show the standard error with three digits or more; of 0.0156 four, as in KG.
    fn digits(&self) -> usize {
        let size =
            if self.error.standard_error > 0.0 { self.error.standard_error } else { self.variation.sqrt() };
        (2.0 - size.log10().floor()).clamp(0.0, 12.0) as usize
    }
}

fn name(e: &Effect) -> String {
    let parts = e.factors.iter().zip(&e.levels).map(|(factor, level)| format!("{factor} = {level}"));
    parts.collect::<Vec<_>>().join(", ")
}

fn between(low: f64, high: f64, digits: usize) -> String {
    format!("{low:.digits$} to {high:.digits$}")
}

/// A sum of squares: four decimals as in KG, or five digits if it is smaller or larger.
fn short(x: f64) -> String {
    if (1e-4..1e6).contains(&x) { format!("{x:.4}") } else { format!("{x:.4e}") }
}
