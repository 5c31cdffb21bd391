//! Populations: their members, and the equality of a short file with the one that lists all members.
//!
//! Follows docs/scenario.md. Random streams are tested by their property: additional members do not change the others.
//! Leaves out runs, which `crates/sim/tests/many.rs` compares.

use skyhop_scenario::{Files, Flow, Loaded, Scenario, parse, parse_with};
use skyhop_units::{Span, Time};
use std::collections::BTreeSet;

const TOWNS: &str = "name,lat_deg,lon_deg,height_m,weight\nLima,-12.05,-77.04,150,3\nNew Town,-5.2,-80.6,,1\nNowhere,0,0,,0\n";

fn files() -> Files {
    Files::from([("towns.csv".to_owned(), TOWNS.as_bytes().into())])
}

fn read(text: &str) -> Loaded {
    parse_with(text.as_bytes(), "t.toml", &[], files()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn error(text: &str) -> String {
    parse_with(text.as_bytes(), "t.toml", &[], files()).expect_err(text).to_string()
}

/// Five nodes around a hub, and flows.
fn star(flows: &str) -> String {
    format!(
        "duration = \"60 s\"\n[links.\"lan-*\"]\ncount = 5\nbetween = [\"user-*\", \"hub\"]\nrate = \"1 Mbit/s\"\n\
         delay = \"1 ms\"\n[[flows]]\nname = \"f\"\ntraffic = {{ kind = \"bulk\" }}\n{flows}\n"
    )
}

/// A terminal, a population with these keys, and pings from it.
fn space(population: &str) -> String {
    format!(
        "duration = \"60 s\"\n[constellation]\npreset = \"iridium\"\ngsl = {{ rate = \"1 Mbit/s\" }}\n\
         [terminals]\ngate = {{ lat = \"0 deg\", lon = \"0 deg\" }}\n[populations.users]\n{population}\n\
         [[flows]]\nfrom = \"users\"\nto = \"gate\"\ntraffic = {{ kind = \"ping\" }}\n"
    )
}

fn ends(scenario: &Scenario) -> Vec<String> {
    let one = |flow: &Flow| {
        let end =
            |end: &Option<skyhop_scenario::Group>| end.as_ref().map_or("-".into(), |e| e.name().to_owned());
        format!("{} {}>{}", flow.name.as_deref().unwrap_or(""), end(&flow.from), end(&flow.to))
    };
    scenario.flows.iter().map(one).collect()
}

#[test]
fn groups_are_paired_in_turn() {
    let of = |flows: &str| ends(&read(&star(flows)).scenario);
    assert_eq!(
        of("from = \"user-*\"\nto = \"hub\""),
        ["f.1 user-1>hub", "f.2 user-2>hub", "f.3 user-3>hub", "f.4 user-4>hub", "f.5 user-5>hub"]
    );
    assert_eq!(
        of("from = [\"user-4\", \"hub\"]\nto = [\"user-1\", \"user-2\", \"user-3\"]\ncount = 4"),
        ["f.1 user-4>user-1", "f.2 hub>user-2", "f.3 user-4>user-3", "f.4 hub>user-1"]
    );
    // No terminal is paired with itself.
    assert_eq!(
        of("from = [\"user-1\", \"user-2\"]\nto = [\"user-1\", \"user-2\"]"),
        ["f.1 user-1>user-2", "f.2 user-2>user-1"]
    );
    // Ten is behind two.
    let twelve = star("from = \"hub\"\nto = \"user-*\"").replace("count = 5", "count = 12");
    assert_eq!(ends(&read(&twelve).scenario)[9], "f.10 hub>user-10");
    let path = of("path = [\"user-1\", \"lan-1\", \"hub\"]\ncount = 3");
    assert_eq!(path, ["f.1 ->-", "f.2 ->-", "f.3 ->-"]);
}

#[test]
fn drawn_pairs_and_starts_stay_when_there_are_more() {
    let of = |count: usize, seed: u64| {
        let flows = format!(
            "from = \"user-*\"\nto = \"user-*\"\npair = \"random\"\ncount = {count}\nstart = \"5 s\"\nstart_spread = \"10 s\""
        );
        read(&format!("seed = {seed}\n{}", star(&flows))).scenario
    };
    let (few, many) = (of(100, 1), of(1000, 1));
    assert_eq!(few.flows, many.flows[..100]);
    assert_ne!(few.flows, of(100, 2).flows);
    for flow in &many.flows {
        assert_ne!(flow.from, flow.to);
        let after = flow.start.since(Time::ZERO + Span::from_secs(5));
        assert!(flow.start >= Time::ZERO + Span::from_secs(5) && after < Span::from_secs(10));
    }
    let pairs: BTreeSet<String> =
        ends(&many).iter().filter_map(|e| Some(e.split_once(' ')?.1.to_owned())).collect();
    assert_eq!(pairs.len(), 20, "five nodes to four others");
    let halves = many.flows.iter().filter(|flow| flow.start < Time::ZERO + Span::from_secs(10)).count();
    assert!((430..570).contains(&halves), "{halves} of 1000 in the first half");
}

#[test]
fn many_begin_within_a_second_or_what_is_left_unless_told_otherwise() {
    let starts = |flows: &str| {
        let loaded = read(&star(&format!("from = \"user-*\"\nto = \"hub\"\ncount = 500\n{flows}")));
        let starts = loaded.scenario.flows.iter().map(|flow| flow.start.since(Time::ZERO).as_secs_f64());
        let all: Vec<f64> = starts.collect();
        [all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max)]
    };
    let [first, last] = starts("");
    assert!(first < 0.02 && last > 0.98 && last < 1.0, "{first} {last}");
    let [first, last] = starts("start = \"59.5 s\"");
    assert!(first >= 59.5 && last > 59.98 && last < 60.0, "{first} {last}");
    let [_, last] = starts("stop = \"100 ms\"");
    assert!(last < 0.1, "{last}");
    assert_eq!(starts("start_spread = \"0 s\"\nstart = \"3 s\""), [3.0, 3.0]);
}

#[test]
fn a_table_is_terminals_or_places_for_them() {
    let rows = read(&space("file = \"towns.csv\"\nheight = \"1 km\"\nantennas = 2")).scenario;
    let names: Vec<&String> = rows.terminals.keys().collect();
    assert_eq!(names, ["gate", "users-Lima", "users-New-Town", "users-Nowhere"]);
    let lima = &rows.terminals["users-Lima"];
    assert_eq!(
        (lima.lat.unwrap().as_deg(), lima.lon.unwrap().as_deg(), lima.height.as_m()),
        (-12.05, -77.04, 150.0)
    );
    assert_eq!(rows.terminals["users-New-Town"].height.as_m(), 1000.0);
    assert_eq!(lima.antennas, Some(skyhop_scenario::Antennas::Count(2)));
    assert_eq!(ends(&rows)[1], "flow-1.2 users-New-Town>gate");

    let spread = |count: u32| {
        read(&space(&format!("file = \"towns.csv\"\ncount = {count}\nradius = \"20 km\""))).scenario
    };
    let (few, many) = (spread(50), spread(2000));
    assert_eq!(many.terminals.len(), 2001);
    for (name, terminal) in &few.terminals {
        assert_eq!(terminal, &many.terminals[name], "{name}");
    }
    let near = |t: &&skyhop_scenario::Terminal| (t.lat.unwrap().as_deg() + 12.05).abs() < 0.19;
    let lima = many.terminals.values().filter(near).count();
    assert!((1440..1560).contains(&lima), "{lima} of 2000, three quarters by weight");
    assert!(
        many.terminals.iter().all(|(name, t)| name == "gate" || t.lat.unwrap().as_deg() < -4.0),
        "none without weight"
    );

    let region =
        read(&space("around = { lat = \"48 deg\", lon = \"11 deg\" }\nradius = \"300 km\"\ncount = 100"));
    assert_eq!(region.scenario.terminals.len(), 101);
    let places: BTreeSet<String> =
        region.scenario.terminals.values().map(|t| format!("{:?}", t.lat)).collect();
    assert!(places.len() > 90, "not all at one place");
}

#[test]
fn the_star_of_a_link_stands_for_the_same_in_its_ends() {
    let lan = "[links.\"lan-*\"]\nbetween = [\"users\", \"home-*\"]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n";
    let text = space("file = \"towns.csv\"")
        .replace("[[flows]]\nfrom = \"users\"", &format!("{lan}[[flows]]\nfrom = \"home-*\""));
    let loaded = read(&text);
    let between = |name: &str| loaded.scenario.links[name].between.clone().unwrap();
    assert_eq!(loaded.scenario.links.len(), 3);
    assert_eq!(between("lan-New-Town"), ["users-New-Town", "home-New-Town"]);
    assert_eq!(ends(&loaded.scenario)[0], "flow-1.1 home-Lima>gate");
    // A pattern is the population, and the other end may come first.
    let turned = text.replace("[\"users\", \"home-*\"]", "[\"home-*\", \"users-*\"]");
    assert_eq!(
        read(&turned).scenario.links["lan-Lima"].between.clone().unwrap(),
        ["home-Lima", "users-Lima"]
    );
    // Links that find their star among those that say how many they are.
    let more = star("from = \"box-*\"\nto = \"hub\"").replace(
        "[[flows]]",
        "[links.\"wifi-*\"]\nbetween = [\"box-*\", \"user-*\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]",
    );
    let links = read(&more).scenario.links;
    assert_eq!(links["wifi-3"].between.clone().unwrap(), ["box-3", "user-3"]);
    assert_eq!(links.len(), 10);
}

#[test]
fn resolved_is_compact_and_means_the_same() {
    let text = space("file = \"towns.csv\"\ncount = 40");
    let loaded = read(&text);
    let resolved = loaded.resolved();
    assert!(resolved.len() < 10_000 && resolved.contains("count = 40"), "{resolved}");
    assert_eq!(read(&resolved).scenario, loaded.scenario);
    assert_eq!((loaded.written().flows.len(), loaded.written().terminals.len()), (1, 1));
    // Without many of a kind there is one scenario.
    let plain = text.replace("from = \"users\"", "from = \"here\"").replace(
        "[populations.users]\nfile = \"towns.csv\"\ncount = 40",
        "here = { lat = \"1 deg\", lon = \"1 deg\" }",
    );
    let plain = read(&plain);
    assert_eq!(plain.written(), &plain.scenario);
}

#[test]
fn counts_can_be_set_and_swept() {
    let text = format!(
        "{}[sweep.grid]\n\"flows.f.count\" = [2, 20]\n",
        star("from = \"user-*\"\nto = \"hub\"\ncount = 10")
    );
    let loaded = read(&text);
    let of = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        loaded.with(&sets).unwrap().scenario.flows.len()
    };
    assert_eq!((of(&[]), of(&[("flows.f.count", "20")]), of(&[("flows.0.count", "2")])), (10, 20, 2));
    assert_eq!(of(&[("links.\"lan-*\".count", "3"), ("flows.f.from", "user-3")]), 10);
    let wrong = [("flows.f.from".to_owned(), "pc-*".to_owned())];
    let told = loaded.with(&wrong).unwrap_err().to_string();
    assert!(
        told.starts_with("--set flows.f.from: flows.0.from: no terminal or node matches \"pc-*\""),
        "{told}"
    );
}

