//! A report as one HTML page: text, figures, charts and tables.
//!
//! It can be read without a network: no scripts, no fonts, no other files.
//! Differs from a notebook: numbers and pictures are fixed when it is written.
//! Leaves out layout options; one column, light or dark as the reader's screen, grey on paper.

use crate::chart::Chart;
use crate::chart::escape;
use std::fmt::Write;

/// One piece of a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Section {
    /// A heading, which also enters the contents if there are three or more.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Headline figures: name, value, and a short remark.
    Figures(Vec<(String, String, String)>),
    /// A chart and its caption.
    Chart(Chart, String),
    /// A table.
    Table(ReportTable),
    /// A command or the text of a file, in a monospaced font.
    Code(String),
}

/// A table of texts. Columns of numbers are aligned right.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportTable {
    /// Caption.
    pub caption: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Rows; short ones are padded with empty cells.
    pub rows: Vec<Vec<String>>,
}

/// A report under construction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HtmlReport {
    title: String,
    lead: String,
    sections: Vec<Section>,
    footer: String,
}

impl HtmlReport {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        HtmlReport { title: title.into(), ..HtmlReport::default() }
    }

    /// Sets the sentence below the title.
    pub fn lead(mut self, text: impl Into<String>) -> Self {
        self.lead = text.into();
        self
    }

    /// Adds a section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Sets the footer: scenario, hash, seed, version, and the command to run it again.
    pub fn footer(mut self, text: impl Into<String>) -> Self {
        self.footer = text.into();
        self
    }

    /// The complete page.
    pub fn html(&self) -> String {
        let mut out = String::with_capacity(32_768);
        let title = escape(&self.title);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n"
        );
        if !self.lead.is_empty() {
            let _ = writeln!(out, "<p class=\"lead\">{}</p>", escape(&self.lead));
        }
        out.push_str("</header>\n");
        self.contents(&mut out);
        let mut heading = 0;
        for section in &self.sections {
            section.write(&mut out, &mut heading);
        }
        if !self.footer.is_empty() {
            let _ = writeln!(out, "<footer><p>{}</p></footer>", escape(&self.footer));
        }
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }

    fn contents(&self, out: &mut String) {
        let headings: Vec<&String> = self
            .sections
            .iter()
            .filter_map(|s| if let Section::Heading(text) = s { Some(text) } else { None })
            .collect();
        if headings.len() < 3 {
            return;
        }
        out.push_str("<nav>");
        for (i, text) in headings.iter().enumerate() {
            let _ = write!(out, "<a href=\"#s{}\">{}</a>", i + 1, escape(text));
        }
        out.push_str("</nav>\n");
    }
}

/// A page with a title and sections.
pub fn report_html(title: &str, sections: impl IntoIterator<Item = Section>) -> String {
    sections.into_iter().fold(HtmlReport::new(title), HtmlReport::section).html()
}

impl Section {
    fn write(&self, out: &mut String, heading: &mut usize) {
        let _ = match self {
            Section::Heading(text) => {
                *heading += 1;
                writeln!(out, "<h2 id=\"s{heading}\">{}</h2>", escape(text))
            }
            Section::Text(text) => writeln!(out, "<p>{}</p>", escape(text)),
            Section::Code(text) => writeln!(out, "<pre>{}</pre>", escape_lines(text)),
            Section::Chart(chart, caption) => {
                let caption = if caption.is_empty() {
                    String::new()
                } else {
                    format!("<figcaption>{}</figcaption>", escape(caption))
                };
                writeln!(out, "<figure>{}{caption}</figure>", chart.svg())
            }
            Section::Figures(figures) => {
                out.push_str("<dl class=\"figures\">");
                for (what, value, more) in figures {
                    let _ = write!(
                        out,
                        "<div><dt>{}</dt><dd>{}</dd><dd class=\"more\">{}</dd></div>",
                        escape(what),
                        escape(value),
                        escape(more)
                    );
                }
                writeln!(out, "</dl>")
            }
            Section::Table(table) => {
                table.write(out);
                Ok(())
            }
        };
    }
}

