//! `skyhop wireshark`: the location of the dissector, and the messages if it cannot be installed.
//!
//! Follows `tshark -G folders` of the installed tshark, with a separate home directory.
//! Differs from a unit test: the process is the user's.
//! Leaves out the dissector's output for packets, which is in `dissector.rs`.

mod common;

use common::empty_folder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[test]
fn what_is_installed_is_found_by_tshark() {
    let home = folder("home");
    let out = skyhop(&home, &["wireshark", "path"]);
    if !tshark(&home) {
        assert_eq!(out.status.code(), Some(1));
        println!("skipped: tshark is not installed");
        return;
    }
    assert_eq!((out.status.code(), out.stdout.len()), (Some(1), 0));
    let told = text(&out.stderr);
    assert!(told.ends_with("skystp.lua: not installed; skyhop wireshark install puts it there\n"), "{told}");

    let installed = skyhop(&home, &["wireshark", "install"]);
    assert_eq!(installed.status.code(), Some(0), "{}", text(&installed.stderr));
    let path = PathBuf::from(text(&installed.stdout).trim_end());
    assert!(path.starts_with(&home) && path.is_file(), "{}", path.display());
    assert_eq!(text(&skyhop(&home, &["wireshark", "path"]).stdout), text(&installed.stdout));
    let list = Command::new("tshark").env("HOME", &home).args(["-G", "protocols"]).output().unwrap();
    assert_eq!(text(&list.stdout).lines().filter(|l| l.ends_with("\tskystp")).count(), 1);

    // An older one is replaced, and until then said to be one.
    fs::write(&path, "-- old\n").unwrap();
    let old = skyhop(&home, &["wireshark", "path"]);
    assert_eq!(old.status.code(), Some(0));
    assert!(text(&old.stderr).contains("of another version"), "{}", text(&old.stderr));
    assert_eq!(skyhop(&home, &["wireshark", "install"]).status.code(), Some(0));
    assert!(fs::read_to_string(&path).unwrap().contains("skystp"));
    let names: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["skystp.lua"], "nothing is left beside it");
}

#[test]
fn without_tshark_a_folder_can_be_named() {
    let home = folder("no-tshark");
    let plugins = home.join("a/b");
    let named = ["wireshark", "install", "--folder", plugins.to_str().unwrap()];
    let run = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_skyhop")).env("PATH", &home).args(args).output().unwrap()
    };
    let out = run(&["wireshark", "install"]);
    let told = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(told, "error: tshark is not installed; name the folder of Lua plugins with --folder DIR\n");
    let out = run(&named);
    assert_eq!((out.status.code(), text(&out.stderr)), (Some(0), String::new()));
    assert!(plugins.join("skystp.lua").is_file());
}

#[test]
fn a_folder_that_cannot_be_one_is_an_error_and_wrong_words_are_2() {
    let home = folder("in-the-way");
    let file = home.join("file");
    fs::write(&file, "").unwrap();
    for place in [file.clone(), file.join("below")] {
        let out = skyhop(&home, &["wireshark", "install", "--folder", place.to_str().unwrap()]);
        assert_eq!(out.status.code(), Some(1));
        assert!(text(&out.stderr).contains(place.to_str().unwrap()), "{}", text(&out.stderr));
    }
    for args in [&["wireshark"][..], &["wireshark", "remove"], &["wireshark", "path", "there"]] {
        assert_eq!(skyhop(&home, args).status.code(), Some(2), "{args:?}");
    }
}

fn tshark(home: &Path) -> bool {
    Command::new("tshark").env("HOME", home).arg("--version").output().is_ok()
}

fn skyhop(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skyhop"));
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME").args(args);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn folder(name: &str) -> PathBuf {
    empty_folder("wireshark", name)
}
