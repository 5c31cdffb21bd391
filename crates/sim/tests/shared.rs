//! Capacity shared by the terminals of a satellite: the shares, with beams, during handovers, with other packets.
//!
//! Follows Shreedhar and Varghese 1995: terminals that always have something to send get the same bytes, whatever their packets'
//! sizes, and what one leaves the others have. Jain's index of n shares is (sum x)^2 / (n sum x^2).
//! Differs from a queue's fairness among flows: each terminal has a queue and a rate of its own.

use skyhop_results::{FlowKind, RunResult};
use skyhop_sim::Simulation;

/// A run checked after every `every` events.
fn run(text: &str, every: u64) -> RunResult {
    let loaded = skyhop_scenario::parse(text.as_bytes(), "t.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut simulation =
        Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap_or_else(|e| panic!("{e}"));
    let mut events = 0;
    while simulation.step() {
        events += 1;
        if events % every == 0 {
            simulation.check_conservation().unwrap();
        }
    }
    simulation.check_conservation().unwrap();
    simulation.finish()
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    let goodput = |kind: &FlowKind| match kind {
        FlowKind::Transfer(transfer) => transfer.goodput_bps,
        FlowKind::Datagrams(datagrams) => datagrams.goodput_bps,
        _ => panic!("no goodput"),
    };
    result.flows.iter().map(|flow| goodput(&flow.kind)).collect()
}

fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (shares.len() as f64 * squares)
}

fn handovers(result: &RunResult) -> u64 {
    result.handovers.iter().filter(|h| h.terminal.starts_with('t')).map(|h| h.handovers).sum()
}

/// Neighbouring terminals near London, so that all have the same satellite, and a gateway that holds all in view.
fn village(shell: &str, shared: &str, terminals: &[(&str, String)], duration: &str) -> String {
    let mut text = format!(
        r#"
        duration = "{duration}"
        [constellation]
        {shell}
        isls = false
        gsl = {{ rate = "250 Mbit/s", shared = {shared} }}
        [terminals]
        gateway = {{ lat = "50.11 deg", lon = "8.68 deg", gateway = true, antennas = "all", gsl = {{ rate = "10 Gbit/s" }} }}
        "#
    );
    for (i, (beam, _)) in terminals.iter().enumerate() {
        let lat = 51.5 + 1e-5 * i as f64;
        text += &format!("t{i:02} = {{ lat = \"{lat:.5} deg\", lon = \"0 deg\", antennas = 1 {beam} }}\n");
    }
    for (i, (_, flow)) in terminals.iter().enumerate() {
        text += &format!("[[flows]]\n{}\n", flow.replace('@', &format!("t{i:02}")));
    }
    text
}

/// All choose together every 5 s, and receive nothing for 80 ms then.
const STARLINK: &str = "preset = \"starlink-550\"\nhandover = \"synchronous\"\nhandover_period = \"5 s\"\nhandover_gap = \"80 \
    ms\"\nupdate_interval = \"5 s\"";
const GEO: &str = "geostationary = [\"0 deg\"]";

const DOWN: &str = "from = \"gateway\"\nto = \"@\"";
const UP: &str = "from = \"@\"\nto = \"gateway\"";

fn datagrams(way: &str, mbit: f64, size: u32) -> String {
    format!("{way}\ntraffic = {{ kind = \"cbr\", rate = \"{mbit} Mbit/s\", size = \"{size} B\" }}")
}

#[test]
fn twenty_downloads_share_alike_through_handovers() {
    let terminals: Vec<_> =
        (0..20).map(|_| ("", format!("{DOWN}\ntraffic = {{ kind = \"bulk\" }}"))).collect();
    let result = run(&village(STARLINK, "{ down = \"1 Gbit/s\" }", &terminals, "40 s"), 49_999);
    let shares = goodputs(&result);
    let (sum, handovers) = (shares.iter().sum::<f64>() / (1e9 * 1448.0 / 1500.0), handovers(&result));
    println!("Jain {:.5}, {sum:.4} of the capacity, {handovers} handovers", jain(&shares));
    assert!(jain(&shares) >= 0.99 && jain(&shares) <= 1.0, "{shares:?}");
    assert!((0.9..=1.0).contains(&sum), "{sum}");
    assert!((40..=160).contains(&handovers), "{handovers}");
}

#[test]
fn neither_size_nor_greed_buys_more_and_the_modest_get_all_they_ask() {
    // Five of each: small packets, large ones, senders above their own rate; and one that needs less than its share.
    let mut terminals = Vec::new();
    for _ in 0..5 {
        terminals.push(("", datagrams(DOWN, 80.0, 500)));
        terminals.push(("", datagrams(DOWN, 80.0, 1472)));
        terminals.push(("", datagrams(DOWN, 300.0, 1000)));
    }
    terminals.push(("", datagrams(DOWN, 10.0, 1472)));
    let result = run(&village(STARLINK, "{ down = \"500 Mbit/s\" }", &terminals, "12 s"), 49_999);
    let goodputs = goodputs(&result);
    let size = |i: usize| [500.0, 1472.0, 1000.0][i % 3];
    // Headers are 28 bytes of what is shared.
    let mut bits: Vec<f64> =
        goodputs.iter().enumerate().map(|(i, g)| g * (size(i) + 28.0) / size(i)).collect();
    let modest = goodputs[15];
    bits.truncate(15);
    let total = bits.iter().sum::<f64>() + modest * 1500.0 / 1472.0;
    println!("Jain {:.6}, total {:.4} of 500 Mbit/s, modest {modest}", jain(&bits), total / 500e6);
    assert!(jain(&bits) >= 0.9999, "{bits:?}");
    assert!((0.97..=1.0001).contains(&(total / 500e6)), "{total}");
    // Handovers drop packets waiting for and flying to the old satellite: few if none wait.
    assert!((9.8e6..=10.01e6).contains(&modest), "{modest}");
}

