//! Transfers of `skyhop stp` that break off and go on.
//!
//! Follows docs/stp-hosts.md; processes are killed by SIGKILL when a seeded number of bytes has passed a relay between them.
//! Differs from a count of the transport's repeats: everything that passes is counted, in all tries together.
//! Leaves out losses on the path.

mod common;
#[path = "common/hosts.rs"]
mod hosts;
#[path = "common/relay.rs"]
mod relay;

use common::{code, skyhop, stderr, stdout};
use hosts::{Folder, Server, hidden, key, start, terminate, until};
use relay::Relay;
use std::fs;
use std::process::Child;
use std::time::Duration;

const SIZE: usize = 40_000_000;
const KILLS: u64 = 20;
/// Bytes in flight when a client is killed, beyond 1 %: the relay's round trip, and a burst of the sender's pace.
const IN_FLIGHT: u64 = 25_000;
/// The least number of bytes between two moments: an opening that is still on its way when the server dies is taken by the
/// next server, and such a client has nothing to resume.
const APART: u64 = 100_000;

/// Pseudo-random numbers: splitmix64.
struct Dice(u64);

impl Dice {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn end(child: Child) -> std::process::Output {
    child.wait_with_output().unwrap()
}

/// Kills a transfer again and again, either side of it, and counts what passed; `passed` is that of one way.
fn killed_and_resumed(
    folder: &Folder,
    server_args: &[&str],
    first: impl Fn(&str) -> Vec<String>,
    passed: impl Fn(&Relay) -> u64,
    seed: u64,
) -> String {
    let mut server = Server::new(server_args);
    let relay = Relay::to(&server.address, Duration::ZERO);
    let run = |args: Vec<String>| start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    // In one go, for comparison.
    let whole = end(run(first(&relay.address())));
    assert_eq!(code(&whole), 0, "{}", stderr(&whole));
    let in_one_go = passed(&relay);
    for name in ["in/sent.bin", "out/data.bin"] {
        let _ = fs::remove_file(folder.path(name));
    }
    relay.stop_counting();

    let mut dice = Dice(seed);
    let slot = in_one_go * 90 / 100 / KILLS;
    let moments: Vec<u64> =
        (0..KILLS).map(|kill| kill * slot + APART + dice.draw() % (slot - APART)).collect();
    let mut sides = [0, 0];
    for moment in moments {
        let mut args = first(&relay.address());
        args.push("--resume".into());
        relay.forget();
        // Repeated bytes count as passed: the later kills come a little earlier in the file than their number says.
        relay.cut_after(in_one_go + moment);
        let mut client = run(args);
        let mut over = false;
        until("the moment", || {
            over = client.try_wait().unwrap().is_some();
            over || relay.is_cut()
        });
        if over {
            let (ended, passed) = (end(client), passed(&relay) - in_one_go);
            panic!("it ended before {moment}, at {passed}: {:?}, {}", ended.status, stderr(&ended));
        }
        let side = (dice.draw() % 2) as usize;
        sides[side] += 1;
        relay.stop_counting();
        if side == 0 {
            client.kill().unwrap();
            client.wait().unwrap();
            relay.mend();
        } else {
            let address = server.address.clone();
            drop(server); // by SIGKILL
            relay.mend();
            server = Server::at(&address, server_args);
            // A sender finds out by itself; a receiver, which owes nothing, by two minutes of silence, or sooner where the
            // next server answers its packets before it is ended.
            let receives = first("")[1] == "receive";
            if receives {
                terminate(&client);
            }
            let client = end(client);
            let told = stderr(&client);
            assert!(code(&client) == 1 || receives && code(&client) == 130, "{:?}: {told}", client.status);
            // A moment that repeated bytes have brought forward may lie before the first new data.
            let early = receives && told.contains("the part held cannot be read: interrupted");
            assert!(
                early || (told.contains("not all data have arrived") && told.contains("--resume continues")),
                "{told}"
            );
        }
    }
    let mut args = first(&relay.address());
    args.extend(["--resume".into(), "--json".into()]);
    relay.forget();
    let last = end(run(args));
    assert_eq!(code(&last), 0, "{}", stderr(&last));
    let in_all = passed(&relay) - in_one_go;
    let twice = in_all.saturating_sub(in_one_go);
    assert!(in_all + KILLS * IN_FLIGHT >= SIZE as u64, "{in_all} bytes are not all");
    println!(
        "kills of client and server {sides:?}: {in_one_go} bytes in one go, {twice} more with {KILLS} kills"
    );
    assert!(twice <= SIZE as u64 / 100 + KILLS * IN_FLIGHT, "{twice} bytes twice of {in_one_go}");
    stdout(&last)
}

#[test]
fn an_upload_killed_at_twenty_moments_goes_on() {
    let folder = Folder::new("upload");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("data.bin", SIZE);
    let first = |to: &str| {
        let file = folder.path("data.bin");
        ["stp", "send", &file, to, "--key", &key, "--name", "sent.bin", "--rate", "100 Mbit/s", "--quiet"]
            .map(str::to_owned)
            .to_vec()
    };
    let told =
        killed_and_resumed(&folder, &["--key", &key, "--dir", &dir], first, |relay| relay.passed().0, 9001);
    assert!(fs::read(folder.path("in/sent.bin")).unwrap() == data);
    assert_eq!(hidden(&dir), Vec::<String>::new());
    assert!(told.contains(&format!("\"bytes\": {SIZE}")), "{told}");
    assert!(!told.contains("\"bytes_held_before\": 0"), "{told}");
}

#[test]
fn a_download_killed_at_twenty_moments_goes_on() {
    let folder = Folder::new("download");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("in/data.bin", SIZE);
    fs::create_dir(folder.path("out")).unwrap();
    let first = |from: &str| {
        let out = folder.path("out/data.bin");
        ["stp", "receive", "data.bin", from, "--key", &key, "--out", &out, "--window", "2 MB", "--quiet"]
            .map(str::to_owned)
            .to_vec()
    };
    let args = ["--key", &key, "--dir", &dir, "--rate", "100 Mbit/s"];
    let told = killed_and_resumed(&folder, &args, first, |relay| relay.passed().1, 9002);
    assert!(fs::read(folder.path("out/data.bin")).unwrap() == data);
    assert_eq!(hidden(&folder.path("out")), Vec::<String>::new());
    assert!(!told.contains("\"bytes_held_before\": 0"), "{told}");
}

/// The only held part of a folder, once it is there.
fn held(dir: &str) -> Vec<u8> {
    until("a held part", || hidden(dir).iter().any(|name| name.ends_with(".held")));
    let names = hidden(dir);
    assert_eq!(names.len(), 1, "{names:?}");
    fs::read(format!("{dir}/{}", names[0])).unwrap()
}

enum Signal {
    Kill,
    Term,
}

/// Sends slowly until some of it is there, and is ended.
fn broken_upload(folder: &Folder, server: &Server, key: &str, how: Signal) {
    let data = folder.path("data.bin");
    let args = ["stp", "send", &data, &server.address, "--key", key, "--rate", "10 Mbit/s"];
    let mut sender = start(&args);
    let dir = folder.path("in");
    let size = |name: &String| fs::metadata(format!("{dir}/{name}")).map_or(0, |meta| meta.len());
    until("a part", || hidden(&dir).iter().any(|name| size(name) > 100_000));
    match how {
        Signal::Kill => sender.kill().unwrap(),
        Signal::Term => terminate(&sender),
    }
    sender.wait().unwrap();
}

#[test]
fn an_upload_of_another_file_is_not_resumed() {
    let folder = Folder::new("other");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("data.bin", 10_000_000);
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    broken_upload(&folder, &server, &key, Signal::Kill);
    let send = |file: &str, extra: &[&str]| {
        let path = folder.path(file);
        let mut args = vec!["stp", "send", &path, &server.address, "--key", &key, "--name", "data.bin"];
        args.extend(extra);
        skyhop(&args)
    };
    let mut other = data.clone();
    other[0] ^= 1;
    fs::write(folder.path("other.bin"), &other).unwrap();
    fs::write(folder.path("short.bin"), &data[..1000]).unwrap();
    for name in ["other.bin", "short.bin"] {
        let out = send(name, &["--resume"]);
        let told = stderr(&out);
        assert_eq!(code(&out), 2, "{told}");
        assert!(told.starts_with("error: --resume: the ") && told.lines().count() == 1, "{told}");
        let why = format!("bytes that {} holds are not the beginning of ", server.address);
        assert!(told.contains(&why) && told.ends_with("without --resume it is sent anew\n"), "{told}");
    }
    let part = held(&dir);
    assert!(!part.is_empty() && data.starts_with(&part), "what is held stays");
    // A file that has grown since has the same beginning.
    fs::write(folder.path("grown.bin"), [&data[..], b"more"].concat()).unwrap();
    let out = send("grown.bin", &["--resume"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(
        stdout(&out).contains(&format!("10000004 bytes, {} of them before, in", part.len())),
        "{}",
        stdout(&out)
    );
    assert!(fs::read(folder.path("in/data.bin")).unwrap() == [&data[..], b"more"].concat());
    assert_eq!(hidden(&dir), Vec::<String>::new());
    // Without the option it begins anew, and what was held of the old is removed.
    fs::remove_file(folder.path("in/data.bin")).unwrap();
    broken_upload(&folder, &server, &key, Signal::Kill);
    let out = send("other.bin", &[]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(fs::read(folder.path("in/data.bin")).unwrap() == other);
    // Nothing is held: all is sent.
    let out = skyhop(&["stp", "send", &folder.path("short.bin"), &server.address, "--key", &key, "--resume"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    // A file that is there is compared, and not written.
    let out = send("data.bin", &["--resume"]);
    assert_eq!(code(&out), 2);
    let why = format!("the 10000000 bytes that {} has under that name are not ", server.address);
    assert!(stderr(&out).starts_with(&format!("error: --resume: {why}")), "{}", stderr(&out));
    let out = send("other.bin", &["--resume"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(stdout(&out).contains("10000000 bytes, 10000000 of them before, in"), "{}", stdout(&out));
    let out = send("grown.bin", &["--resume"]);
    assert_eq!(code(&out), 1);
    assert_eq!(stderr(&out), "error: the receiver says: data.bin exists and is not overwritten\n");
    assert!(fs::read(folder.path("in/data.bin")).unwrap() == other);
}

#[test]
fn a_download_of_another_file_is_not_resumed() {
    let folder = Folder::new("other-down");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("in/data.bin", 1_000_000);
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    fs::create_dir(folder.path("out")).unwrap();
    let (out, part) = (folder.path("out/data.bin"), folder.path("out/.data.bin.skystp.held"));
    let args = ["stp", "receive", "data.bin", &server.address, "--key", &key, "--out", &out];
    let resume = [&args[..], &["--resume"]].concat();
    for held in [&b"other"[..], &[&data[..], b"longer"].concat()] {
        fs::write(&part, held).unwrap();
        let got = skyhop(&resume);
        let told = stderr(&got);
        assert_eq!(code(&got), 2, "{told}");
        let begin = format!("error: --resume: the {} bytes held of ", held.len());
        assert!(
            told.starts_with(&begin) && told.contains(" are not the beginning of data.bin at "),
            "{told}"
        );
        assert!(told.ends_with("without --resume it is received anew\n"), "{told}");
        assert!(fs::read(&part).unwrap() == held, "what is held stays");
    }
    let got = skyhop(&args);
    assert_eq!(code(&got), 0, "{}", stderr(&got));
    assert!(fs::read(&out).unwrap() == data);
    fs::remove_file(&out).unwrap();
    for held in [0, 1, 999_999, 1_000_000] {
        fs::write(&part, &data[..held]).unwrap();
        let got = skyhop(&resume);
        assert_eq!(code(&got), 0, "{}", stderr(&got));
        assert!(fs::read(&out).unwrap() == data);
        assert_eq!(hidden(&folder.path("out")), Vec::<String>::new());
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn what_has_no_beginning_is_not_resumed() {
    let folder = Folder::new("pipes");
    let key = key(&folder, "link.key");
    for (args, why) in [
        (["send", "-"], "error: --resume: standard input cannot be read from its beginning again\n"),
        (["send", "/dev/null"], "error: --resume: /dev/null is no regular file\n"),
    ] {
        let out = skyhop(&["stp", args[0], args[1], "127.0.0.1:9", "--key", &key, "--resume"]);
        assert_eq!((code(&out), stderr(&out).as_str()), (2, why));
    }
    let out = skyhop(&["stp", "receive", "a", "127.0.0.1:9", "--key", &key, "--out", "-", "--resume"]);
    assert_eq!(code(&out), 2);
    assert_eq!(stderr(&out), "error: --resume: standard output has no beginning to go on from\n");
    // A server that writes elsewhere holds nothing, and takes all.
    let data = folder.file("data.bin", 100_000);
    let server = Server::new(&["--key", &key, "--to", &folder.path("to.bin"), "--once"]);
    let out = skyhop(&["stp", "send", &folder.path("data.bin"), &server.address, "--key", &key, "--resume"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(fs::read(folder.path("to.bin")).unwrap() == data);
}

#[test]
fn a_running_transfer_is_not_taken_over() {
    let folder = Folder::new("running");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    let data = folder.file("data.bin", 20_000_000);
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    let send = |rate: &str| {
        let file = folder.path("data.bin");
        start(&["stp", "send", &file, &server.address, "--key", &key, "--resume", "--rate", rate])
    };
    let older = send("10 Mbit/s");
    until("a part", || !hidden(&dir).is_empty());
    let newer = end(send("100 Mbit/s"));
    assert_eq!(code(&newer), 1);
    assert_eq!(
        stderr(&newer),
        "error: the receiver says: data.bin is being received over another connection\n"
    );
    let older = end(older);
    assert_eq!(code(&older), 0, "{}", stderr(&older));
    assert!(fs::read(folder.path("in/data.bin")).unwrap() == data);
}

#[test]
fn no_more_is_held_than_the_server_allows() {
    let folder = Folder::new("bounds");
    let (key, dir) = (key(&folder, "link.key"), folder.path("in"));
    folder.file("data.bin", 10_000_000);
    // A sender that is ended in order says so, and its server puts the part aside at once.
    let server = Server::new(&["--key", &key, "--dir", &dir, "--hold", "50 kB"]);
    broken_upload(&folder, &server, &key, Signal::Term);
    until("nothing held", || hidden(&dir).is_empty());
    let server = Server::new(&["--key", &key, "--dir", &dir]);
    broken_upload(&folder, &server, &key, Signal::Term);
    assert!(held(&dir).len() > 100_000);
    drop(Server::new(&["--key", &key, "--dir", &dir, "--hold", "50 kB"]));
    until("nothing held", || hidden(&dir).is_empty());
}
