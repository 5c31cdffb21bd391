//! Commands about satellites as seen by a user: output, exit codes, errors.
//!
//! Follows the help texts; delays are compared with ns-2's rows if those are beside the repository.
//! Differs from the library's tests: each starts a process.
//! Leaves out numbers that the library's tests already bound.

mod common;

#[path = "../../../tools/testing.rs"]
mod testing;

use common::{code, path, skyhop, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn help_has_examples() {
    for command in ["constellation", "passes", "delay", "route"] {
        let out = skyhop(&[command, "--help"]);
        assert_eq!(code(&out), 0);
        assert!(stdout(&out).contains("Examples:\n  skyhop "), "{command}: {}", stdout(&out));
    }
}

#[test]
fn presets_are_listed_and_shown() {
    let list = stdout(&skyhop(&["constellation", "list"]));
    assert_eq!(list.lines().count(), 18, "{list}");
    let shown = stdout(&skyhop(&["constellation", "show", "Teledesic"]));
    assert!(
        shown.contains("source: HT tables 1.1 and 6.1") && shown.contains("288 satellites, mask 40 deg"),
        "{shown}"
    );
}

#[test]
fn exported_elements_fly_like_the_preset() {
    let dir = folder("export");
    let file = dir.join("iridium.tle");
    let out = skyhop(&["constellation", "export", "iridium", "--tle", "--out", path(&file)]);
    assert_eq!((code(&out), stdout(&out).as_str()), (0, ""), "{}", stderr(&out));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 3 * 66);
    let passes = |source: &[&str]| {
        let mut args =
            vec!["passes", "--at", "oslo", "--mask", "8.2", "--above", "15", "--duration", "20 min", "--csv"];
        args.extend(source);
        let text = stdout(&skyhop(&args));
        let names: Vec<String> =
            text.lines().skip(1).map(|l| l.split(',').next().unwrap().to_owned()).collect();
        names
    };
    let (invented, read) = (passes(&["--constellation", "iridium"]), passes(&["--tle", path(&file)]));
    assert!(invented.len() > 2, "{invented:?}");
    assert_eq!(invented, read);
    let czml = stdout(&skyhop(&["constellation", "export", "geo-3", "--czml", "--duration", "120"]));
    let packets: serde_json::Value = serde_json::from_str(&czml).unwrap();
    assert_eq!(packets.as_array().unwrap().len(), 4);
    let oem = stdout(&skyhop(&["constellation", "export", "molniya", "--oem", "--duration", "120"]));
    assert!(oem.starts_with("CCSDS_OEM_VERS = 2.0\n") && oem.matches("META_START").count() == 3, "{oem}");
}

#[test]
fn a_folder_of_hypatias_is_written_whole_and_read_back() {
    let dir = folder("hypatia").join("kuiper");
    let _ = fs::remove_dir_all(&dir);
    let stations = dir.with_extension("csv");
    fs::write(&stations, "name,lat,lon\nRome,41.90,12.50\nQuito,-0.22,-78.51\nPerth,-31.95,115.86\n")
        .unwrap();
    let export = |out: &Path| {
        let stations = path(&stations).to_owned();
        skyhop(&[
            "constellation",
            "export",
            "kuiper-630",
            "--hypatia",
            path(out),
            "--stations",
            &stations,
            "--duration",
            "2",
            "--step",
            "1",
        ])
    };
    let out = export(&dir);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let lines = |name: &str| fs::read_to_string(dir.join(name)).unwrap().lines().count();
    assert_eq!((lines("tles.txt"), lines("isls.txt"), lines("ground_stations.txt")), (1 + 3 * 1156, 2312, 3));
    let state = "dynamic_state_1000ms_for_2s";
    assert_eq!(lines(&format!("{state}/fstate_0.txt")), 1156 * 3 + 3 * 2);
    assert!(lines(&format!("{state}/fstate_1000000000.txt")) < 200);
    let again = export(&dir);
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("exists; expected a folder that is yet to be"), "{}", stderr(&again));
    // The file's satellites fly as the preset's, except for SGP4 in place of circles: a few kilometres in a path.
    let rows = |args: &[&str]| {
        let out = skyhop(args);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let text = stdout(&out);
        let delays = text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<f64>().unwrap());
        delays.collect::<Vec<f64>>()
    };
    let read =
        rows(&["delay", "rome", "perth", "--hypatia", path(&dir), "--duration", "3", "--step", "1", "--csv"]);
    let preset = rows(&[
        "delay",
        "41.90,12.50",
        "-31.95,115.86",
        "--constellation",
        "kuiper-630",
        "--antennas",
        "all",
        "--mask",
        "30",
        "--duration",
        "3",
        "--step",
        "1",
        "--update-interval",
        "1",
        "--csv",
    ]);
    assert_eq!((read.len(), preset.len()), (3, 3));
    for (a, b) in read.iter().zip(&preset) {
        assert!((40.0..80.0).contains(a) && (a / b - 1.0).abs() < 0.02, "{a} against {b} ms");
    }
    let unknown = skyhop(&["delay", "rome", "qito", "--hypatia", path(&dir)]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean \"Quito\"?"), "{}", stderr(&unknown));
}

