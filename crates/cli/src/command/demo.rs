//! `skyhop demo`: a demonstration of skyhop, in a minute and on a page.
//!
//! Runs scenarios of the repository, which are part of the program and written to the folder for changes.
//! Differs from a test: it only shows the results of its runs.
//! Leaves out features that need privileges or a network.

use super::run::shown;
use super::show;
use crate::args::Demo;
use crate::engine::{self, Done};
use crate::failure::Failure;
use crate::table::{TextTable, rate, time};
use skyhop_record::{Chart, ChartAxis, Folder, HtmlReport, Mark, Section};
use skyhop_results::FlowKind;
use skyhop_scenario::{Loaded, parse};
use std::path::Path;

const GEO: &str = include_str!("../../../../scenarios/geo.toml");
const IRIDIUM: &str = include_str!("../../../../scenarios/iridium.toml");
const DOWNLOAD: &str = include_str!("../../../../scenarios/iridium-download.toml");
const VARIANTS: [&str; 4] = ["reno", "cubic", "bbr1", "bbr"];

/// Runs the demonstration.
pub fn demo(args: &Demo) -> Result<(), Failure> {
    // The elements are read first: if the file is wrong, no time has been spent and nothing written.
    let own = own_satellites(args)?;
    let mut folder = Folder::create(&args.out)?;
    for (name, text) in [("geo.toml", GEO), ("iridium.toml", IRIDIUM), ("iridium-download.toml", DOWNLOAD)] {
        folder.write(name, text.as_bytes())?;
    }
    let mut report = HtmlReport::new("skyhop: Internet transport over satellites")
        .lead("Each figure is a simulation, packet by packet, of a scenario file in the same folder.");
    report = geo(args, report)?;
    report = iridium(args, report)?;
    report = download(args, report)?;
    if let Some(loaded) = own {
        report = satellites(args, &loaded, report)?;
    }
    let footer =
        format!("skyhop {}. The same scenario and seed give the same numbers.", env!("CARGO_PKG_VERSION"));
    folder.write("report.html", report.footer(footer).html().as_bytes())?;
    folder.commit()?;
    let out = args.out.display();
    super::print(&format!(
        "\nreport:     {out}/report.html\nscenarios:  {out}/*.toml, to be changed and run: skyhop run {out}/geo.toml\n"
    ))
}

fn scenario(text: &str, file: &str, sets: &[(&str, &str)]) -> Result<Loaded, Failure> {
    let sets: Vec<_> = sets.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    Ok(parse(text.as_bytes(), file, &sets)?)
}

fn title(text: &str) -> Result<(), Failure> {
    super::print(&format!("{text}\n"))
}

fn geo(args: &Demo, report: HtmlReport) -> Result<HtmlReport, Failure> {
    const TITLE: &str = "10 MB over a geostationary satellite, 1.5 Mbit/s and 600 ms";
    title(TITLE)?;
    let mut table = show::transfer_table("variant");
    let mut windows = Chart::new("Congestion window", ChartAxis::time(), ChartAxis::new("window", "B"))
        .level("path and queue", 162_500.0);
    let mut best: Option<(f64, &str)> = None;
    for variant in VARIANTS {
        let done =
            shown(&scenario(GEO, "geo.toml", &[("flows.download.transport.variant", variant)])?, args.quiet)?;
        for flow in &done.result.flows {
            let FlowKind::Transfer(t) = &flow.kind else { continue };
            show::transfer_row(&mut table, variant, t, flow.limits.as_ref());
            if best.is_none_or(|(goodput, _)| t.goodput_bps > goodput) {
                best = Some((t.goodput_bps, variant));
            }
        }
        if let "reno" | "cubic" | "bbr" = variant {
            windows = windows.samples(variant, Mark::Step, series(&done, "flow/download", "cwnd_bytes"));
        }
    }
    super::print(&table.text())?;
    let (goodput, variant) = best.unwrap_or_default();
    Ok(report
        .section(Section::Heading(TITLE.into()))
        .section(Section::Text(
            "Two hosts of today: slow start overruns the queue before the satellite, and the variant of TCP decides what the window \
                does then.".into(),
        ))
        .section(Section::Figures(vec![("best goodput".into(), rate(goodput), variant.into())]))
        .section(Section::Chart(windows, "Reno and CUBIC fill the queue and halve; BBR keeps the measured rate and RTT.".into()))
        .section(html(&table, "All variants"))
        .section(Section::Code("skyhop run geo.toml --set flows.download.transport.variant=reno".into())))
}

fn iridium(args: &Demo, report: HtmlReport) -> Result<HtmlReport, Failure> {
    const TITLE: &str = "New York to San Francisco over Iridium, for a day";
    title(&format!("\n{TITLE}"))?;
    let mut chart = Chart::new("Delay of the path, one way", ChartAxis::time(), ChartAxis::new("delay", "s"));
    let mut last = None;
    for (name, crossing) in [("with a seam", "false"), ("links across the seam", "true")] {
        let loaded = scenario(IRIDIUM, "iridium.toml", &[("constellation.cross_seam_isls", crossing)])?;
        let done = shown(&loaded, args.quiet)?;
        chart = chart.samples(name, Mark::Line, series(&done, "flow/ping", "path_delay_s"));
        if crossing == "false" {
            show::flows(&done.result.flows).iter().try_for_each(|t| super::print(&t.text()))?;
            last = Some(done);
        }
    }
    let mut report = report
        .section(Section::Heading(TITLE.into()))
        .section(Section::Text(
            "The delay steps as satellites pass, and jumps when the two cities see planes on both sides of the seam.".into(),
        ))
        .section(Section::Chart(chart, "While the seam, across which Iridium has no links, lies between the two cities, packets go \
            the long way round.".into()));
    for table in last.iter().flat_map(|done| show::flows(&done.result.flows)) {
        report = report.section(html(&table, "One ping a minute"));
    }
    Ok(report
        .section(Section::Code("skyhop run iridium.toml --set constellation.cross_seam_isls=true".into())))
}

