//! Warnings of runs over satellites: shells without links between them, old elements, and no false alarms.
//!
//! Follows scenarios that leave out antennas and policies, and others that have them.
//! Differs from `refusals`: these scenarios run.
//! Leaves out warnings of links and flows.

use skyhop_scenario::parse;
use skyhop_sim::Simulation;

fn warnings(constellation: &str, more: &str) -> (Vec<String>, u64) {
    let text = format!(
        "duration = \"2 min\"\n[constellation]\n{constellation}\n{more}\n[terminals]\n\
         a = {{ lat = \"10 deg\", lon = \"0 deg\" }}\nb = {{ lat = \"-10 deg\", lon = \"60 deg\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\ntraffic = {{ kind = \"ping\", interval = \"10 s\" }}\nstop = \"100 s\"\n"
    );
    let mut loaded = parse(text.as_bytes(), "warnings", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let elements = "IRIDIUM 106\n1 41917U 17003A   15280.46368645  .00000466  00000+0  15920-3 0  9996\n\
                    2 41917  86.4038 194.1078 0002337  70.8062 289.3387 14.34217580456988\n";
    loaded.files.insert("old.tle".into(), elements.as_bytes().into());
    let mut simulation =
        Simulation::new(&loaded.scenario, &loaded.files, 1).unwrap_or_else(|e| panic!("{e}"));
    while !simulation.finished() {
        simulation.step();
    }
    let result = simulation.finish();
    (result.warnings, result.routing.map_or(0, |routing| routing.stranded_no_path))
}

const TWO_SHELLS: &str = "shells = [\n\
    { planes = 20, satellites_per_plane = 20, altitude = \"1200 km\", inclination = \"60 deg\" },\n\
    { planes = 20, satellites_per_plane = 20, altitude = \"1100 km\", inclination = \"50 deg\", raan = \"7 deg\" }]";

#[test]
fn shells_that_nothing_joins() {
    // All in view, the default: a path in one shell or the other.
    assert_eq!(warnings(TWO_SHELLS, ""), (Vec::new(), 0));
    let one = format!("{TWO_SHELLS}\nhandover = \"highest-on-loss\"");
    let (told, stranded) = warnings(&one, "");
    assert!(stranded > 0, "the ends hold satellites of one shell: the test's shells are badly chosen");
    let expected = format!(
        "{stranded} packets found no path although both ends held satellites: ISLs stay within a shell, and nothing joins \
         the 2 shells to one another (a terminal with one antenna holds one satellite)"
    );
    assert_eq!(told, [expected]);
    let (told, _) = warnings(&format!("{TWO_SHELLS}\nisls = false"), "");
    assert!(told.len() == 1 && told[0].contains("there are no ISLs, no gateways"), "{told:?}");
}

#[test]
fn a_satellite_that_fails_has_not_decayed() {
    let fails = "[[failures]]\nsatellite = \"0.0\"\n[[failures]]\nsatellite = \"3.3\"\nfrom = \"50 s\"";
    let (told, _) = warnings("preset = \"iridium\"", fails);
    assert!(!told.iter().any(|told| told.contains("no position")), "{told:?}");
}

#[test]
fn elements_far_from_the_start() {
    let (told, _) = warnings("tle = \"old.tle\"\nepoch = \"2025-10-07T00:00:00Z\"", "");
    assert!(told.iter().any(|told| told.contains("elements up to 10.0 years from t = 0")), "{told:?}");
    let (told, _) = warnings("tle = \"old.tle\"", "");
    assert!(!told.iter().any(|told| told.contains("years")), "{told:?}");
}
