//! A results folder appears completely or not at all, whatever the disk does.
//!
//! The full disk is a real one: a tmpfs of 64 kB, where the test may mount one.
//! Differs from mocking: renames, permissions and mount points are the system's.
//! Leaves out power failures; that files are synced before they are renamed can only be read in the code.

use crate::common::{Scratch, run};
use skyhop_record::{Folder, FolderError, Meta, write_all, write_run};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

#[test]
fn a_new_folder_appears_with_all_its_files_and_nothing_else() {
    let scratch = Scratch::new("new");
    let dir = scratch.0.join("deep/er/results");
    let mut folder = Folder::create(&dir).unwrap();
    write_run(&mut folder, &run(), &Meta::default()).unwrap();
    assert!(!dir.exists(), "nothing is there before the commit");
    folder.commit().unwrap();
    assert_eq!(scratch.names("deep/er"), ["results"]);
    assert_eq!(scratch.names("deep/er/results"), ["flows.parquet", "series.parquet", "summary.json"]);
}

#[test]
fn an_existing_folder_keeps_what_is_not_ours() {
    let scratch = Scratch::new("existing");
    fs::write(scratch.0.join("notes.txt"), "mine").unwrap();
    fs::write(scratch.0.join("summary.json"), "old").unwrap();
    write_all(&scratch.0, &[("summary.json", b"new"), ("a.svg", b"<svg/>")]).unwrap();
    assert_eq!(scratch.names(""), ["a.svg", "notes.txt", "summary.json"]);
    assert_eq!(fs::read_to_string(scratch.0.join("notes.txt")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(scratch.0.join("summary.json")).unwrap(), "new");
}

#[test]
fn a_folder_that_is_given_up_leaves_no_trace() {
    let scratch = Scratch::new("dropped");
    let mut folder = Folder::create(scratch.0.join("a/b/c")).unwrap();
    folder.write("summary.json", b"{}").unwrap();
    drop(folder);
    assert!(scratch.names("").is_empty());
    let mut folder = Folder::create(&scratch.0).unwrap();
    folder.file("packets.pcapng").unwrap().write_all(&[0; 100_000]).unwrap();
    drop(folder);
    assert!(scratch.names("").is_empty());
}

#[test]
fn what_is_in_the_way_is_named_and_stays() {
    let scratch = Scratch::new("way");
    let file = scratch.0.join("file");
    fs::write(&file, "mine").unwrap();
    let error = Folder::create(&file).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot write {}: it exists and is not a folder", file.display()));
    let error = Folder::create(file.join("below")).unwrap_err();
    assert!(error.to_string().ends_with("below: not a directory"), "{error}");

    fs::create_dir(scratch.0.join("summary.json")).unwrap();
    let error = write_all(&scratch.0, &[("flows.parquet", b"new"), ("summary.json", b"new")]).unwrap_err();
    assert!(matches!(&error, FolderError::InTheWay { wanted: "file", .. }), "{error}");
    assert_eq!(scratch.names(""), ["file", "summary.json"]);
}

#[test]
fn a_file_that_was_not_finished_stops_the_commit() {
    let scratch = Scratch::new("unfinished");
    let mut folder = Folder::create(scratch.0.join("out")).unwrap();
    let file = folder.file("packets.pcapng").unwrap();
    let error = folder.commit().unwrap_err();
    assert!(matches!(error, FolderError::Unfinished { .. }), "{error}");
    drop(file);
    assert!(scratch.names("").is_empty());
}

#[test]
fn two_writers_into_one_folder_do_not_meet() {
    let scratch = Scratch::new("two");
    let mut first = Folder::create(&scratch.0).unwrap();
    let mut second = Folder::create(&scratch.0).unwrap();
    first.write("summary.json", b"1").unwrap();
    second.write("summary.json", b"2").unwrap();
    first.commit().unwrap();
    second.commit().unwrap();
    assert_eq!(scratch.names(""), ["summary.json"]);
    assert_eq!(fs::read(scratch.0.join("summary.json")).unwrap(), b"2");
}

#[test]
fn a_full_disk_is_told_and_leaves_the_old_results() {
    let scratch = Scratch::new("full");
    let Some(_disk) = Tmpfs::mount(&scratch.0) else {
        println!("skipped: cannot mount a tmpfs");
        return;
    };
    let old = scratch.0.join("old");
    write_all(&old, &[("summary.json", b"old")]).unwrap();
    for dir in [&old, &scratch.0.join("new")] {
        let error =
            write_all(dir, &[("summary.json", b"new"), ("packets.pcapng", &[0; 200_000])]).unwrap_err();
        let path = dir.join("packets.pcapng");
        assert_eq!(error.to_string(), format!("cannot write {}: no space left on device", path.display()));
    }
    let mut folder = Folder::create(&old).unwrap();
    let mut file = folder.file("packets.pcapng").unwrap();
    let error = (0..10).find_map(|_| file.write_all(&[0; 20_000]).err()).expect("no room");
    assert!(error.to_string().contains("packets.pcapng: no space left"), "{error}");
    drop((file, folder));
    assert_eq!(scratch.names(""), ["old"]);
    assert_eq!(scratch.names("old"), ["summary.json"]);
    assert_eq!(fs::read(old.join("summary.json")).unwrap(), b"old");
}

#[test]
fn a_disk_without_room_for_the_tables_is_told_by_name() {
    let scratch = Scratch::new("tables");
    let Some(_disk) = Tmpfs::mount(&scratch.0) else {
        println!("skipped: cannot mount a tmpfs");
        return;
    };
    let mut result = run();
    let noise = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64;
    let samples = (0..20_000).map(|i| (skyhop_units::Time::from_nanos(i), noise(i))).collect();
    result.series[0].samples = samples;
    let mut folder = Folder::create(scratch.0.join("out")).unwrap();
    let error = write_run(&mut folder, &result, &Meta::default()).unwrap_err().to_string();
    assert!(error.contains("series.parquet: no space left on device"), "{error}");
    drop(folder);
    assert!(scratch.names("").is_empty());
}

#[test]
fn a_folder_without_permission_is_told() {
    // Root may write anywhere but where nobody may.
    for dir in ["/proc/skyhop", "/sys/skyhop"] {
        if Path::new(dir).parent().is_some_and(Path::is_dir) {
            let error = write_all(dir, &[("summary.json", b"")]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot create {dir}: ")), "{error}");
        }
    }
}

/// A disk of 64 kB, unmounted when dropped.
struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        let out =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(at).output().ok()?;
        out.status.success().then_some(Tmpfs(at))
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}
