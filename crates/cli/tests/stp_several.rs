//! Several files in one `skyhop stp send`: what arrives if one is missing, unreadable, refused or half there.
//!
//! Follows docs/stp-hosts.md; real processes.
//! Differs from `stp` and `stp_resume`: transfers side by side, in one association.
//! Leaves out losses and delay.

mod common;
#[path = "common/hosts.rs"]
mod hosts;

use common::{code, skyhop, stderr, stdout};
use hosts::{Folder, Server, hidden, key, start, terminate, until};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};

/// So many files of different sizes, and their paths.
fn files(folder: &Folder, many: usize) -> Vec<String> {
    fs::create_dir(folder.path("out")).unwrap();
    let name = |n: usize| format!("out/f{n:02}");
    (0..many).for_each(|n| drop(folder.file(&name(n), n * 1777)));
    (0..many).map(|n| folder.path(&name(n))).collect()
}

fn send(files: &[String], server: &Server, key: &str, more: &[&str]) -> Output {
    let mut args = vec!["stp", "send"];
    args.extend(files.iter().map(String::as_str));
    args.extend([&server.address, "--key", key]);
    args.extend(more);
    skyhop(&args)
}

fn same(folder: &Folder, files: &[String]) -> bool {
    let there = |file: &String| folder.0.join("in").join(Path::new(file).file_name().unwrap());
    files.iter().all(|file| fs::read(there(file)).unwrap() == fs::read(file).unwrap())
}

#[test]
fn many_files_arrive_in_one_association() {
    let folder = Folder::new("many");
    let (key, dir, log) = (key(&folder, "link.key"), folder.path("in"), folder.path("keys.log"));
    let files = files(&folder, 60);
    let server = Server::new(&["--key", &key, "--dir", &dir, "--key-log", &log]);
    let sent = send(&files, &server, &key, &["--json"]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(same(&folder, &files));
    let value: Value = serde_json::from_str(&stdout(&sent)).unwrap();
    assert_eq!(value["files_sent"], 60);
    assert_eq!(value["bytes"], 59 * 60 / 2 * 1777);
    for (n, row) in value["files"].as_array().unwrap().iter().enumerate() {
        assert_eq!(row["name"], format!("f{n:02}"), "in the order of the command");
        assert_eq!((&row["bytes"], &row["acknowledged"]), (&Value::from(n * 1777), &Value::from(true)));
    }
    let lines = fs::read_to_string(&log).unwrap().lines().count();
    assert_eq!(lines, 1, "one handshake for all");
    // Each is refused for itself, and both are named.
    let again = send(&files[..2], &server, &key, &[]);
    assert_eq!(code(&again), 1);
    let mut told: Vec<String> = stderr(&again).lines().map(str::to_owned).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "error: 2 of 2 files have not arrived",
            "error: f00: the receiver says: f00 exists and is not overwritten",
            "error: f01: the receiver says: f01 exists and is not overwritten",
        ]
    );
}

#[test]
fn a_mistake_among_the_files_is_found_before_any_is_sent() {
    let folder = Folder::new("mistaken");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let files = files(&folder, 3);
    let twin = folder.path("f01");
    fs::write(&twin, "another f01").unwrap();
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    let mut some = files.clone();
    some.insert(1, folder.path("nothing"));
    some.extend([folder.path("out"), twin.clone()]);
    let out = send(&some, &server, &key, &[]);
    assert_eq!(code(&out), 2);
    let told = stderr(&out);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert_eq!(lines[0], format!("error: {}: No such file or directory (os error 2)", some[1]));
    assert!(lines[1].starts_with(&format!("error: {}: a folder; ", folder.path("out"))), "{told}");
    let both = format!("error: {} and {twin}: both would be \"f01\" at the receiver", files[1]);
    assert!(lines[2].starts_with(&both), "{told}");
    for (more, why) in [
        (["--name", "x"], "error: --name: a name for one file, and there are several\n"),
        (["--at-once", "0"], "error: invalid value '0' for '--at-once <FILES>'"),
    ] {
        let out = send(&files, &server, &key, &more);
        assert_eq!(code(&out), 2);
        assert!(stderr(&out).starts_with(why), "{}", stderr(&out));
    }
    let out = send(&[files[0].clone(), "-".into()], &server, &key, &[]);
    assert_eq!(code(&out), 2);
    assert_eq!(stderr(&out), "error: -: standard input is sent alone, without other files\n");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "nothing was sent");
}