// Berlin to Rome goes up and down once; across an ocean fibre joins the gateways.
#[test]
fn gateways_and_several_antennas() {
    let bent = |extra: &[&str]| {
        let mut args = vec!["delay", "london", "new york", "--constellation", "starlink", "--isls", "off"];
        args.extend(["--duration", "60", "--step", "15", "--csv"]);
        args.extend(extra);
        skyhop(&args)
    };
    let text = stdout(&bent(&["--gateway", "london", "--gateway", "new york"]));
    let row: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
    let delay_ms: f64 = row[1].parse().unwrap();
    // 5,570 km of fibre take 27.3 ms; up and down twice at 550 km 7.4 ms or more.
    assert!((34.0..38.0).contains(&delay_ms), "{text}");
    assert!(row[3].contains("[london-gateway]>[new-york-gateway]") && row[2] == "2", "{text}");
    let alone = stdout(&bent(&[]));
    assert!(alone.lines().skip(1).all(|line| line.ends_with("noroute")), "{alone}");
    let wrong = bent(&["--gateway", "nowhere at all"]);
    assert_eq!(code(&wrong), 2);
    assert!(stderr(&wrong).starts_with("error: --gateway: "), "{}", stderr(&wrong));
    let wrong = bent(&["--antennas", "0"]);
    assert_eq!(code(&wrong), 2);
    let file = folder("gateways").join("list.csv");
    fs::write(&file, "name,lat,lon\nx,91,0\n").unwrap();
    let wrong = bent(&["--gateways", path(&file)]);
    assert_eq!(code(&wrong), 2);
    assert!(stderr(&wrong).contains("list.csv:2: latitude of 91 deg"), "{}", stderr(&wrong));
    // As spreadsheets save tables, in some countries.
    fs::write(
        &file,
        "\u{feff}Name;Latitude;Longitude\r\nlondon;51.51;-0.13\r\n\r\nnew-york;40.71;-74.01\r\n",
    )
    .unwrap();
    assert_eq!(stdout(&bent(&["--gateways", path(&file)])), text);
    fs::write(&file, "london;51,51;-0,13\n").unwrap();
    let wrong = stderr(&bent(&["--gateways", path(&file)]));
    assert!(wrong.contains("list.csv:1: lat: \"51,51\" has a decimal comma; write 51.51"), "{wrong}");
}