fn download(args: &Demo, report: HtmlReport) -> Result<HtmlReport, Failure> {
    const TITLE: &str = "TCP while the satellites move";
    title(&format!("\n{TITLE}"))?;
    let done = shown(&scenario(DOWNLOAD, "iridium-download.toml", &[])?, args.quiet)?;
    let tables = show::flows(&done.result.flows);
    tables.iter().try_for_each(|t| super::print(&t.text()))?;
    let windows = Chart::new("Window and data in flight", ChartAxis::time(), ChartAxis::new("amount", "B"))
        .samples("congestion window", Mark::Step, series(&done, "flow/download", "cwnd_bytes"))
        .samples("in flight", Mark::Line, series(&done, "flow/download", "in_flight_bytes"));
    let speed = format!("ten minutes of virtual time took {}.", time(done.meta.wall_s));
    let mut report = report
        .section(Section::Heading(TITLE.into()))
        .section(Section::Text(format!("A bulk transfer through handovers and changes of route; {speed}")))
        .section(Section::Chart(
            windows,
            "Dents in the data in flight are changes of route; the window falls when the queue on the \
            ground overflows."
                .into(),
        ));
    for table in tables {
        report = report.section(html(&table, "Ten minutes"));
    }
    Ok(report.section(Section::Code("skyhop run iridium-download.toml".into())))
}

/// A scenario over the satellites of the user's file.
fn own_satellites(args: &Demo) -> Result<Option<Loaded>, Failure> {
    let (key, file) = match (&args.tle, &args.omm) {
        (Some(file), _) => ("tle", file),
        (None, Some(file)) => ("omm", file),
        (None, None) => return Ok(None),
    };
    let wrong = |message: &str| Failure::Scenario(format!("--{key}: {message}"));
    let mut loaded = parse(own_scenario(key, file).as_bytes(), "satellites.toml", &[])?;
    loaded.read_files(Path::new("")).map_err(|e| wrong(&e.problems[0].message))?;
    engine::build(&loaded, loaded.scenario.seed).map_err(|failure| match failure {
        // The line is in a scenario that the user has not seen.
        Failure::Scenario(message) => {
            wrong(message.split_once(&format!("constellation.{key}: ")).map_or(&message, |(_, m)| m))
        }
        other => other,
    })?;
    Ok(Some(loaded))
}

/// A scenario with two cities over the satellites of `file`, which have no ISLs unless they form planes.
fn own_scenario(key: &str, file: &Path) -> String {
    // A literal string in TOML may contain any character but its quote; a path with that is written with escapes.
    let name = file.display().to_string();
    let name: String =
        name.chars().flat_map(|c| if matches!(c, '"' | '\\') { vec!['\\', c] } else { vec![c] }).collect();
    format!(
        "# Two cities over the satellites of a file.\nname = \"satellites\"\nduration = \"2 h\"\n[constellation]\n{key} = \"{name}\"\n\
         [terminals]\nnew-york = {{ lat = \"40.71 deg\", lon = \"-74.01 deg\" }}\n\
         san-francisco = {{ lat = \"37.77 deg\", lon = \"-122.42 deg\" }}\n\
         [[flows]]\nname = \"ping\"\nfrom = \"new-york\"\nto = \"san-francisco\"\n\
         traffic = {{ kind = \"ping\", interval = \"10 s\" }}\n"
    )
}

fn satellites(args: &Demo, loaded: &Loaded, report: HtmlReport) -> Result<HtmlReport, Failure> {
    const TITLE: &str = "The same cities over the satellites of your file";
    title(&format!("\n{TITLE}"))?;
    let done = shown(loaded, args.quiet)?;
    let tables = show::flows(&done.result.flows);
    tables.iter().try_for_each(|t| super::print(&t.text()))?;
    done.result.warnings.iter().filter(|_| !args.quiet).for_each(|w| eprintln!("warning: {w}"));
    let chart = Chart::new("Delay of the path, one way", ChartAxis::time(), ChartAxis::new("delay", "s"));
    let chart = chart.samples("delay", Mark::Line, series(&done, "flow/ping", "path_delay_s"));
    let file = args.tle.iter().chain(&args.omm).map(|f| f.display().to_string()).collect::<String>();
    let mut report = report
        .section(Section::Heading(TITLE.into()))
        .section(Section::Text(format!(
            "Elements from {file}, propagated with SGP4 from their newest epoch."
        )))
        .section(Section::Chart(chart, "A gap is a time without a path.".into()));
    for table in tables {
        report = report.section(html(&table, "One ping every ten seconds"));
    }
    Ok(report)
}

fn series(done: &Done, entity: &str, metric: &str) -> Vec<(f64, f64)> {
    let found = done.result.series.iter().find(|s| s.entity == entity && s.metric == metric);
    found.into_iter().flat_map(|s| &s.samples).map(|(t, x)| (t.as_secs_f64(), *x)).collect()
}

fn html(table: &TextTable, caption: &str) -> Section {
    let (columns, rows) = table.cells();
    Section::Table(skyhop_record::ReportTable {
        caption: caption.into(),
        columns: columns.to_vec(),
        rows: rows.to_vec(),
    })
}
