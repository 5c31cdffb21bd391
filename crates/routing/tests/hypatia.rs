//! Round trips between cities against Hypatia's own, over Kuiper-630 and Starlink-550.
//!
//! Follows the reference's README, part B: GSLs by range, +Grid ISLs always up, shortest total length.
//! Differs: positions come from plain SGP4; stations are at their positions in PyEphem's geometry, relative to satellites.
//! Left out: the time a step takes; the example `speed` prints it.

use crate::testing;
use skyhop_routing::forwarding::{Forwarding, StationHop};
use skyhop_routing::hypatia::{ForwardingState, Hypatia, ReadState, SCALE};

const TOLERANCE: f64 = 2e-5;

#[test]
fn kuiper_round_trips_agree_with_hypatia() {
    check("kuiper_630", 34, 34, (3.0 * 630e3f64.powi(2) + 630e3f64.powi(2)).sqrt());
}

#[test]
fn starlink_round_trips_agree_with_hypatia() {
    check("starlink_550", 72, 22, (940.7e3f64.powi(2) + 550e3f64.powi(2)).sqrt());
}

fn check(shell: &str, planes: u32, per_plane: u32, gsl_range_m: f64) {
    let Some((network, rows)) = network(shell, planes, per_plane, gsl_range_m) else { return };
    let mut forwarding = network.forwarding();
    let (mut time, mut compared, mut beyond, mut same_path) = (f64::NAN, 0, 0, 0);
    let (mut worst, mut worst_m) = (0.0f64, 0.0f64);
    for row in rows.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |index: usize| cells[index].parse::<f64>().expect("the column holds numbers");
        if number(0) != time {
            time = number(0);
            forwarding.step(time);
        }
        let path = forwarding.path(number(1) as usize, number(2) as usize);
        assert_eq!(path.is_none(), cells[6].is_empty(), "{row}");
        let Some((satellites, length_m)) = path else { continue };
        let length_m = length_m * SCALE;
        let rtt_ms = 2.0 * length_m / 299_792_458.0 * 1e3;
        let off = (rtt_ms - number(4)).abs() / number(4);
        compared += 1;
        worst = worst.max(off);
        worst_m = worst_m.max((length_m - number(3)).abs());
        beyond += usize::from(off > TOLERANCE);
        let names: Vec<String> = satellites.iter().map(u32::to_string).collect();
        same_path += usize::from(names.join("-") == cells[6]);
        let last = *satellites.last().expect("a path has satellites");
        assert_eq!(forwarding.next(last, number(2) as usize), Some(StationHop::Station));
    }
    println!(
        "{shell}: {compared} rows, {worst_m:.1} m and {worst:.2e} at most, {beyond} beyond {TOLERANCE:.0e}, {same_path} same paths"
    );
    assert!(compared > 1000, "only {compared} rows");
    assert_eq!((beyond, same_path), (0, compared));
    // With PyEphem's geometry left out, 26 short paths are beyond and 82 m off at most.
    assert!((1.0..60.0).contains(&worst_m), "{worst_m} m at most");
}

fn network(shell: &str, planes: u32, per_plane: u32, gsl_range_m: f64) -> Option<(Hypatia, String)> {
    let read = |name: String| testing::shared_text(&format!("reference/constellation/{name}"));
    let (tles, rows) =
        read(format!("hypatia_{shell}_tles.txt")).zip(read(format!("hypatia_{shell}_rtt.csv")))?;
    let stations = read("hypatia_ground_stations.txt".into()).expect("it is beside the others");
    let isls: String =
        Forwarding::plus_grid(planes, per_plane).iter().map(|(a, b)| format!("{a} {b}\n")).collect();
    let description = format!("max_gsl_length_m={gsl_range_m}\nmax_isl_length_m=6000000\n");
    Some((Hypatia::read(&tles, &isls, &stations, &description).expect("sound"), rows))
}

