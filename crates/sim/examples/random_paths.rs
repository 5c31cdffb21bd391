//! STP, CUBIC and BBR over random paths: how much longer STP takes than the better of the two.
//!
//! `cargo run --release --locked -p skyhop-sim --example random_paths -- [FIRST] [COUNT]`; with one number, that path as a scenario.
//! Differs from `stp_tails`: nobody has chosen the paths, so that they find what no table names.
//! Leaves out crowds, constellations and hosts.

use skyhop_chance::{Seed, Stream};
use skyhop_results::FlowKind;
use skyhop_sim::Simulation;
use std::fmt::Write;

/// Times the duration of an empty link, and seconds in addition, after which a run ends.
const PATIENCE: (f64, f64) = (40.0, 120.0);
/// Factor over the better TCP from which a row is marked.
const SLOW: f64 = 1.2;
/// Largest transfer, bytes.
const MOST: f64 = 200e6;

const STP: &str = "kind = \"stp\"";
const CUBIC: &str = "kind = \"tcp\", variant = \"cubic\", window = \"200 MB\", send_buffer_max = \"200 MB\"";
const BBR: &str = "kind = \"tcp\", variant = \"bbr\", window = \"200 MB\", send_buffer_max = \"200 MB\"";

/// Random values of one path.
struct Draw(Stream);

impl Draw {
    fn within(&mut self, least: f64, most: f64) -> f64 {
        least + self.0.uniform() * (most - least)
    }

    /// A value of which each octave is as likely.
    fn scale(&mut self, least: f64, most: f64) -> f64 {
        self.within(least.ln(), most.ln()).exp()
    }

    fn one_in(&mut self, number: f64) -> bool {
        self.0.happens(1.0 / number)
    }

    fn choice(&mut self, number: usize) -> usize {
        (self.0.uniform() * number as f64) as usize
    }
}

/// A path with the flow `a`, whose transport is yet to be named.
struct Path {
    text: String,
    /// Seconds that the transfer takes on an empty link.
    least_s: f64,
}

impl Path {
    fn new(number: u64) -> Self {
        let draw = &mut Draw(Seed(number).stream("path"));
        let (mbps, rtt_ms) = (draw.scale(0.5, 300.0), draw.scale(5.0, 1200.0));
        let up_mbps = (mbps * [1.0, 1.0, 0.2, 0.05][draw.choice(4)]).max(0.1);
        let long = draw.scale(1.0, 20.0) * mbps * 1e6 / 8.0;
        let bytes = if draw.one_in(3.0) { draw.scale(1e3, 2e6) } else { long.min(MOST) } as u64;
        let least_s = bytes as f64 * 8.0 / mbps / 1e6 + 2.0 * rtt_ms / 1e3;
        let queue = queue(draw, mbps * 1e3 / 8.0 * rtt_ms);
        let (mut link, mut back) = (String::new(), String::new());
        channel(draw, rtt_ms, &mut link, &mut back);
        if draw.one_in(3.0) {
            schedule(draw, mbps, rtt_ms, &mut link, &mut back);
        }
        let other = if draw.one_in(4.0) { other(draw, mbps) } else { String::new() };
        let start = if draw.one_in(3.0) { draw.within(0.0, 5.0) } else { 0.0 };
        let text = format!(
            "duration = \"{:.1} s\"\n[links.bottleneck]\nrate = \"{mbps:.4} Mbit/s\"\ndelay = \"{:.3} ms\"\nqueue = {queue}\n\
             {link}reverse = {{ rate = \"{up_mbps:.4} Mbit/s\", queue = {{ kind = \"drop-tail\", limit = \"200 packets\" }}{back} }}\n\
             {other}[[flows]]\nname = \"a\"\npath = [\"server\", \"bottleneck\", \"user\"]\nstart = \"{start:.3} s\"\n\
             transport = {{ TRANSPORT }}\ntraffic = {{ kind = \"bulk\", size = \"{bytes} B\" }}\n",
            PATIENCE.0 * least_s + PATIENCE.1 + start,
            rtt_ms / 2.0,
        );
        Self { text, least_s }
    }

    fn with(&self, transport: &str) -> String {
        self.text.replace("TRANSPORT", transport)
    }

    /// Seconds until all data have arrived.
    fn took(&self, transport: &str) -> f64 {
        let text = self.with(transport);
        let loaded = skyhop_scenario::parse(text.as_bytes(), "path.toml", &[])
            .unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut simulation = Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap();
        simulation.without_series();
        while !simulation.finished() && simulation.now() < simulation.end() && simulation.step() {}
        let result = simulation.finish();
        let flow = result.flows.iter().find(|flow| flow.name == "a");
        match flow.map(|flow| &flow.kind) {
            Some(FlowKind::Transfer(transfer)) => transfer.completed_s.unwrap_or(f64::INFINITY),
            _ => panic!("no transfer"),
        }
    }
}

/// A queue for a path that holds `product` bytes.
fn queue(draw: &mut Draw, product: f64) -> String {
    let limit = (product * draw.scale(0.05, 6.0)).max(15_000.0) as u64;
    match draw.choice(6) {
        0 => "{ kind = \"codel\", limit = \"10000 packets\" }".into(),
        1 => "{ kind = \"fq-codel\" }".into(),
        2 => format!(
            "{{ kind = \"red\", limit = \"{limit} B\", min = \"{} B\", max = \"{} B\" }}",
            limit / 6,
            limit / 2
        ),
        _ => format!("{{ kind = \"drop-tail\", limit = \"{limit} B\" }}"),
    }
}

