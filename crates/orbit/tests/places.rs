//! Cities against Natural Earth's populated places, by name.
//!
//! Follows ../shared/data/natural-earth, whose points are of other sources than the table's.
//! Differs: the two sources place a city's point differently, so that 15 km count as the same place.
//! Left out: cities that the small file lacks.

use crate::testing;
use skyhop_orbit::places::CITIES;
use std::collections::BTreeMap;

#[test]
fn cities_lie_where_an_atlas_has_them() {
    let Some(text) = testing::shared_text("data/natural-earth/ne_110m_populated_places_simple.json") else {
        return;
    };
    let letters = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
    };
    let mut atlas: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains("\"nameascii\": ")) {
        let of = |key: &str| {
            let value = line.split(&format!("\"{key}\": ")).nth(1).expect("each has it");
            value.split([',', '}']).next().expect("a value").trim_matches('"')
        };
        let degrees = |key| of(key).parse::<f64>().expect("a number");
        atlas.entry(letters(of("nameascii"))).or_default().push((degrees("latitude"), degrees("longitude")));
    }
    let mut compared = 0;
    for (name, lat, lon) in CITIES {
        let Some(places) = atlas.get(&letters(name)) else { continue };
        // A degree of latitude is 111.2 km; so close by, the Earth is flat.
        let km = |(a, b): &(f64, f64)| 111.2 * (a - lat).hypot((b - lon) * lat.to_radians().cos());
        let nearest_km = places.iter().map(km).fold(f64::INFINITY, f64::min);
        assert!(nearest_km < 15.0, "{name} lies {nearest_km:.0} km from where the atlas has it");
        compared += 1;
    }
    assert!(compared > 100, "only {compared} of {} are in the atlas", CITIES.len());
}
