//! Checks of paths through a constellation whose directions, terminals and gateways have their own rates.
//!
//! Follows the rule that the innermost table applies.
//! Differs from `crates/sim/tests/rates.rs`, where packets fill the links: there is no traffic here.
//! Leaves out single links, since no path is known before a run.

use skyhop_scenario::network::{SatelliteSegment, SkyWay, resolve};
use skyhop_units::Span;

/// Key and rate of the narrowest link, bit/s, and the rate in the other direction, bit/s, from `from` to `to`.
fn narrowest(gsl: &str, from: &str, to: &str, traffic: &str) -> (String, u64, u64) {
    let text = format!(
        "duration = \"60 s\"\n[constellation]\npreset = \"starlink-550\"\nisl = {{ rate = \"1 Gbit/s\" }}\ngsl = {gsl}\n[terminals]\n\
         lima = {{ lat = \"-12 deg\", lon = \"-77 deg\", gsl = {{ down = {{ rate = \"100 Mbit/s\" }} }} }}\n\
         oslo = {{ lat = \"60 deg\", lon = \"11 deg\" }}\n\
         rome = {{ lat = \"42 deg\", lon = \"12 deg\", gateway = true, gsl = {{ rate = \"10 Gbit/s\" }} }}\n\
         [[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\ntraffic = {{ {traffic} }}\n"
    );
    let loaded = skyhop_scenario::parse(text.as_bytes(), "t.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let network = resolve(&loaded.scenario).unwrap();
    let ends = [from.to_owned(), to.to_owned()];
    let way = SkyWay {
        rtt: Span::from_millis(40),
        passes: vec![SatelliteSegment::Fleet { fleet: 0, ends, isls: true }],
    };
    let legs = network.legs(&loaded.scenario, 0, &[], &|_, _| Some(way.clone()));
    let [leg] = legs.as_slice() else { panic!("{} legs", legs.len()) };
    (leg.bottleneck.clone(), leg.rate.as_bps(), leg.return_rate.as_bps())
}

#[test]
fn the_narrowest_link_is_found_in_each_direction() {
    let gsl = "{ up = { rate = \"20 Mbit/s\" }, down = { rate = \"250 Mbit/s\" } }";
    let bulk = "kind = \"bulk\"";
    let told = |from, to, traffic| narrowest(gsl, from, to, traffic);
    assert_eq!(
        told("rome", "lima", bulk),
        ("terminals.lima.gsl.down".into(), 100_000_000, 20_000_000),
        "down to lima, and back up from there"
    );
    assert_eq!(told("rome", "oslo", bulk), ("constellation.gsl.down".into(), 250_000_000, 20_000_000));
    assert_eq!(told("oslo", "rome", bulk), ("constellation.gsl.up".into(), 20_000_000, 250_000_000));
    assert_eq!(told("lima", "oslo", bulk), ("constellation.gsl.up".into(), 20_000_000, 20_000_000));
    // The data of a browser in Lima come down there.
    let web = "kind = \"web\"";
    assert_eq!(told("lima", "rome", web), ("terminals.lima.gsl.down".into(), 100_000_000, 20_000_000));
    // Links between satellites are narrower than two gateways'.
    let wide = "{ rate = \"10 Gbit/s\" }";
    assert_eq!(
        narrowest(wide, "rome", "oslo", bulk),
        ("constellation.isl".into(), 1_000_000_000, 1_000_000_000)
    );
}
