//! Files of `skyhop stp` on disk: names, parts, what a killed process leaves, and who is told of the end.
//!
//! Follows docs/stp-hosts.md; real processes and packets, ended by real signals.
//! Leaves out crashes of the machine: strace shows what was synced.

mod common;
#[path = "common/hosts.rs"]
mod hosts;
#[path = "common/relay.rs"]
mod relay;

use common::{code, skyhop, stderr};
use hosts::{Folder, Server, hidden, key, parts, start, terminate, until};
use relay::Relay;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[test]
fn a_killed_server_leaves_no_part_behind_its_next_start() {
    let folder = Folder::new("killed-server");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    folder.file("data.bin", 20_000_000);
    let live = Server::new(&["--key", &key, "--dir", &dir]);
    let dead = Server::new(&["--key", &key, "--dir", &dir]);
    let send = |server: &Server, name: &str| {
        let data = folder.path("data.bin");
        start(&["stp", "send", &data, &server.address, "--key", &key, "--name", name, "--rate", "4 Mbit/s"])
    };
    let mut senders = [send(&live, "living"), send(&dead, "dying")];
    until("two parts", || parts(&dir).len() == 2);
    let foreign = [".notes.part", ".a.1-2.skystp.partial", ".x.skystp.part", "b.1-2.skystp.part"];
    for name in foreign {
        fs::write(Path::new(&dir).join(name), "not a transfer's").unwrap();
    }
    drop(dead); // by SIGKILL
    assert_eq!(
        parts(&dir).iter().filter(|part| part.starts_with(".dying.")).count(),
        1,
        "nobody has swept yet"
    );
    let next = Server::new(&["--key", &key, "--dir", &dir]);
    until("the leftover swept", || !parts(&dir).iter().any(|part| part.starts_with(".dying.")));
    assert!(parts(&dir).iter().any(|part| part.starts_with(".living.")), "another server's transfer goes on");
    assert!(foreign.iter().all(|name| Path::new(&dir).join(name).exists()), "other files stay");
    drop(next);
    for sender in &mut senders {
        let _ = sender.kill();
        sender.wait().unwrap();
    }
}

#[test]
fn a_killed_receiver_leaves_no_part_behind_its_next_start() {
    let folder = Folder::new("killed-receiver");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("in/data.bin", 10_000_000);
    let server = Server::new(&["--key", &key, "--dir", &dir, "--rate", "100 Mbit/s"]);
    fs::create_dir(folder.path("out")).unwrap();
    let (out, to) = (folder.path("out"), folder.path("out/data.bin"));
    let relay = Relay::to(&server.address, Duration::ZERO);
    let address = relay.address();
    let args = ["stp", "receive", "data.bin", &address, "--key", &key, "--out", &to];
    relay.cut_after(2_000_000);
    let mut killed = start(&args);
    until("a part", || relay.is_cut() && parts(&out).len() == 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    relay.mend();
    assert_eq!(parts(&out).len(), 1);
    let again = skyhop(&args);
    assert_eq!(code(&again), 0, "{}", stderr(&again));
    assert!(fs::read(&to).unwrap() == data);
    assert_eq!(hidden(&out), Vec::<String>::new());
}

#[test]
fn the_folder_is_synced_after_the_name() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: no strace");
        return;
    }
    let folder = Folder::new("synced");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    folder.file("data.bin", 100_000);
    for (overwrite, call) in [(false, "linkat("), (true, "rename(")] {
        let trace = folder.path("trace");
        let mut args = vec!["-f", "-y", "-e", "trace=fsync,linkat,rename,renameat,renameat2", "-o", &trace];
        args.extend([env!("CARGO_BIN_EXE_skyhop"), "stp", "serve", "--listen", "127.0.0.1:0", "--key", &key]);
        args.extend(["--dir", &dir, "--once"]);
        if overwrite {
            args.push("--overwrite");
        }
        let server = Server::started(Command::new("strace").args(args));
        let sent = skyhop(&["stp", "send", &folder.path("data.bin"), &server.address, "--key", &key]);
        assert_eq!(code(&sent), 0, "{}", stderr(&sent));
        let (exit, _, told) = server.end();
        assert_eq!(exit, 0, "{told}");
        let trace = fs::read_to_string(&trace).unwrap();
        let lines: Vec<&str> = trace.lines().collect();
        let at = |what: &str, end: &str| {
            let found = lines.iter().position(|line| line.contains(what) && line.contains(end));
            found.unwrap_or_else(|| panic!("no {what} {end} in\n{trace}"))
        };
        let (file, named) = (at("fsync(", ".part>"), at(call, "data.bin\""));
        let dir_synced = at("fsync(", &format!("{dir}>"));
        assert!(file < named && named < dir_synced, "{trace}");
    }
}

