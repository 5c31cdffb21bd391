//! The scenarios and the schema in the repository: they load, and they are up to date.
//!
//! Everything shown to users is run.
//! Differs: the schema is rewritten if SKYHOP_UPDATE is set.
//! Leaves out the scenarios of publications.

use skyhop_scenario::{Errors, LARGEST_SCENARIO, Place, load, parse, schema};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

#[test]
fn every_scenario_in_the_repository_is_right() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let loaded = load(&path, &[]).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(loaded.warnings, [], "{}", path.display());
            count += 1;
        }
    }
    assert!(count >= 3);
}

#[test]
fn geo_is_what_its_comments_say() {
    let path = root().join("scenarios/geo.toml");
    let loaded = load(&path, &[]).unwrap();
    assert_eq!(loaded.name, "geo");
    assert_eq!(loaded.sha256.len(), 64);
    let total: u64 = loaded.scenario.links.values().map(|l| l.delay.as_nanos()).sum();
    assert_eq!(2 * total, 600_000_000);
    let set = ("flows.download.transport.variant".to_owned(), "reno".to_owned());
    let changed = load(&path, std::slice::from_ref(&set)).unwrap();
    assert_eq!(changed.sha256, loaded.sha256);
    assert_eq!(changed.sets, [set]);
    assert_ne!(changed.scenario, loaded.scenario);
}

#[test]
fn a_splice_without_a_buffer_has_that_of_its_kind() {
    let buffers = |file: &str, given: &str| {
        let text = fs::read_to_string(root().join("scenarios").join(file)).unwrap();
        let line = format!("buffer = \"{given}\"\n");
        assert!(text.contains(&line), "{file}");
        let loaded = parse(text.replace(&line, "").as_bytes(), file, &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(loaded.warnings, [], "{file}");
        loaded.scenario.splices.values().map(|splice| splice.buffer.get()).collect::<Vec<_>>()
    };
    assert_eq!(buffers("split.toml", "500 kB"), [1_000_000]);
    assert_eq!(buffers("gateway.toml", "4 MB"), [64_000_000; 2]);
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.schema.json");
    if std::env::var_os("SKYHOP_UPDATE").is_some() {
        fs::write(&path, schema()).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == schema(),
        "scenario.schema.json is not that of the model; run again with SKYHOP_UPDATE=1"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_said_to_be_so() {
    let dir = folder("unreadable");
    let missing = load(&dir.join("nothing.toml"), &[]).unwrap_err();
    assert_eq!(missing.to_string(), format!("{}: no such file", dir.join("nothing.toml").display()));
    let directory = load(&dir, &[]).unwrap_err();
    assert_eq!(directory.to_string(), format!("{}: is a directory, not a file", dir.display()));
    let empty = dir.join("empty.toml");
    fs::write(&empty, " \n\n").unwrap();
    assert!(message(&load(&empty, &[]).unwrap_err()).contains("file is empty"));
    let text = dir.join("latin.toml");
    fs::write(&text, b"duration = \"1 s\"\n# caf\xe9\n").unwrap();
    let error = load(&text, &[]).unwrap_err();
    assert_eq!(error.to_string(), format!("{}:2: byte 0xe9 is not valid UTF-8", text.display()));
}

#[test]
fn a_hundred_megabytes_of_zeros_are_refused_unread() {
    let path = folder("zeros").join("zeros.toml");
    File::create(&path).unwrap().set_len(100_000_000).unwrap();
    let before = resident_kb();
    let error = load(&path, &[]).unwrap_err();
    assert_eq!(message(&error), "file of 100000000 bytes is larger than 4 MB");
    // The largest file that is read: refused for what is in it.
    File::create(&path).unwrap().set_len(LARGEST_SCENARIO).unwrap();
    let error = load(&path, &[]).unwrap_err();
    assert!(
        error.to_string().ends_with("zeros.toml:1: byte 0x00 is not text; is this a scenario file?"),
        "{error}"
    );
    // A device has no length to refuse; reading stops at the limit.
    if Path::new("/dev/zero").exists() {
        let error = load(Path::new("/dev/zero"), &[]).unwrap_err();
        assert_eq!(error.to_string(), "/dev/zero: input is larger than 4 MB");
    }
    assert!(resident_kb() < before + 40_000, "{} kB", resident_kb() - before);
}

#[test]
fn elements_lie_beside_the_scenario_and_a_missing_file_is_found_at_its_key() {
    let dir = folder("elements");
    let path = dir.join("two.toml");
    let text = "duration = \"1 h\"\n[constellation]\ntle = \"two.tle\"\n[terminals]\na = { lat = \"1 deg\", lon = \"2 deg\" }\n\
                b = { lat = \"3 deg\", lon = \"2 deg\" }\n[[flows]]\nfrom = \"a\"\nto = \"b\"\ntraffic = { kind = \"ping\" }\n";
    fs::write(&path, text).unwrap();
    let error = load(&path, &[]).unwrap_err();
    let expected =
        format!("{}:3: constellation.tle: {}: no such file", path.display(), dir.join("two.tle").display());
    assert_eq!(error.to_string(), expected);
    fs::write(dir.join("two.tle"), "elements").unwrap();
    assert_eq!(load(&path, &[]).unwrap().files["two.tle"][..], *b"elements");
    File::create(dir.join("two.tle")).unwrap().set_len(300_000_000).unwrap();
    assert!(
        load(&path, &[]).unwrap_err().to_string().contains("file of 300000000 bytes is larger than 256 MB")
    );
    fs::remove_file(dir.join("two.tle")).unwrap();
}

fn message(errors: &Errors) -> &str {
    assert!(matches!(errors.problems[0].place, Place::File { .. }));
    &errors.problems[0].message
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// Peak memory of this process, kB; zero where the system does not report it.
fn resident_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse().ok()).unwrap_or(0)
}