#[test]
fn what_is_written_is_what_was_read() {
    let Some((network, _)) = network("kuiper_630", 34, 34, 1260e3) else { return };
    let read = |name: &str| testing::shared_text(&format!("reference/constellation/{name}")).expect("there");
    let stations = read("hypatia_ground_stations.txt");
    // Hypatia works them out from degrees with more digits than it writes.
    for (ours, theirs) in network.stations_text().lines().zip(stations.lines()) {
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.split(',').collect(), theirs.split(',').collect());
        assert_eq!(ours[..5], theirs[..5]);
        for (a, b) in ours[5..].iter().zip(&theirs[5..]) {
            let (a, b): (f64, f64) = (a.parse().expect("m"), b.parse().expect("m"));
            assert!((a - b).abs() < 0.1, "{ours:?} against {theirs:?}");
        }
    }
    let tles = read("hypatia_kuiper_630_tles.txt");
    let again =
        Hypatia::read(&tles, &network.isls_text(), &network.stations_text(), &network.description_text())
            .expect("our own files");
    assert_eq!((&again.isls, again.stations.len()), (&network.isls, 100));
    assert_eq!(again.max_gsl_length_m, network.max_gsl_length_m);
    assert_eq!(network.gsl_interfaces_text().lines().count(), 1256);
}

#[test]
fn forwarding_state_is_written_in_full_and_then_as_changes() {
    let Some((network, _)) = network("kuiper_630", 34, 34, 1260e3) else { return };
    let mut state = ForwardingState::new(&network);
    let mut read = ReadState::default();
    let mut forwarding = network.forwarding();
    let mut sizes = Vec::new();
    for t_s in [0.0, 1.0, 60.0] {
        let text = state.step(t_s);
        read.apply(&text).expect("our own text");
        sizes.push(text.lines().count());
        forwarding.step(t_s);
        for to in 0..100 {
            for satellite in 0..1156 {
                let expected = forwarding.next(satellite, to).map(|next| match next {
                    StationHop::Satellite(other) => other,
                    StationHop::Station => 1156 + to as u32,
                });
                assert_eq!(read.next(satellite, 1156 + to as u32), expected);
            }
            for from in (0..100).filter(|from| *from != to) {
                let expected = forwarding.first(from, to).map(|(satellite, _)| satellite);
                assert_eq!(read.next(1156 + from as u32, 1156 + to as u32), expected);
            }
        }
    }
    // Every node to every station but itself, then what a second and a minute change.
    assert_eq!(sizes[0], 1156 * 100 + 100 * 99);
    assert!((1..2000).contains(&sizes[1]) && (2000..60_000).contains(&sizes[2]), "{sizes:?}");
    // Interfaces: ISLs by the order of the file, then the one to the ground; a station has one.
    let text = ForwardingState::new(&network).step(0.0);
    for line in text.lines() {
        let cells: Vec<i64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
        let [node, _, next, here, there] = cells[..] else { panic!("{line}") };
        let (ground, up) = (next >= 1156, node >= 1156);
        assert!(next == -1 || if ground { here == 4 && there == 0 } else { here <= 3 || up }, "{line}");
        assert!(!up || next == -1 || (here == 0 && there == 4), "{line}");
    }
}

#[test]
fn files_that_cannot_be() {
    let read = |tles: &str, isls: &str, stations: &str| {
        Hypatia::read(tles, isls, stations, "max_gsl_length_m=1e6\n").expect_err("wrong").to_string()
    };
    assert_eq!(
        read("34\n", "", ""),
        "tles.txt: line 1: \"34\"; expected two numbers, of orbits and of satellites in each"
    );
    let tles = "1 1\na\n1 00001U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    04\n\
                2 00001  51.9000   0.0000 0000001   0.0000   0.0000 14.80000000    02\n";
    assert_eq!(
        read(tles, "0 1\n", ""),
        "isls.txt: line 1: \"0 1\"; expected two numbers of satellites below 1 that differ"
    );
    assert_eq!(
        read(tles, "", "0,a,0,0,0\n2,b,0,0,0\n"),
        "ground_stations.txt: line 2: \"2,b,0,0,0\"; expected station number 1 next"
    );
    assert_eq!(
        read(tles, "", "0,a,91,0,0\n").split(';').next(),
        Some("ground_stations.txt: line 1: latitude of 91 deg for terminal \"a\"")
    );
    assert_eq!(
        read(tles, "", "0,a\u{1b}[31m,0,0,nan\n").split(';').next(),
        Some("ground_stations.txt: line 1: height of NaN m for terminal \"a.[31m\"")
    );
    for day in ["1e3000000000", "367.99999999", "-01.00000000"] {
        let wrong = read(&tles.replace("00001.0000", &format!("00{}", &day[..8])), "", "");
        assert!(wrong.starts_with("tles.txt: "), "{wrong}");
    }
    for metres in ["nan", "-inf", "-1", "far"] {
        let wrong = Hypatia::read(tles, "", "", &format!("max_gsl_length_m={metres}\n")).expect_err("wrong");
        assert!(wrong.to_string().ends_with("expected a number of metres"), "{wrong}");
    }
}