#[test]
fn a_folder_without_links_takes_files_too() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: no strace");
        return;
    }
    let folder = Folder::new("linkless");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("data.bin", 100_000);
    // As FAT answers.
    let mut args = vec!["-f", "-e", "trace=linkat", "-e", "inject=linkat:error=EPERM", "-o", "/dev/null"];
    args.extend([env!("CARGO_BIN_EXE_skyhop"), "stp", "serve", "--listen", "127.0.0.1:0", "--key", &key]);
    args.extend(["--dir", &dir, "--once"]);
    let server = Server::started(Command::new("strace").args(args));
    let sent = skyhop(&["stp", "send", &folder.path("data.bin"), &server.address, "--key", &key]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert_eq!(server.end().0, 0);
    assert!(fs::read(folder.path("in/data.bin")).unwrap() == data);
    assert_eq!(hidden(&dir), Vec::<String>::new());
}

/// A command whose folder is a file system of its own with room for 2 MB; `None` where that is not allowed.
fn on_small_disk(dir: &str, args: &[&str]) -> Option<Command> {
    let mount = "mount -t tmpfs -o size=2m tmpfs \"$0\" && exec \"$@\"";
    let under = ["-m", "--propagation", "private", "sh", "-c"];
    let allowed = Command::new("unshare").args(under).args([mount, dir, "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no file systems of our own");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(under).args([mount, dir, env!("CARGO_BIN_EXE_skyhop"), "stp"]).args(args);
    Some(command)
}

#[test]
fn a_disk_that_becomes_full_ends_one_transfer_and_leaves_room_for_others() {
    let folder = Folder::new("small");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    folder.file("big.bin", 4_000_000);
    folder.file("fits.bin", 1_500_000);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--key", &key, "--dir", &dir];
    let Some(mut serve) = on_small_disk(&dir, &serve) else { return };
    let server = Server::started(&mut serve);
    let [big, fits] = ["big.bin", "fits.bin"].map(|name| folder.path(name));
    let full = "cannot write: No space left on device (os error 28)";
    for more in [&[][..], &["--resume"]] {
        let args = ["stp", "send", &big, &server.address, "--key", &key];
        let out = skyhop(&[&args[..], more].concat());
        assert_eq!((code(&out), stderr(&out)), (1, format!("error: the receiver says: {full}\n")));
    }
    // Nothing of it is left, so there is room; and of several the others arrive.
    let out = skyhop(&["stp", "send", &big, &fits, &server.address, "--key", &key, "--at-once", "1"]);
    assert_eq!(code(&out), 1);
    let told = format!("error: big.bin: the receiver says: {full}\nerror: 1 of 2 files have not arrived\n");
    assert_eq!(stderr(&out), told);
    drop(server);

    // The same for who receives.
    fs::copy(&big, folder.path("in/big.bin")).unwrap();
    fs::copy(&fits, folder.path("in/fits.bin")).unwrap();
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    fs::create_dir(folder.path("out")).unwrap();
    let to = folder.path("out");
    let receive = |name: &str| {
        let out = format!("{to}/{name}");
        let args = ["receive", name, &server.address, "--key", &key, "--out", &out];
        on_small_disk(&to, &args).unwrap().output().unwrap()
    };
    let out = receive("big.bin");
    assert_eq!((code(&out), stderr(&out)), (1, format!("error: {to}/big.bin: {full}\n")));
    let out = receive("fits.bin");
    assert_eq!(code(&out), 0, "{}", stderr(&out));
}

#[test]
fn version_6_of_ip_carries_all_of_it() {
    let folder = Folder::new("six");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("data.bin", 3_000_000);
    for security in [&["--key", &key][..], &["--insecure"]] {
        let _ = fs::remove_file(folder.path("in/data.bin"));
        let server = Server::at("[::1]:0", &[security, &["--dir", &dir]].concat());
        let file = folder.path("data.bin");
        let sent = skyhop(&[&["stp", "send", &file, &server.address], security].concat());
        assert_eq!(code(&sent), 0, "{}", stderr(&sent));
        assert!(fs::read(folder.path("in/data.bin")).unwrap() == data);
        let out = folder.path("back.bin");
        let args = ["stp", "receive", "data.bin", &server.address, "--out", &out];
        let got = skyhop(&[&args[..], security].concat());
        assert_eq!(code(&got), 0, "{}", stderr(&got));
        assert!(fs::read(&out).unwrap() == data);
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn names_that_cannot_be_shown_are_refused_and_long_ones_are_cut_in_the_log() {
    let folder = Folder::new("names");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    folder.file("data.bin", 1000);
    let mut server = Server::new(&["--key", &key, "--dir", &dir]);
    let long = "x".repeat(1000);
    let cases = [
        ("a\nb", "the name has a character that cannot be shown, U+000A", "a\\nb: "),
        ("exe\u{202e}fdp.", "the name has a character that cannot be shown, U+202E", "exe\\u{202e}fdp.: "),
        ("", "that is no plain file name", ": that"),
        (".", "that is no plain file name", "."),
        ("..", "that is no plain file name", ".."),
        ("a/b", "that is no plain file name", "a/b: "),
        (&long, "a name of 1000 bytes; up to 200 are possible", "xxx... (1000 bytes): "),
    ];
    for (name, why, logged) in cases {
        let sent = skyhop(&[
            "stp",
            "send",
            &folder.path("data.bin"),
            &server.address,
            "--key",
            &key,
            "--name",
            name,
        ]);
        assert_eq!(code(&sent), 1);
        assert!(stderr(&sent).starts_with(&format!("error: the receiver says: {why}")), "{}", stderr(&sent));
        let line = server.line();
        assert!(line.contains(logged) && line.contains(why) && line.len() < 250, "{line:?}");
        let got =
            skyhop(&["stp", "receive", name, &server.address, "--key", &key, "--out", &folder.path("none")]);
        assert_eq!(code(&got), 1);
        assert!(stderr(&got).contains(why), "{}", stderr(&got));
        server.line();
    }
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn a_server_that_is_ended_waits_for_the_last_acknowledgment() {
    let folder = Folder::new("told");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("data.bin", 300_000);
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    let relay = Relay::to(&server.address, Duration::from_millis(400));
    let mut sender = start(&["stp", "send", &folder.path("data.bin"), &relay.address(), "--key", &key]);
    // The file is there 400 ms before the sender knows, and 800 ms before the server knows that it does.
    until("the file", || Path::new(&dir).join("data.bin").exists());
    terminate(&server.child);
    assert_eq!(sender.wait().unwrap().code(), Some(0));
    let (exit, _, told) = server.end();
    assert!(
        told.contains("received data.bin: 300000 bytes") && !told.contains("reply could not be sent"),
        "{told}"
    );
    assert_eq!(exit, 130);
    assert!(fs::read(folder.path("in/data.bin")).unwrap() == data);
}

#[test]
fn a_sender_that_is_gone_is_not_said_to_be_unaware() {
    let folder = Folder::new("unsure");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    folder.file("data.bin", 300_000);
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    let relay = Relay::to(&server.address, Duration::from_millis(50));
    // The reply is written when the file has its name: the server cannot know if it arrives, and it does not.
    let file = Path::new(&dir).join("data.bin");
    relay.cut_when(move || file.exists());
    let mut sender = start(&["stp", "send", &folder.path("data.bin"), &relay.address(), "--key", &key]);
    until("the reply", || relay.is_cut());
    sender.kill().unwrap();
    sender.wait().unwrap();
    terminate(&server.child);
    let (_, _, told) = server.end();
    let why = "data.bin: the file is complete, but the sender has not confirmed the reply: interrupted";
    assert!(told.contains(why) && !told.contains("reply could not be sent"), "{told}");
}

/// The transport has acknowledged every byte, so the sender has nothing to repeat by which it would find out.
#[test]
#[expect(clippy::disallowed_methods, reason = "nothing tells that the transport has acknowledged everything")]
fn a_server_that_dies_between_the_data_and_its_word_does_not_hold_the_sender_for_ever() {
    let folder = Folder::new("no-word");
    let key = key(&folder, "link.key");
    // More than the pipe takes that nobody reads here, less than the server's memory.
    folder.file("one", 1_000_000);
    let file = folder.path("one");
    let mut server = Server::new(&["--key", &key, "--to", "-", "--once"]);
    let mut sender = start(&["stp", "send", &file, &server.address, "--key", &key, "--quiet"]);
    std::thread::sleep(Duration::from_secs(2));
    assert!(sender.try_wait().unwrap().is_none(), "it waits for the server's word");
    server.child.kill().unwrap();
    // Fifteen seconds to the next question, which the host answers by ICMP.
    until("the sender's end", || sender.try_wait().unwrap().is_some());
    let out = sender.wait_with_output().unwrap();
    assert_eq!(code(&out), 1, "{}", stderr(&out));
    assert!(stderr(&out).contains("not all data have arrived"), "{}", stderr(&out));
}