#[test]
fn a_mistake_of_ten_thousand_is_told_once_at_its_line() {
    let text = star("from = \"user-*\"\nto = \"hub\"\ncount = 10000\ntransport = { kind = \"udp\" }");
    assert_eq!(
        error(&text),
        "t.toml:13: flows.0.transport.kind: udp carries traffic of kind cbr or on-off; expected tcp or stp for this kind of traffic"
    );
    let text = star("from = \"user-*\"\nto = \"hub\"")
        .replace("rate = \"1 Mbit/s\"", "rate = \"1 Mbit/s\"\nmtu = \"1 B\"");
    assert_eq!(error(&text), "t.toml:6: links.\"lan-*\".mtu: mtu of 1 B; expected 68 B to 65535 B (RFC 791)");
    let text = space("file = \"towns.csv\"\nbeam = \"b\"");
    assert!(
        error(&text).starts_with("t.toml:9: populations.users.beam: beam \"b\" has no capacity"),
        "{}",
        error(&text)
    );
    // Warnings too.
    let text = star(
        "from = \"user-*\"\nto = \"hub\"\ncount = 10\ntransport = { kind = \"tcp\", window = \"2 kB\" }",
    )
    .replace("1 ms", "300 ms");
    let told: Vec<String> = read(&text).warnings.iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].starts_with("t.toml:13: flows.0.transport: "), "{told:#?}");
}

