//! Messages for mistakes in a scenario that only appear when its orbits are computed.
//!
//! Follows the list in `crates/scenario/tests/mistakes.txt`, whose mistakes are found without orbits.
//! Differs: each has its key but no line.
//! Leaves out orbital elements in files, which the `orbit` crate's tests have.

use skyhop_sim::Simulation;

fn refused(constellation: &str, failures: &str) -> String {
    let text = format!(
        "duration = \"60 s\"\n[constellation]\n{constellation}\n{failures}\n[terminals]\n\
         quito = {{ lat = \"0 deg\", lon = \"0 deg\" }}\ntokyo = {{ lat = \"35 deg\", lon = \"139 deg\" }}\n\
         [[flows]]\nfrom = \"quito\"\nto = \"tokyo\"\ntraffic = {{ kind = \"ping\" }}\n"
    );
    let loaded = match skyhop_scenario::parse(text.as_bytes(), "t.toml", &[]) {
        Ok(loaded) => loaded,
        Err(error) => return error.to_string(),
    };
    match Simulation::new(&loaded.scenario, &loaded.files, 1) {
        Ok(_) => "nothing".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn patterns_that_are_not_walkers() {
    let walker =
        |text: &str| refused(&format!("shell = {{ walker = \"{text}\", altitude = \"780 km\" }}"), "");
    assert_eq!(walker("86.4: 66/6/2"), "nothing");
    for (text, told) in [
        ("86.4 66/6/2", "pattern \"86.4 66/6/2\"; expected i: t/p/f like 53: 1584/72/39"),
        ("86.4: 66/6", "pattern \"86.4: 66/6\"; expected i: t/p/f like 53: 1584/72/39"),
        ("86.4: 66/7/2", "66 satellites in 7 planes; expected a multiple of the planes"),
        ("86.4: 66/6/6", "phasing of 6; expected 0 to 5"),
        ("north: 66/6/2", "pattern \"north: 66/6/2\"; expected i: t/p/f like 53: 1584/72/39"),
    ] {
        assert_eq!(walker(text), format!("constellation.shell.walker: {told}"));
    }
}

#[test]
fn failures_of_what_does_not_exist() {
    let failure = |what: &str| refused("preset = \"iridium\"", &format!("[[failures]]\n{what}"));
    assert_eq!(failure("satellite = \"3.4\""), "nothing");
    for (what, told) in [
        (
            "satellite = \"6.0\"",
            "satellite: no satellite \"6.0\" in this constellation; expected a name such as \"0.0\"; did you mean \"0.0\"?",
        ),
        (
            "satellite = \"3,4\"",
            "satellite: no satellite \"3,4\" in this constellation; expected a name such as \"0.0\"; did you mean \"3.4\"?",
        ),
        (
            "link = \"isl:3.4-3.6\"",
            "link: no link \"isl:3.4-3.6\" in this constellation; expected a name such as \"isl:0.0-0.1\"; did you mean \"isl:3.4-3.5\"?",
        ),
        (
            "link = \"gsl:quitto\"",
            "link: no link \"gsl:quitto\" in this constellation; expected a name such as \"isl:0.0-0.1\"; did you mean \"gsl:quito\"?",
        ),
    ] {
        assert_eq!(failure(what), format!("failures.0.{told}"));
    }
}

#[test]
fn rates_of_a_link_that_never_exists() {
    let own = |link: &str| {
        refused(
            "preset = \"iridium\"",
            &format!("[[constellation.overrides]]\nlink = \"{link}\"\nrate = \"1 Mbit/s\""),
        )
    };
    for link in ["isl:3.4-3.5", "gsl:quito"] {
        assert_eq!(own(link), "nothing");
    }
    for (link, told) in [
        (
            "isl:3.4-3.6",
            "no link \"isl:3.4-3.6\" in this constellation; expected a name such as \"isl:0.0-0.1\"; did you mean \"isl:3.4-3.5\"?",
        ),
        (
            "gsl:quitto",
            "no link \"gsl:quitto\" in this constellation; expected a name such as \"isl:0.0-0.1\"; did you mean \"gsl:quito\"?",
        ),
    ] {
        assert_eq!(own(link), format!("constellation.overrides.0.link: {told}"));
    }
}