#[test]
fn each_beam_and_each_direction_has_its_own() {
    let mut terminals = Vec::new();
    for beam in [", beam = \"north\"", ", beam = \"south\"", ", beam = \"south\"", ""] {
        terminals.push((beam, datagrams(DOWN, 40.0, 1472)));
    }
    for beam in [", beam = \"north\"", ", beam = \"south\""] {
        terminals.push((beam, datagrams(UP, 40.0, 1472)));
    }
    let result = run(&village(GEO, "{ down = \"20 Mbit/s\", up = \"12 Mbit/s\" }", &terminals, "10.3 s"), 1);
    let bits: Vec<f64> = goodputs(&result).iter().map(|g| g * 1500.0 / 1472.0 * 10.3 / 10.04 / 1e6).collect();
    println!("{bits:.3?} Mbit/s");
    for (got, expected) in bits.iter().zip([20.0, 10.0, 10.0, 20.0, 12.0, 12.0]) {
        assert!((got / expected - 1.0).abs() < 0.01, "{got} of {expected}");
    }
}

#[test]
fn a_rate_of_ones_own_below_the_share_is_not_exceeded() {
    // Two share 20 Mbit/s; one has 4 of its own, so that 16 are left to the other.
    let terminals = vec![
        (", gsl = { down = { rate = \"4 Mbit/s\" } }", datagrams(DOWN, 40.0, 1472)),
        ("", datagrams(DOWN, 40.0, 1472)),
    ];
    let result = run(&village(GEO, "{ down = \"20 Mbit/s\" }", &terminals, "10.3 s"), 1);
    let bits: Vec<f64> = goodputs(&result).iter().map(|g| g * 1500.0 / 1472.0 * 10.3 / 10.04 / 1e6).collect();
    println!("{bits:.3?} Mbit/s");
    for (got, expected) in bits.iter().zip([4.0, 16.0]) {
        assert!((got / expected - 1.0).abs() < 0.01, "{got} of {expected}");
    }
}

#[test]
fn a_handover_takes_the_share_along_at_once() {
    // Each has a satellite of its own, until one of the two fails midway.
    let two = "geostationary = [\"0 deg\", \"30 deg\"]\nupdate_interval = \"1 s\"";
    let terminals = vec![("", datagrams(DOWN, 40.0, 1472)), ("", datagrams(DOWN, 40.0, 1472))];
    let text = village(two, "{ down = \"20 Mbit/s\" }", &terminals, "20 s")
        .replacen("51.50001 deg\", lon = \"0 deg", "51.50001 deg\", lon = \"30 deg", 1)
        .replace("lon = \"8.68 deg\"", "lon = \"15 deg\"");
    let failed = format!("{text}[[failures]]\nsatellite = \"geo-0\"\nfrom = \"10 s\"\n");
    for (text, expected) in [(text, 20.0), (failed, 15.0)] {
        let result = run(&text, 1);
        let bits: Vec<f64> =
            goodputs(&result).iter().map(|g| g * 1500.0 / 1472.0 * 20.0 / 19.74 / 1e6).collect();
        println!("{bits:.3?} Mbit/s");
        // The queue of the failed satellite is lost: a quarter of a second of 20.
        for got in bits {
            assert!((expected * 0.97..=expected * 1.01).contains(&got), "{got} of {expected}");
        }
    }
}

#[test]
fn no_packet_is_lost_track_of_in_any_queue() {
    // Queues that drop early, an outage, losses at handovers and gaps, over Iridium, where every event is checked.
    let queues = [
        "{ kind = \"fq-codel\" }",
        "{ kind = \"codel\", limit = \"20 packets\" }",
        "{ kind = \"red\", min = \"5 packets\", max = \"15 packets\", limit = \"50 packets\" }",
        "{ kind = \"drr\", limit = \"30 packets\" }",
        "{ kind = \"drop-tail\", limit = \"1 packets\" }",
        "{ kind = \"priority\", limit = \"30 packets\" }",
    ];
    let own = queues.map(|queue| {
        format!(
            ", gsl = {{ down = {{ queue = {queue}, schedule = [{{ from = \"300 s\", to = \"320 s\", \
        outage = \"wait\" }}] }} }}"
        )
    });
    let shell = "preset = \"iridium\"\nhandover_gap = \"200 ms\"\nhandover_loss = 0.5\nhandover = \"synchronous\"\nhandover_period \
        = \"60 s\"";
    let terminals: Vec<_> = own.iter().map(|own| (own.as_str(), datagrams(DOWN, 0.05, 500))).collect();
    let text = village(shell, "{ down = \"200 kbit/s\" }", &terminals, "30 min");
    let result = run(&text.replace("isls = false", ""), 1);
    assert!((12..=200).contains(&handovers(&result)), "{}", handovers(&result));
    for (flow, got) in result.flows.iter().zip(goodputs(&result)) {
        println!("{}: {got:.0} bit/s, {} dropped", flow.name, flow.packets_dropped);
        // A sixth of 200 kbit/s, of which 500 of 528 bytes are payload, is 31.6 kbit/s; room for one packet gets less.
        assert!((5e3..=45e3).contains(&got) && flow.packets_dropped > 50, "{got}");
    }
}
