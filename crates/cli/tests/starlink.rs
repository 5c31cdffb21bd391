//! Catalogued satellites as seen by a user: recognition in a file, half an hour over Starlink, exports.
//!
//! Follows the elements of October 2025 beside the repository; without them the tests are skipped with a message.
//! Differs from the library's tests: each starts a process, and lower bounds are computed here from coordinates.
//! Leaves out the whole day, whose numbers are in docs/results.md.

mod common;

#[path = "../../../tools/testing.rs"]
mod testing;

use common::{code, path, skyhop, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};

/// Ten pairs with their coordinates in degrees.
const PAIRS: [(&str, &str, [f64; 4]); 10] = [
    ("london", "new york", [51.51, -0.13, 40.71, -74.01]),
    ("berlin", "rome", [52.52, 13.41, 41.89, 12.5]),
    ("paris", "madrid", [48.86, 2.35, 40.42, -3.7]),
    ("tokyo", "seoul", [35.68, 139.69, 37.57, 126.98]),
    ("sydney", "auckland", [-33.87, 151.21, -36.85, 174.76]),
    ("chicago", "miami", [41.88, -87.63, 25.76, -80.19]),
    ("quito", "bogota", [-0.22, -78.51, 4.71, -74.07]),
    ("nairobi", "johannesburg", [-1.29, 36.82, -26.2, 28.05]),
    ("mumbai", "singapore", [19.08, 72.88, 1.35, 103.82]),
    ("toronto", "los angeles", [43.65, -79.38, 34.05, -118.24]),
];

#[test]
fn what_is_recognised_is_told() {
    for (file, all, placed, planes, shells) in [
        ("starlink.tle", 8451, 7400..7800, 340..420, 10..17),
        ("oneweb.tle", 651, 610..645, 12..13, 1..2),
        ("iridium_next.tle", 80, 66..67, 6..7, 1..2),
    ] {
        let Some(file) = elements(file) else { return };
        let out = skyhop(&["constellation", "show", path(&file)]);
        let text = stdout(&out);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let line = text.lines().find(|line| line.contains(" outside planes ")).expect("it is told");
        let numbers: Vec<usize> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!(placed.contains(&numbers[0]) && planes.contains(&numbers[1]), "{line}");
        assert!(shells.contains(&numbers[2]) && numbers[0] + numbers[3] == all, "{line}");
        for kind in ["ISLs in planes: ", "ISLs between planes: "] {
            let line = text.lines().find_map(|line| line.strip_prefix(kind)).expect("there are some");
            let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            // Possible, up, median length: two satellites at 500 to 1200 km are in sight up to 5000 to 8000 km.
            // Iridium's are off above 68 degrees, where a satellite is for a quarter of its orbit.
            let polar = path(&file).contains("iridium") && kind.contains("between");
            let (least, most) = if polar { (0.6, 0.8) } else { (0.9, 1.0) };
            let share = numbers[1] / numbers[0];
            assert!(share > least && share <= most, "{line}");
            assert!((900.0..4500.0).contains(&numbers[2]), "{line}");
        }
    }
}

#[test]
fn half_an_hour_over_links_between_satellites() {
    let Some(delays) = day(&["--duration", "30 min"]) else { return };
    for (index, found) in delays.iter().enumerate() {
        let (from, to, place) = PAIRS[index];
        let floor_ms = floor_ms(place);
        assert_eq!(found.len(), 120, "{from} to {to}: a route at all times");
        // Up and down 500 km is more than a neighbour is away.
        let most = if from == "quito" { 2.3 } else { 2.0 };
        for delay_ms in found {
            let over = delay_ms / floor_ms;
            assert!((1.0..most).contains(&over), "{from} to {to}: {delay_ms} ms, {over} of the floor");
        }
    }
}

#[test]
fn half_an_hour_through_gateways() {
    let mut args = vec!["--isls", "off", "--duration", "30 min"];
    for (from, to, _) in PAIRS {
        args.extend(["--gateway", from, "--gateway", to]);
    }
    let Some(delays) = day(&args) else { return };
    for (index, found) in delays.iter().enumerate() {
        let (from, to, place) = PAIRS[index];
        let floor_ms = floor_ms(place);
        // Fibre has 1.468 of the floor on the ground; going up and down twice takes 2 x 2 x 1.6 ms at 480 km straight up,
        // and three times that at 25 degrees.
        let fibre = 1.468 * floor_ms;
        assert_eq!(found.len(), 120, "{from} to {to}: a route at all times");
        for delay_ms in found {
            assert!(*delay_ms > floor_ms && *delay_ms < fibre + 4.0 * 4.0, "{from} to {to}: {delay_ms} ms");
            // No gateway is on the way across the Atlantic; elsewhere a satellite saves a part of the fibre.
            assert!(from != "london" || *delay_ms > fibre + 4.0 * 1.1, "{from} to {to}: {delay_ms} ms");
        }
    }
}