#[test]
fn a_file_that_cannot_be_read_or_named_there_does_not_keep_the_others() {
    let folder = Folder::new("unreadable");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let files = files(&folder, 8);
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    // It can be opened, and reading fails; the names of the others are allowed here, but not there.
    let unread = OsString::from("/proc/self/mem");
    let odd =
        [&b"a\nb"[..], b"\xff\xfe", "é".repeat(127).as_bytes(), "exe\u{202e}fdp".as_bytes(), b".hidden"]
            .map(|name| folder.0.join("out").join(OsStr::from_bytes(name)));
    odd.iter().for_each(|path| fs::write(path, "odd").unwrap());
    let mut all: Vec<OsString> = files.iter().map(OsString::from).collect();
    all.insert(2, unread);
    all.extend(odd.iter().map(|path| path.clone().into_os_string()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_skyhop"));
    command.args(["stp", "send"]).args(&all).args([&server.address, "--key", &key, "--json"]);
    let out = command.output().unwrap();
    assert_eq!(code(&out), 1);
    assert!(same(&folder, &files));
    // The server may hear after the command has ended that the unread file was broken off.
    until("no part is left", || fs::read_dir(&dir).unwrap().count() == files.len());
    let value: Value = serde_json::from_str(&stdout(&out)).unwrap();
    let why = |n: usize| value["files"][n]["error"].as_str().unwrap_or_default().to_owned();
    assert_eq!((&value["files_sent"], value["files"].as_array().unwrap().len()), (&Value::from(8), 14));
    assert_eq!(why(2), "/proc/self/mem: Input/output error (os error 5)");
    for (n, expected) in [
        (9, "the receiver says: the name has a character that cannot be shown, U+000A"),
        (10, "the receiver says: the name has a character that cannot be shown, U+FFFD"),
        (11, "the receiver says: a name of 254 bytes; up to 200 are possible"),
        (12, "the receiver says: the name has a character that cannot be shown, U+202E"),
        (13, "the receiver says: that is no plain file name: no folders, no leading dot"),
    ] {
        assert_eq!(why(n), expected);
    }
    let told = stderr(&out);
    assert!(told.contains("error: a\\nb: the receiver says") && told.lines().count() == 7, "{told}");
    assert!(told.ends_with("error: 6 of 14 files have not arrived\n"), "{told}");
}

#[test]
fn what_was_interrupted_among_several_is_resumed() {
    let folder = Folder::new("resumed");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let mut files = files(&folder, 12);
    let big = folder.file("out/big.bin", 20_000_000);
    files.insert(3, folder.path("out/big.bin"));
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    let mut args = vec!["stp", "send"];
    args.extend(files.iter().map(String::as_str));
    args.extend([&server.address, "--key", &key, "--rate", "20 Mbit/s", "--resume"]);
    let sender = start(&args);
    let size = || {
        let parts = hidden(&dir).into_iter().filter(|name| name.starts_with(".big.bin."));
        parts.filter_map(|name| fs::metadata(format!("{dir}/{name}")).ok()).map(|part| part.len()).max()
    };
    until("the others, and a part", || {
        (0..12).all(|n| Path::new(&dir).join(format!("f{n:02}")).exists()) && size() > Some(200_000)
    });
    terminate(&sender);
    let out = sender.wait_with_output().unwrap();
    assert_eq!(code(&out), 130);
    assert!(
        stderr(&out).ends_with("error: interrupted; 1 of 13 files have not arrived\n"),
        "{}",
        stderr(&out)
    );
    // The others are there already, which counts as success: a loop ends when all are.
    let out = send(&files, &server, &key, &["--resume", "--json"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(same(&folder, &files));
    let value: Value = serde_json::from_str(&stdout(&out)).unwrap();
    for (n, row) in value["files"].as_array().unwrap().iter().enumerate() {
        let held = row["bytes_held_before"].as_u64().unwrap();
        match n {
            3 => assert!((200_000..big.len() as u64).contains(&held), "{held}"),
            _ => assert_eq!(Some(held), row["bytes"].as_u64(), "{row}"),
        }
    }
    assert_eq!(hidden(&dir), Vec::<String>::new());
}

#[test]
fn a_server_that_is_gone_ends_the_whole_command() {
    let folder = Folder::new("gone");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    fs::create_dir(folder.path("out")).unwrap();
    let name = |n| format!("out/g{n}");
    (0..40).for_each(|n| drop(folder.file(&name(n), 1_000_000)));
    let files: Vec<String> = (0..40).map(|n| folder.path(&name(n))).collect();
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    let mut args = vec!["stp", "send"];
    args.extend(files.iter().map(String::as_str));
    args.extend([&server.address, "--key", &key, "--rate", "20 Mbit/s", "--at-once", "2"]);
    let sender = start(&args);
    until("a file", || Path::new(&dir).join("g0").exists());
    let address = server.address.clone();
    drop(server); // by SIGKILL
    let out = sender.wait_with_output().unwrap();
    let told = stderr(&out);
    assert_eq!(code(&out), 1, "{told}");
    assert!((2..=3).contains(&told.lines().count()), "two were on their way, others are not tried: {told}");
    assert!(told.lines().last().unwrap().ends_with(" of 40 files have not arrived"), "{told}");
    let server = Server::at(&address, &["--key", &key, "--dir", &dir]);
    let out = send(&files, &server, &key, &["--resume"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(same(&folder, &files));
}