impl ReportTable {
    fn write(&self, out: &mut String) {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.columns.len());
        let numeric: Vec<bool> = (0..width).map(|c| self.is_numeric(c)).collect();
        out.push_str("<div class=\"table\"><table>");
        if !self.caption.is_empty() {
            let _ = write!(out, "<caption>{}</caption>", escape(&self.caption));
        }
        let row = |out: &mut String, tag: &str, cells: &[String]| {
            out.push_str("<tr>");
            for (c, numeric) in numeric.iter().enumerate() {
                let class = if *numeric { " class=\"n\"" } else { "" };
                let _ = write!(
                    out,
                    "<{tag}{class}>{}</{tag}>",
                    cells.get(c).map(|t| escape(t)).unwrap_or_default()
                );
            }
            out.push_str("</tr>\n");
        };
        out.push_str("<thead>");
        row(out, "th", &self.columns);
        out.push_str("</thead><tbody>");
        for cells in &self.rows {
            row(out, "td", cells);
        }
        out.push_str("</tbody></table></div>\n");
    }

    /// Returns true if a column's cells begin as numbers do, apart from empty ones and dashes.
    fn is_numeric(&self, column: usize) -> bool {
        let mut cells = self
            .rows
            .iter()
            .filter_map(|r| r.get(column))
            .filter(|c| !matches!(c.as_str(), "" | "-"))
            .peekable();
        cells.peek().is_some()
            && cells.all(|c| c.trim_start_matches(['-', '+', '.']).starts_with(|d: char| d.is_ascii_digit()))
    }
}

fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

const STYLE: &str = "
:root{--ink:#1f2328;--soft:#59636e;--paper:#ffffff;--card:#f6f8fa;--rule:#d8dee4;--accent:#0b5fa5}
@media screen and (prefers-color-scheme:dark){\
    :root{--ink:#e6e9ec;--soft:#a0a8b0;--paper:#16191d;--card:#1f242a;--rule:#30363d;--accent:#6cb6ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,'Helvetica Neue',Helvetica,Arial,sans-serif}
main{max-width:52rem;margin:0 auto;padding:2.5rem 1.25rem 3rem}
header{border-bottom:1px solid var(--rule);padding-bottom:1rem;margin-bottom:1.25rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem;letter-spacing:-.01em}
h2{font-size:1.25rem;margin:2.4rem 0 .6rem}
p{margin:.6rem 0;max-width:44rem}
.lead{color:var(--soft);font-size:1.05rem;margin:0}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;font-size:.95rem}
a{color:var(--accent)}
figure{margin:1.1rem 0 1.6rem;border:1px solid var(--rule);border-radius:8px;overflow:hidden;background:var(--paper);break-inside:avoid}
figure svg{display:block;width:100%;height:auto}
figcaption{padding:.6rem 1rem .75rem;color:var(--soft);font-size:.92rem;border-top:1px solid var(--rule)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.8rem;margin:1.1rem 0}
.figures div{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:.75rem 1rem;break-inside:avoid}
.figures dt{color:var(--soft);font-size:.85rem}
.figures dd{margin:0;font-size:1.3rem;font-weight:600;line-height:1.35;font-variant-numeric:tabular-nums}
.figures dd.more{font-size:.85rem;font-weight:400;color:var(--soft)}
.table{overflow-x:auto;margin:1.1rem 0}
table{border-collapse:collapse;width:100%;font-size:.85rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding-bottom:.45rem}
th,td{padding:.38rem .45rem .38rem 0;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top}
th{color:var(--soft);font-weight:600;border-bottom-width:2px}
.n{text-align:right}
th:last-child,td:last-child{padding-right:0}
td.n{white-space:nowrap}
pre{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:.8rem 1rem;overflow-x:auto;\
    font:.9rem/1.5 ui-monospace,Menlo,Consolas,monospace}
footer{margin-top:2.5rem;border-top:1px solid var(--rule);padding-top:.8rem;color:var(--soft);font-size:.85rem;overflow-wrap:anywhere}
@media print{body{font-size:11pt}main{max-width:none;padding:0}nav{display:none}}
";