/// Losses, jitter, reordering, copies and an MTU, there and back.
fn channel(draw: &mut Draw, rtt_ms: f64, link: &mut String, back: &mut String) {
    if draw.one_in(2.0) {
        let loss = if draw.one_in(3.0) {
            let (good, bad) = (draw.scale(0.3, 30.0), draw.scale(0.002, 0.5));
            format!("{{ kind = \"gilbert-elliott\", good = \"{good:.3} s\", bad = \"{bad:.4} s\" }}")
        } else {
            format!("{{ kind = \"packets\", probability = {:.6} }}", draw.scale(1e-5, 0.08))
        };
        let returns = if draw.one_in(2.0) { loss.as_str() } else { "{ kind = \"none\" }" };
        writeln!(link, "loss = {loss}").unwrap();
        write!(back, ", loss = {returns}").unwrap();
    }
    if draw.one_in(2.5) {
        let most = draw.scale(0.1, (rtt_ms / 2.0).clamp(0.2, 30.0));
        let (mean, reorders) = (most / 2.0, draw.one_in(2.0));
        let kind = match draw.choice(3) {
            0 => format!("kind = \"uniform\", most = \"{most:.3} ms\""),
            1 => format!("kind = \"exponential\", mean = \"{mean:.3} ms\""),
            _ => {
                let correlation = draw.within(0.0, 0.9);
                format!(
                    "kind = \"normal\", mean = \"{mean:.3} ms\", deviation = \"{:.3} ms\", correlation = {correlation:.2}",
                    most / 5.0
                )
            }
        };
        writeln!(link, "jitter = {{ {kind}, reorders = {reorders} }}").unwrap();
    }
    if draw.one_in(10.0) {
        let (probability, delay) = (draw.scale(1e-4, 0.05), draw.scale(0.5, 40.0));
        writeln!(link, "reordering = {{ probability = {probability:.4}, delay = \"{delay:.2} ms\" }}")
            .unwrap();
    }
    if draw.one_in(10.0) {
        writeln!(link, "duplication = {{ probability = {:.4} }}", draw.scale(1e-4, 0.05)).unwrap();
    }
    if draw.one_in(10.0) {
        writeln!(link, "mtu = \"{} B\"", draw.within(600.0, 1450.0) as u32).unwrap();
    }
}

/// Changes of the way there: rates, delays and outages, once or again and again.
fn schedule(draw: &mut Draw, mbps: f64, rtt_ms: f64, link: &mut String, back: &mut String) {
    let mut to = 0.0;
    let intervals: Vec<String> = (0..=draw.choice(6))
        .map(|_| {
            let from = to + draw.scale(0.2, 8.0);
            to = from + draw.scale(0.05, 8.0);
            let what = match draw.choice(4) {
                0 => format!("rate = \"{:.4} Mbit/s\"", mbps * draw.scale(0.08, 1.0)),
                1 => format!("delay = \"{:.3} ms\"", rtt_ms / 2.0 * draw.scale(0.4, 3.0)),
                2 => format!("outage = \"{}\"", ["lose", "wait"][draw.choice(2)]),
                _ => format!(
                    "rate = \"{:.4} Mbit/s\", delay = \"{:.3} ms\"",
                    mbps * draw.scale(0.2, 1.0),
                    rtt_ms / 2.0 * draw.scale(0.6, 2.0)
                ),
            };
            format!("{{ from = \"{from:.3} s\", to = \"{to:.3} s\", {what} }}")
        })
        .collect();
    writeln!(link, "schedule = [{}]", intervals.join(", ")).unwrap();
    if draw.one_in(2.0) {
        writeln!(link, "repeat = \"{:.3} s\"", to + draw.scale(0.1, 5.0)).unwrap();
    }
    back.push_str(", schedule = []");
}

/// Datagrams, or CUBIC that has no end.
fn other(draw: &mut Draw, mbps: f64) -> String {
    let flow = "[[flows]]\nname = \"other\"\npath = [\"server\", \"bottleneck\", \"user\"]\n";
    if draw.one_in(2.0) {
        let (kbps, size) = (mbps * 1e3 * draw.scale(0.05, 0.7), draw.within(100.0, 1300.0) as u32);
        format!(
            "{flow}transport = {{ kind = \"udp\" }}\n\
             traffic = {{ kind = \"cbr\", rate = \"{kbps:.1} kbit/s\", size = \"{size} B\" }}\n"
        )
    } else {
        let start = draw.within(0.0, 3.0);
        format!(
            "{flow}start = \"{start:.3} s\"\ntransport = {{ {CUBIC} }}\ntraffic = {{ kind = \"bulk\" }}\n"
        )
    }
}

fn main() {
    let numbers: Vec<u64> =
        std::env::args().skip(1).map(|text| text.parse().expect("numbers of paths")).collect();
    let (first, count) = match numbers[..] {
        [] => (0, 100),
        [one] => return print!("{}", Path::new(one).with(STP)),
        [first, count, ..] => (first, count),
    };
    let (mut slow, mut never) = (0, 0);
    println!("seconds by path: an empty link's; STP, CUBIC, BBR; STP's over the better of these");
    for number in first..first + count {
        let path = Path::new(number);
        let [stp, cubic, bbr] = [STP, CUBIC, BBR].map(|transport| path.took(transport));
        let better = cubic.min(bbr);
        never += u32::from(stp.is_infinite() && better.is_finite());
        let is_slow = stp > SLOW * better;
        slow += u32::from(is_slow);
        println!(
            "{number:>6} {:>7.2} | {stp:>7.2} {cubic:>7.2} {bbr:>7.2} | {:.2}{}",
            path.least_s,
            stp / better,
            if is_slow { "  <--" } else { "" }
        );
    }
    println!("{slow} of {count} took more than {SLOW} times the better's time, {never} of them for ever");
}