/// Delays of each pair, ms.
fn day(options: &[&str]) -> Option<Vec<Vec<f64>>> {
    let file = elements("starlink.tle")?;
    let mut args = vec!["delay", PAIRS[0].0, PAIRS[0].1];
    for (from, to, _) in &PAIRS[1..] {
        args.extend(["--also", from, to]);
    }
    args.extend(["--tle", path(&file), "--step", "15", "--update-interval", "15", "--csv"]);
    args.extend(options);
    let out = skyhop(&args);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let text = stdout(&out);
    let mut delays = vec![Vec::new(); PAIRS.len()];
    for line in text.lines().skip(1).filter(|line| line.ends_with(",ok")) {
        let cells: Vec<&str> = line.split(',').collect();
        let pair = PAIRS.iter().position(|(from, _, _)| from.replace(' ', "-") == cells[0]);
        delays[pair.expect("a pair that was asked for")].push(cells[3].parse().expect("a delay"));
    }
    Some(delays)
}

/// Travel time of light in vacuum along the great circle, ms.
fn floor_ms([lat1, lon1, lat2, lon2]: [f64; 4]) -> f64 {
    let [lat1, lon1, lat2, lon2] = [lat1, lon1, lat2, lon2].map(f64::to_radians);
    let half =
        ((lat2 - lat1) / 2.0).sin().powi(2) + lat1.cos() * lat2.cos() * ((lon2 - lon1) / 2.0).sin().powi(2);
    2.0 * half.sqrt().asin() * 6371e3 / 299_792_458.0 * 1e3
}

#[test]
fn elements_are_exported_as_they_were() {
    let Some(file) = elements("gps.tle") else { return };
    let out = skyhop(&["constellation", "export", path(&file), "--tle"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let fields = |text: &str| {
        let lines = text.lines().map(|line| line.get(..61).unwrap_or(line).trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(fields(&stdout(&out)), fields(&fs::read_to_string(&file).unwrap()));
    let oem = skyhop(&["constellation", "export", path(&file), "--oem", "--duration", "60"]);
    assert_eq!(stdout(&oem).matches("META_START").count(), 32);
    assert!(stdout(&oem).contains("START_TIME = 2025-10-07T"), "{}", &stdout(&oem)[..400]);
    let later = skyhop(&[
        "constellation",
        "export",
        path(&file),
        "--oem",
        "--duration",
        "60",
        "--epoch",
        "2025-10-09T00:00:00Z",
    ]);
    assert!(stdout(&later).contains("START_TIME = 2025-10-09T00:00:00"), "{}", stderr(&later));
    // Hypatia takes one epoch for all.
    let folder = folder("gps");
    let refused = skyhop(&["constellation", "export", path(&file), "--hypatia", path(&folder)]);
    assert_eq!((code(&refused), stdout(&refused).as_str()), (2, ""));
    assert!(stderr(&refused).contains("satellites of one epoch only"), "{}", stderr(&refused));
    assert!(!folder.exists());
}

#[test]
fn a_preset_by_way_of_its_elements_is_the_same_folder() {
    let dir = folder("by-way");
    fs::create_dir_all(&dir).unwrap();
    let [file, direct, round] = ["kuiper-630.tle", "direct", "round"].map(|name| dir.join(name));
    fs::write(dir.join("stations.csv"), "name,lat,lon\nRome,41.90,12.50\nPerth,-31.95,115.86\n").unwrap();
    let stations = dir.join("stations.csv");
    let out = skyhop(&["constellation", "export", "kuiper-630", "--tle", "--out", path(&file)]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    for (name, folder) in [("kuiper-630", &direct), (path(&file), &round)] {
        let args = ["--stations", path(&stations), "--duration", "2", "--step", "1"];
        let out =
            skyhop(&[&["constellation", "export", name, "--hypatia", path(folder)][..], &args].concat());
        assert_eq!(code(&out), 0, "{}", stderr(&out));
    }
    let sorted = |folder: &Path| {
        let text = fs::read_to_string(folder.join("isls.txt")).unwrap();
        let mut pairs: Vec<(u32, u32)> = text
            .lines()
            .map(|line| {
                let ends: Vec<u32> = line.split(' ').map(|end| end.parse().unwrap()).collect();
                (ends[0].min(ends[1]), ends[0].max(ends[1]))
            })
            .collect();
        pairs.sort_unstable();
        pairs
    };
    // 34 planes of 34: one ahead and one to the east of each. Planes are half a slot apart, so that either of two facing
    // satellites is as near as the other; the elements' rounding decides.
    let (direct_isls, round_isls) = (sorted(&direct), sorted(&round));
    assert_eq!((direct_isls.len(), round_isls.len()), (2 * 34 * 34, 2 * 34 * 34));
    let in_planes =
        |isls: &[(u32, u32)]| isls.iter().filter(|(a, b)| a / 34 == b / 34).copied().collect::<Vec<_>>();
    assert!(in_planes(&direct_isls) == in_planes(&round_isls));
    for (a, b) in round_isls {
        let (planes, slots) = ((a / 34).abs_diff(b / 34), (a % 34).abs_diff(b % 34));
        assert!([0, 1, 33].contains(&planes) && [0, 1, 33].contains(&slots), "{a} to {b}");
    }
    let first = |folder: &Path| {
        fs::read_to_string(folder.join("tles.txt")).unwrap().lines().next().map(str::to_owned)
    };
    assert_eq!(first(&direct).as_deref(), Some("34 34"));
    assert_eq!(first(&round), first(&direct));
}

/// A file of elements of October 2025.
fn elements(name: &str) -> Option<PathBuf> {
    testing::shared(&format!("data/tle/{name}"))
}

/// A path for a new folder.
fn folder(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("starlink").join(name);
    let _ = fs::remove_dir_all(&dir);
    dir
}