#[test]
fn a_wrong_table_is_told_with_its_line() {
    let told = |table: &str| {
        let files = Files::from([("towns.csv".to_owned(), table.as_bytes().into())]);
        let text = space("file = \"towns.csv\"\ncount = 3");
        parse_with(text.as_bytes(), "t.toml", &[], files).expect_err(table).to_string()
    };
    for (table, expected) in [
        (
            "name,lat_deg\na,1\n",
            "towns.csv:1: populations.users.file: no column \"lon_deg\"; expected name, lat_deg and lon_deg",
        ),
        (
            "name,lat,lon_deg\na,1,1\n",
            "towns.csv:1: populations.users.file: unknown column \"lat\"; expected name, lat_deg, lon_deg, height_m, weight; did \
                you mean \"lat_deg\"?",
        ),
        (
            "name,lat_deg,lon_deg\na,1,1\n\nb,95,1\n",
            "towns.csv:4: populations.users.file: lat_deg of 95 is outside -90 to 90",
        ),
        (
            "name,lat_deg,lon_deg\na,1,361\n",
            "towns.csv:2: populations.users.file: lon_deg of 361 is outside -180 to 360",
        ),
        (
            "name,lat_deg,lon_deg\na,x,1\n",
            "towns.csv:2: populations.users.file: lat_deg: \"x\" is not a number",
        ),
        ("name,lat_deg,lon_deg\na,1\n", "towns.csv:2: populations.users.file: 2 cells; expected 3"),
        (
            "name,lat_deg,lon_deg\na,1,1\na,2,2\n",
            "towns.csv:3: populations.users.file: name \"a\" is there twice",
        ),
        ("name,lat_deg,lon_deg\n,1,1\n", "towns.csv:2: populations.users.file: name is empty"),
        (
            "name,lat_deg,lon_deg,weight\na,1,1,-1\n",
            "towns.csv:2: populations.users.file: weight of -1 is outside 0 to 1000000000000000",
        ),
        (
            "name,lat_deg,lon_deg,weight\na,1,1,0\n",
            "t.toml:8: populations.users.file: all weights of \"towns.csv\" are 0; expected a place with more",
        ),
        ("", "towns.csv: populations.users.file: is empty; expected a row of names first"),
        (
            "name,lat_deg,lon_deg\n",
            "towns.csv: populations.users.file: has no places; expected a row for each below the row of names",
        ),
    ] {
        assert_eq!(told(table), expected, "{table}");
    }
    assert!(
        error(&space("file = \"towns.csv\"\naround = { lat = \"1 deg\", lon = \"1 deg\" }\ncount = 2"))
            .ends_with("t.toml:9: populations.users.around: both file and around; expected one of them")
    );
    let told = error(&space("file = \"towns.csv\"\nradius = \"1 km\""));
    assert!(
        told.starts_with("t.toml:9: populations.users.radius: radius needs count, as terminals of a table have places of their own"),
        "{told}"
    );
    let missing = parse(space("file = \"twons.csv\"").as_bytes(), "t.toml", &[]).unwrap_err().to_string();
    assert!(missing.starts_with("t.toml:8: populations.users.file: twons.csv: no such file"), "{missing}");
}

#[test]
fn splices_take_a_population_by_its_name() {
    let text = star("from = \"user-*\"\nto = \"far\"\ncount = 7").replace(
        "[[flows]]",
        "[links.wan]\nbetween = [\"hub\", \"far\"]\nrate = \"1 Mbit/s\"\ndelay = \"300 ms\"\n[splices.pep]\nat = \"hub\"\nflows = \
            [\"f\"]\n[[flows]]",
    );
    assert_eq!(read(&text).scenario.splices["pep"].flows.as_ref().unwrap().len(), 7);
    let wrong = text.replace("flows = [\"f\"]", "flows = [\"f\", \"g\"]");
    assert!(
        error(&wrong).starts_with("t.toml:13: splices.pep.flows: unknown flow \"g\""),
        "{}",
        error(&wrong)
    );
}