// Elements that are old, doubled, decayed, or far too many.
#[test]
fn doubtful_elements() {
    let dir = folder("doubtful");
    let iridium = "1 24793U 97020B   13001.50000000  .00000100  00000-0  28000-4 0  9993\n\
                   2 24793  86.3970 100.0000 0002000  90.0000 270.0000 14.34216969800000\n";
    let sums = |text: &str| {
        let sum = |line: &str| -> u32 {
            line[..68].chars().map(|c| if c == '-' { 1 } else { c.to_digit(10).unwrap_or(0) }).sum::<u32>()
                % 10
        };
        text.lines().map(|line| format!("{}{}\n", &line[..68], sum(line))).collect::<String>()
    };
    let iridium = sums(iridium);
    let file = |name: &str, text: &str| {
        let file = dir.join(name);
        fs::write(&file, text).unwrap();
        path(&file).to_owned()
    };
    let passes = |file: &str| skyhop(&["passes", "--tle", file, "--at", "oslo", "--mask", "5"]);
    let old = passes(&file("old.tle", &iridium));
    assert_eq!(code(&old), 0, "{}", stderr(&old));
    assert!(
        stderr(&old).contains("the newest elements are 1") && stderr(&old).contains(" years old"),
        "{}",
        stderr(&old)
    );
    let twice = passes(&file("twice.tle", &format!("{iridium}{iridium}")));
    assert_eq!(code(&twice), 2);
    assert!(stderr(&twice).contains("24793"), "{}", stderr(&twice));
    let decayed = sums(&iridium.replace("14.34216969", "17.90000000"));
    let decayed = passes(&file("decayed.tle", &decayed));
    assert_eq!(code(&decayed), 2);
    assert!(stderr(&decayed).contains("decayed.tle"), "{}", stderr(&decayed));
    // A million objects are more than a file may hold; nothing of it is taken in.
    let many = passes(&file("many.tle", &iridium.repeat(1_000_000)));
    assert_eq!(code(&many), 2);
    assert!(stderr(&many).len() < 1000, "{}", &stderr(&many)[..500]);
    let blind = skyhop(&[
        "delay",
        "oslo",
        "rome",
        "--constellation",
        "iridium",
        "--mask",
        "89.9",
        "--csv",
        "--duration",
        "600",
    ]);
    assert_eq!((code(&blind), stdout(&blind).as_str()), (2, ""));
    assert!(stderr(&blind).contains("is ever above 89.9 deg"), "{}", stderr(&blind));
    for (args, told) in [
        (["delay", "91,0", "rome", "--constellation", "iridium"], "latitude of 91 deg"),
        (["delay", "oslo", "rome", "--constellation", "iridum"], "did you mean \"iridium\"?"),
    ] {
        let out = skyhop(&args);
        assert_eq!(code(&out), 2);
        assert!(stderr(&out).contains(told), "{}", stderr(&out));
    }
}

#[test]
fn a_series_is_ns2s() {
    let file = "reference/constellation/series_teledesic_lat60_delay_quito_london.csv";
    let Some(reference) = testing::shared_text(file) else { return };
    let out =
        skyhop(&["delay", "Quito", "London", "--constellation", "teledesic", "--start", "0.01", "--csv"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let ours = stdout(&out);
    assert_eq!(ours.lines().next(), Some("time_s,delay_ms,satellites,path,status"));
    assert_eq!(ours.lines().count(), reference.lines().count());
    for (ours, theirs) in ours.lines().zip(reference.lines()).skip(1) {
        let (a, b): (Vec<&str>, Vec<&str>) = (ours.split(',').collect(), theirs.split(',').collect());
        if b[4] == "ns2_lost" {
            continue;
        }
        assert_eq!((a[0], a[2], a[4]), (b[0], b[2], b[4]), "{ours}\n{theirs}");
        let off_ms = a[1].parse::<f64>().unwrap() - b[1].parse::<f64>().unwrap();
        assert!(off_ms.is_nan() || off_ms.abs() <= 0.01, "{ours}\n{theirs}");
    }
}

#[test]
fn handover_policies_change_who_serves() {
    let series = |policy: &str| {
        let args =
            ["delay", "quito", "london", "--constellation", "teledesic", "--duration", "24 h", "--csv"];
        let out = skyhop(&[&args[..], &["--handover", policy]].concat());
        assert_eq!(code(&out), 0, "{policy}: {}", stderr(&out));
        stdout(&out)
    };
    assert_ne!(series("follow-plane"), series("highest"));
    assert_eq!(series("highest"), series("nearest"), "one shell over a sphere");
    assert!(
        series("ascending").contains("noroute"),
        "Quito and London are not always under northbound satellites"
    );
    let wrong = skyhop(&["delay", "quito", "london", "--constellation", "teledesic", "--handover", "higest"]);
    assert!(code(&wrong) == 2 && stderr(&wrong).contains("'highest'"), "{}", stderr(&wrong));
}

#[test]
fn several_pairs_and_coordinates_share_a_run() {
    let args = [
        "delay",
        "-0.22,-78.51",
        "51.51,-0.13",
        "--also",
        "new york",
        "san francisco",
        "--constellation",
        "iridium",
        "--duration",
        "120",
        "--csv",
    ];
    let text = stdout(&skyhop(&args));
    assert!(
        text.starts_with(
            "from,to,time_s,delay_ms,satellites,path,status\n\"-0.22,-78.51\",\"51.51,-0.13\",0,86."
        ),
        "{text}"
    );
    assert_eq!(text.lines().count(), 5);
    let mirror = stdout(&skyhop(&[
        "delay",
        "new york",
        "san francisco",
        "--constellation",
        "geo-3",
        "--duration",
        "60",
    ]));
    assert!(mirror.contains("1 to 1"), "{mirror}");
}

#[test]
fn a_route_is_told_in_words() {
    let out = skyhop(&["route", "quito", "london", "--constellation", "iridium", "--time", "60"]);
    let text = stdout(&out);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    for part in [
        "88.872 ms one way over 7 satellites",
        "quito goes up to 3.5, ",
        "3.5 passes to 3.4 in its own plane: ",
        "0.2 comes down to london",
        "Alternatives",
        "Why this one:",
        "--cross-seam shows",
    ] {
        assert!(text.contains(part), "no \"{part}\" in\n{text}");
    }
}

// Highest-on-loss leaves London on a satellite that flies south and Paris on one that flies north.
#[test]
fn what_one_antenna_costs_is_told() {
    let pair = ["london", "paris", "--constellation", "starlink-550"];
    let delay = |extra: &[&str]| skyhop(&[&["delay"], &pair[..], &["--duration", "60"], extra].concat());
    let all = delay(&[]);
    assert!(!stderr(&all).contains("warning"), "{}", stderr(&all));
    assert!(stdout(&all).contains("3.94 ms"), "{}", stdout(&all));
    let one = delay(&["--antennas", "1"]);
    assert!(stdout(&one).contains("50.05 ms"), "{}", stdout(&one));
    assert!(
        stderr(&one)
            .contains("50.05 ms with one satellite for each terminal, and 3.94 ms over 1 with all in view"),
        "{}",
        stderr(&one)
    );
    let route =
        |extra: &[&str]| stdout(&skyhop(&[&["route"], &pair[..], &["--draw", "off"], extra].concat()));
    let text = route(&["--antennas", "1"]);
    assert!(text.contains("between the two satellites that serve"), "{text}");
    assert!(
        text.contains("over another satellite than the one that serves would be 46.112 ms shorter"),
        "{text}"
    );
    assert!(text.contains("with all in view it would be 3.940 ms over 1: --antennas all"), "{text}");
    assert!(!text.contains("-46.112 ms longer"), "{text}");
    let text = route(&[]);
    assert!(text.contains("over the satellites that the terminals hold"), "{text}");
    assert!(
        text.contains("The next best is 0.139 ms longer") && !text.contains("holds one satellite"),
        "{text}"
    );
    // A policy chooses one, and beside all in view it would choose nothing.
    let policies = ["highest-on-loss", "longest-visibility", "ascending"];
    let told: Vec<String> = policies.iter().map(|policy| stdout(&delay(&["--handover", policy]))).collect();
    assert!(told.iter().all(|text| text.contains(" 1 ") || text.contains(" 0 ")), "{told:?}");
    assert!(told[0] != told[1] && told[1] != told[2], "{told:?}");
    let refused = delay(&["--handover", "nearest", "--antennas", "all"]);
    assert_eq!(code(&refused), 2);
    assert!(
        stderr(&refused).starts_with(
            "error: --handover: \"nearest\" chooses among satellites, and terminals with --antennas all"
        ),
        "{}",
        stderr(&refused)
    );
    assert_eq!(code(&delay(&["--handover", "ascending", "--antennas", "all"])), 0);
}

#[test]
fn shells_that_nothing_joins_are_told() {
    let args = ["delay", "london", "new york", "--constellation", "starlink", "--duration", "10 min"];
    let out = skyhop(&[&args[..], &["--handover", "synchronous"]].concat());
    assert_eq!(code(&out), 0);
    let told = "found no path although both ends hold satellites: ISLs stay within a shell, and nothing joins the 5 shells";
    assert!(stderr(&out).contains(told), "{}", stderr(&out));
    let out = skyhop(&[&args[..], &["--isls", "off"]].concat());
    assert!(
        stderr(&out).contains("there are no ISLs, no gateways, and no satellite that both hold"),
        "{}",
        stderr(&out)
    );
    let out = skyhop(&args);
    assert!(!stderr(&out).contains("no path"), "{}", stderr(&out));
}

#[test]
fn a_scenario_says_what_is_asked_of() {
    let dir = folder("scenario");
    let file = dir.join("own.toml");
    fs::write(
        &file,
        "duration = \"20 min\"\n[constellation]\nelevation_mask = \"15 deg\"\n\
         shell = { planes = 20, satellites_per_plane = 20, altitude = \"1000 km\", inclination = \"60 deg\" }\n\
         [terminals]\nship = { lat = \"30 deg\", lon = \"-40 deg\", antennas = 2 }\n\
         port = { lat = \"51 deg\", lon = \"0 deg\" }\n\
         [routing]\nmetric = \"hops\"\n[[failures]]\nsatellite = \"9.7\"\n\
         [[flows]]\nfrom = \"ship\"\nto = \"port\"\ntraffic = { kind = \"ping\" }\n",
    )
    .unwrap();
    let asked = |args: &[&str]| {
        let out = skyhop(&[args, &["--scenario", path(&file)]].concat());
        assert_eq!(code(&out), 0, "{args:?}: {}", stderr(&out));
        stdout(&out)
    };
    let delays = asked(&["delay", "ship", "port"]);
    assert!(
        delays.starts_with("own: 400 satellites, mask 15.0 deg; a packet every 60 s for 1200 s"),
        "{delays}"
    );
    // Its metric counts links, and an option counts more than the scenario.
    let rows =
        |extra: &[&str]| asked(&[&["delay", "ship", "tokyo", "--csv", "--duration", "60"], extra].concat());
    assert_eq!(rows(&[]), rows(&["--metric", "hops"]));
    assert_ne!(rows(&[]), rows(&["--metric", "delay"]));
    assert!(asked(&["delay", "ship", "tokyo", "--mask", "20"]).contains("mask 20.0 deg"));
    // 9.7 is on the way and fails; without that it would be the one.
    let route = |extra: &[&str]| {
        asked(&[&["route", "ship", "tokyo", "--draw", "off", "--metric", "delay"], extra].concat())
    };
    assert!(!route(&[]).contains("goes up to 9.7"), "{}", route(&[]));
    let whole = route(&["--set", "failures.0.satellite=0.0"]);
    assert!(whole.contains("goes up to 9.7"), "{whole}");
    assert!(
        asked(&["passes", "--at", "ship", "--duration", "20 min"])
            .starts_with("own from ship (30.00, -40.00), mask 15")
    );
    assert!(asked(&["map"]).starts_with("own at 0 s\n"));
    assert!(
        asked(&["tables", "--satellite", "0.0", "--states", "1", "--no-aggregate"]).contains("0.0 of own")
    );
    assert!(asked(&["look", "--at", "port", "--duration", "0"]).contains("own from port"));
    for text in [asked(&["constellation", "show"]), stdout(&skyhop(&["constellation", "show", path(&file)]))]
    {
        for part in [
            "mask 15 deg",
            "terminal ship at 30 deg, -40 deg holds 2 satellites",
            "port at 51 deg, 0 deg holds all",
            "9.7 fails from 0 s",
        ] {
            assert!(text.contains(part), "no \"{part}\" in {text}");
        }
    }
    let typo = skyhop(&["delay", "shp", "port", "--scenario", path(&file)]);
    assert!(
        code(&typo) == 2 && stderr(&typo).contains("terminals of the scenario: port, ship"),
        "{}",
        stderr(&typo)
    );
    let bare = skyhop(&["delay", "oslo", "rome", "--set", "seed=2", "--constellation", "iridium"]);
    assert!(code(&bare) == 2 && stderr(&bare).contains("--set"), "{}", stderr(&bare));
}

#[test]
fn instants_names_and_frames_are_what_they_are_called() {
    let dir = folder("names");
    let file = dir.join("iridium.tle");
    let out = skyhop(&["constellation", "export", "iridium", "--tle", "--out", path(&file)]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let delay = |start: &str| {
        let args =
            ["delay", "oslo", "rome", "--tle", path(&file), "--isls", "on", "--duration", "60", "--csv"];
        stdout(&skyhop(&[&args[..], &["--start", start]].concat()))
    };
    assert_eq!(delay("2000-01-01T00:02:00Z"), delay("2 min"));
    assert!(delay("120").lines().nth(1).is_some_and(|line| line.starts_with("120,")), "{}", delay("120"));
    let folder = dir.join("tles.txt");
    fs::write(&folder, format!("6 11\n{}", fs::read_to_string(&file).unwrap())).unwrap();
    let hint = skyhop(&["delay", "oslo", "rome", "--tle", path(&folder)]);
    assert!(code(&hint) == 2 && stderr(&hint).contains("skyhop delay --hypatia"), "{}", stderr(&hint));
    for place in ["10,-200", "10,361"] {
        let out = skyhop(&["delay", place, "rome", "--constellation", "iridium"]);
        assert!(code(&out) == 2 && stderr(&out).contains("expected -180 to 360 deg"), "{}", stderr(&out));
    }
    // To the microsecond: a satellite flies 7 mm meanwhile, and 7 m in a millisecond.
    let oem = |name: &str, extra: &[&str]| {
        stdout(&skyhop(&[&["constellation", "export", name, "--oem", "--duration", "60"], extra].concat()))
    };
    let text = oem("iridium", &[]);
    assert!(
        text.contains("REF_FRAME = TDR") && text.contains("2000-01-01T00:01:00.000000 "),
        "{}",
        &text[..600]
    );
    let next = dir.join("next.tle");
    let lines = "IRIDIUM 106\n1 41917U 17003A   25280.46368645  .00000466  00000+0  15920-3 0  9997\n\
                 2 41917  86.4038 194.1078 0002337  70.8062 289.3387 14.34217580456988\n";
    fs::write(&next, lines).unwrap();
    let text = oem(path(&next), &[]);
    assert!(text.contains("OBJECT_NAME = IRIDIUM 106\nOBJECT_ID = 2017-003A\n"), "{}", &text[..600]);
    assert!(text.contains("START_TIME = 2025-10-07T11:07:42.509280\n"), "{}", &text[..600]);
}

#[test]
fn links_of_a_file_are_those_of_its_system_or_none() {
    let dir = folder("systems");
    let exported = stdout(&skyhop(&["constellation", "export", "kuiper-630", "--tle"]));
    let named = |called: &str| {
        let lines = exported.lines().enumerate();
        let text: Vec<String> = lines
            .map(|(n, line)| if n % 3 == 0 { format!("{called}{}", n / 3) } else { line.to_owned() })
            .collect();
        let file = dir.join(format!("{called}.tle"));
        fs::write(&file, text.join("\n") + "\n").unwrap();
        let out = skyhop(&["delay", "rome", "perth", "--tle", path(&file), "--duration", "60"]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        stdout(&out)
    };
    let starlink = named("STARLINK-");
    assert!(
        starlink.contains("mask 25.0 deg")
            && starlink.contains(
                "2,312 ISLs up at t = 0, guessed from the planes, as starlink-gen1 has them: median "
            ),
        "{starlink}"
    );
    let oneweb = named("ONEWEB-");
    assert!(
        oneweb.contains("mask 50.0 deg") && oneweb.contains("no ISLs, since oneweb has none; --isls on"),
        "{oneweb}"
    );
    let unknown = named("x");
    assert!(
        unknown.contains("mask 10.0 deg") && unknown.contains("no ISLs, which elements do not describe"),
        "{unknown}"
    );
}

#[test]
fn mistakes_are_2_with_a_hint() {
    let dir = folder("mistakes");
    let nothing = dir.join("nothing.tle");
    for (args, message) in [
        (
            &["delay", "lodnon", "paris", "--constellation", "iridium"][..],
            "unknown place \"lodnon\"; did you mean \"london\"?",
        ),
        (
            &["delay", "london", "paris", "--constellation", "iridum"],
            "--constellation: unknown constellation \"iridum\"; did you mean \"iridium\"?",
        ),
        (&["delay", "91,0", "paris", "--constellation", "iridium"], "latitude of 91 deg"),
        (&["delay", "paris", "Paris", "--constellation", "iridium"], "paris to Paris: one place"),
        (
            &["delay", "london", "paris"],
            "no satellites; expected --constellation, --tle, --omm or --scenario",
        ),
        (&["delay", "london", "paris", "--tle", path(&nothing)], path(&nothing)),
        (
            &["delay", "london", "paris", "--constellation", "iridium", "--mask", "89.99", "--csv"],
            "no satellite of iridium is ever above 90.0 deg at london",
        ),
        (
            &["passes", "--constellation", "geo-3", "--at", "85,0"],
            "no satellite of geo-3 rises above 5.000 deg at 85,0",
        ),
        (&["constellation", "show", "astrolink"], "constellation \"astrolink\" has no preset: KG table 1"),
        (&["delay", "london", "paris", "--constellation", "iridium", "--step", "0"], "--step: "),
        (
            &["route", "london", "paris", "--constellation", "iridium", "--time", "2025-01-01"],
            "--time: a pattern has no date",
        ),
    ] {
        let out = skyhop(args);
        assert_eq!((code(&out), stdout(&out).as_str()), (2, ""), "{args:?}: {}", stderr(&out));
        assert!(
            stderr(&out).starts_with(&format!("error: {message}")),
            "{}\nexpected {message}",
            stderr(&out)
        );
    }
    assert_eq!(code(&skyhop(&["constellation", "export", "iridium"])), 2);
}

#[test]
fn old_elements_are_used_with_a_warning() {
    let dir = folder("old");
    let file = dir.join("old.tle");
    let lines = "1 41917U 17003A   15280.46368645  .00000466  00000+0  15920-3 0  9996\n\
                 2 41917  86.4038 194.1078 0002337  70.8062 289.3387 14.34217580456988\n";
    fs::write(&file, lines).unwrap();
    let out = skyhop(&["passes", "--tle", path(&file), "--at", "oslo", "--epoch", "2025-10-07"]);
    assert!(stderr(&out).contains("elements up to 10.0 years from t = 0"), "{}", stderr(&out));
    assert!(stderr(&out).contains("years old, of 2015-10-07"), "{}", stderr(&out));
}

fn folder(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("constellations").join(name);
    fs::create_dir_all(&dir).expect("a folder for files");
    dir
}
