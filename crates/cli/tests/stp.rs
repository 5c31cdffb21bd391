//! `skyhop stp` as seen by two users: files from host to host, and all kinds of failure.
//!
//! Follows the help texts and docs/stp-hosts.md; both hosts are this one.
//! Differs from the library's tests: each starts processes.
//! Leaves out delay and losses.

mod common;
#[path = "common/hosts.rs"]
mod hosts;

use common::{code, skyhop, stderr, stdout};
use hosts::{Folder, Server, key};
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn help_has_examples() {
    for command in [
        &["stp"][..],
        &["stp", "key"],
        &["stp", "serve"],
        &["stp", "send"],
        &["stp", "receive"],
        &["stp", "bench"],
    ] {
        let mut args = command.to_vec();
        args.push("--help");
        let out = skyhop(&args);
        assert_eq!(code(&out), 0);
        assert!(stdout(&out).contains("Examples:\n  skyhop stp "), "{command:?}");
    }
}

#[test]
fn a_file_goes_there_and_comes_back() {
    let folder = Folder::new("there");
    let key = key(&folder, "link.key");
    let data = folder.file("data.bin", 5_000_001);
    let server = Server::new(&["--key", &key, "--dir", &folder.path("in")]);
    let sent = skyhop(&["stp", "send", &folder.path("data.bin"), &server.address, "--key", &key]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(fs::read(folder.path("in/data.bin")).unwrap() == data);
    let text = stdout(&sent);
    let digest = |word: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("sha256 {word}"))).unwrap();
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(digest("here"), digest("there"));
    let sum = Command::new("sha256sum").arg(folder.path("data.bin")).output().unwrap();
    assert!(stdout(&sum).starts_with(&digest("here")), "as sha256sum sees it");
    assert!(
        text.contains("5000001 bytes") && text.contains("rtt") && text.contains("bytes came back"),
        "{text}"
    );

    // Nothing is overwritten, and nothing half-written is left.
    let again = skyhop(&["stp", "send", &folder.path("data.bin"), &server.address, "--key", &key]);
    assert_eq!(code(&again), 1);
    assert_eq!(stderr(&again), "error: the receiver says: data.bin exists and is not overwritten\n");
    assert_eq!(fs::read_dir(folder.path("in")).unwrap().count(), 1);

    let back = folder.path("back.bin");
    let got =
        skyhop(&["stp", "receive", "data.bin", &server.address, "--key", &key, "--out", &back, "--json"]);
    assert_eq!(code(&got), 0, "{}", stderr(&got));
    assert!(fs::read(&back).unwrap() == data);
    assert!(stdout(&got).contains(&format!("\"sha256\": \"{}\"", digest("here"))));
    for (name, why) in [("nothing", "no such file"), ("../link.key", "that is no plain file name")] {
        let out = folder.path("none");
        let got = skyhop(&["stp", "receive", name, &server.address, "--key", &key, "--out", &out]);
        assert_eq!(code(&got), 1);
        assert!(stderr(&got).contains(why), "{}", stderr(&got));
        assert!(!Path::new(&out).exists());
    }
    let hidden = skyhop(&[
        "stp",
        "send",
        &folder.path("data.bin"),
        &server.address,
        "--key",
        &key,
        "--name",
        "../evil",
    ]);
    assert_eq!(code(&hidden), 1);
    assert!(stderr(&hidden).contains("no plain file name"), "{}", stderr(&hidden));
    assert!(!Path::new(&folder.path("evil")).exists());
}

#[test]
fn standard_input_to_standard_output_with_a_pair_of_keys() {
    let folder = Folder::new("pipe");
    for name in ["ship.key", "ground.key", "stranger.key"] {
        assert_eq!(code(&skyhop(&["stp", "key", "--pair", "--out", &folder.path(name)])), 0);
    }
    let file = |name: &str| folder.path(name);
    let server =
        Server::new(&["--key", &file("ground.key"), "--peer", &file("ship.key.pub"), "--to", "-", "--once"]);
    // One whom the server does not know comes first.
    let out = skyhop(&[
        "stp",
        "send",
        &file("ship.key.pub"),
        &server.address,
        "--key",
        &file("stranger.key"),
        "--peer",
        &file("ground.key.pub"),
    ]);
    assert_eq!(code(&out), 1);
    assert_eq!(
        stderr(&out),
        format!(
            "error: cannot connect: {}: refused: the keys of the two hosts do not match\n",
            server.address
        )
    );
    let mut sender = Command::new(env!("CARGO_BIN_EXE_skyhop"))
        .args([
            "stp",
            "send",
            "-",
            &server.address,
            "--key",
            &file("ship.key"),
            "--peer",
            &file("ground.key.pub"),
        ])
        .args(["--cipher", "chacha20-poly1305"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = sender.stdin.take().unwrap();
    stdin.write_all(b"first, ").unwrap();
    stdin.flush().unwrap();
    stdin.write_all(b"and last").unwrap();
    drop(stdin);
    assert_eq!(sender.wait().unwrap().code(), Some(0));
    let (code, out, told) = server.end();
    assert_eq!((code, &out[..]), (0, &b"first, and last"[..]));
    assert!(told.contains("refused: the keys of the two hosts do not match"), "{told}");
}

#[test]
fn a_full_disk_ends_the_sender_with_the_reason() {
    let folder = Folder::new("full");
    let key = key(&folder, "link.key");
    folder.file("data.bin", 30_000_000);
    let server = Server::new(&["--key", &key, "--to", "/dev/full", "--once"]);
    let sent = skyhop(&["stp", "send", &folder.path("data.bin"), &server.address, "--key", &key]);
    assert_eq!((code(&sent), stdout(&sent)), (1, String::new()));
    assert!(
        stderr(&sent).starts_with("error: the receiver says: cannot write: No space left on device"),
        "{}",
        stderr(&sent)
    );
    let (code, _, told) = server.end();
    assert_eq!(code, 1);
    assert!(told.contains("cannot write: No space left on device"), "{told}");
}

#[test]
fn keys_that_are_none() {
    let folder = Folder::new("keys");
    let good = key(&folder, "good.key");
    let send = |args: &[&str]| {
        let mut all = vec!["stp", "send", "/etc/hostname", "127.0.0.1:9"];
        all.extend_from_slice(args);
        let out = skyhop(&all);
        (code(&out), stderr(&out))
    };
    let (exit, told) = send(&[]);
    assert_eq!(exit, 2);
    assert!(told.starts_with("error: no key: give one with --key"), "{told}");
    let (exit, told) = send(&["--key", &folder.path("none.key")]);
    assert_eq!(exit, 2);
    assert!(told.contains("none.key does not exist"), "{told}");
    let exposed = key(&folder, "exposed.key");
    fs::set_permissions(&exposed, fs::Permissions::from_mode(0o644)).unwrap();
    let (exit, told) = send(&["--key", &exposed]);
    assert_eq!(exit, 2);
    assert!(
        told.contains("may be read by others than its owner (mode 0644)") && told.contains("chmod 600"),
        "{told}"
    );
    folder.file("noise.key", 100);
    fs::set_permissions(folder.path("noise.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let (exit, told) = send(&["--key", &folder.path("noise.key")]);
    assert_eq!(exit, 2, "{told}");
    let (exit, told) = send(&["--key", &good, "--peer", &good]);
    assert_eq!(exit, 2);
    assert!(told.contains("is a shared key"), "{told}");
    // Keys of another role than the option's.
    let (ship, ground) = (folder.path("ship.key"), folder.path("ground.key"));
    for pair in [&ship, &ground] {
        assert_eq!(code(&skyhop(&["stp", "key", "--pair", "--out", pair])), 0);
    }
    for (key, peer, wrong) in [
        (format!("{ship}.pub"), format!("{ground}.pub"), "ship.key.pub is a public key: --key takes"),
        (ship.clone(), ground.clone(), "ground.key is a private key: --peer takes the public key"),
        (ship.clone(), good.clone(), "good.key is a shared key: it goes with --key on both hosts"),
        (ship.clone(), format!("{ship}.pub"), "ship.key.pub is this host's own public key: --peer takes"),
    ] {
        let (exit, told) = send(&["--key", &key, "--peer", &peer]);
        assert!(exit == 2 && told.starts_with("error: --key: ") && told.contains(wrong), "{told}");
    }
    let twice = skyhop(&["stp", "key", "--out", &good]);
    assert_eq!(code(&twice), 2);
    assert!(stderr(&twice).contains("exists and is not overwritten"));
}

#[test]
fn addresses_ports_and_sizes_that_will_not_do() {
    let folder = Folder::new("ports");
    let key = key(&folder, "link.key");
    // An address that nobody else uses: its port stays free when this socket is gone.
    let taken = UdpSocket::bind(SocketAddr::from(([127, 77, 0, 1], 0))).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let out = skyhop(&["stp", "serve", "--listen", &address, "--key", &key, "--dir", &folder.path("in")]);
    assert_eq!(
        (code(&out), stderr(&out)),
        (2, format!("error: {address}: the port is in use; choose another\n"))
    );
    let send = |args: &[&str]| {
        let mut all = vec!["stp", "send", &key];
        all.extend_from_slice(args);
        all.extend_from_slice(&["--key", &key]);
        let out = skyhop(&all);
        (code(&out), stderr(&out))
    };
    drop(taken);
    let (exit, told) = send(&[&address]);
    assert_eq!(
        (exit, told),
        (1, format!("error: cannot connect: {address}: nothing listens at that address and port\n"))
    );
    let (exit, told) = send(&["127.0.0.1:notaport"]);
    assert_eq!(exit, 2);
    assert!(told.starts_with("error: address \"127.0.0.1:notaport\": "), "{told}");
    let (exit, told) = send(&["127.0.0.1:9", "--mtu", "100"]);
    assert_eq!((exit, told.as_str()), (2, "error: an MTU of 100 bytes; 576 to 65535 are possible\n"));
    let (exit, told) = send(&["127.0.0.1:9", "--rate", "20 mbps"]);
    assert_eq!(exit, 2, "{told}");
    let (exit, told) = send(&["127.0.0.1:9", "--congestion", "rate"]);
    assert_eq!((exit, told.as_str()), (2, "error: --congestion rate: give the promised rate with --rate\n"));
    let out = skyhop(&["stp", "send", &folder.path("in"), "127.0.0.1:9", "--key", &key]);
    assert_eq!(code(&out), 2);
    assert!(stderr(&out).contains("a folder"), "{}", stderr(&out));
    // Over IP, root has raw sockets and others are told; the loopback's MTU is larger than any that may be asked for.
    let out =
        skyhop(&["stp", "serve", "--listen", "[::1]:9", "--ip", "--key", &key, "--dir", &folder.path("in")]);
    assert_eq!((code(&out), stderr(&out)), (2, "error: straight over IP goes with IPv4 only\n".into()));
}

#[test]
fn what_is_insecure_says_so() {
    let folder = Folder::new("insecure");
    let data = folder.file("data.bin", 300_000);
    let server = Server::new(&["--insecure", "--dir", &folder.path("in")]);
    let sent = skyhop(&["stp", "send", &folder.path("data.bin"), &server.address, "--insecure", "--quiet"]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(
        stderr(&sent).starts_with("warning: INSECURE: anybody on the path can read"),
        "{}",
        stderr(&sent)
    );
    assert!(fs::read(folder.path("in/data.bin")).unwrap() == data);
    let key = key(&folder, "link.key");
    let sealed = skyhop(&["stp", "send", &key, &server.address, "--key", &key]);
    assert_eq!(code(&sealed), 1);
    assert!(stderr(&sealed).contains("the peer speaks without encryption only"), "{}", stderr(&sealed));
    let both = skyhop(&["stp", "send", &key, &server.address, "--key", &key, "--insecure"]);
    assert_eq!(code(&both), 2);
    let log = skyhop(&["stp", "send", &key, &server.address, "--insecure", "--key-log", &folder.path("log")]);
    assert_eq!(code(&log), 2);
}

#[test]
fn the_key_log_has_the_secrets_and_nobody_else_reads_it() {
    let folder = Folder::new("log");
    let key = key(&folder, "link.key");
    folder.file("data.bin", 1000);
    let server = Server::new(&["--key", &key, "--dir", &folder.path("in")]);
    let log = folder.path("keys.log");
    let send = |name: &str| {
        skyhop(&[
            "stp",
            "send",
            &folder.path("data.bin"),
            &server.address,
            "--key",
            &key,
            "--key-log",
            &log,
            "--name",
            name,
        ])
    };
    let out = send("one");
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let text = fs::read_to_string(&log).unwrap();
    let words: Vec<&str> = text.trim().split(' ').collect();
    assert_eq!((words[0], words[3], words.len()), ("SKYHOP_STP", "aes-128-gcm", 6));
    assert!(words[4].len() == 64 && words[5].len() == 64 && words[4] != words[5]);
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    let out = send("two");
    assert_eq!(code(&out), 2);
    assert!(stderr(&out).contains("--key-log: the file exists"), "{}", stderr(&out));
}

/// The port is fixed where no address is given, so the server has a network of its own.
#[test]
fn a_server_listens_at_all_addresses_of_both_families() {
    let outside = ["unshare", "--map-root-user", "--net"];
    if !Command::new(outside[0]).args(&outside[1..]).arg("true").status().is_ok_and(|s| s.success()) {
        println!("skipped: no network namespaces for this user");
        return;
    }
    let folder = Folder::new("families");
    let (key, all) = (key(&folder, "link.key"), folder.path("all"));
    fs::create_dir(&all).unwrap();
    let serve = r#"ip link set lo up && exec "$0" stp serve --key "$1" --dir "$2""#;
    let mut server = Command::new(outside[0]);
    server.args(&outside[1..]).args(["sh", "-c", serve, env!("CARGO_BIN_EXE_skyhop"), &key, &all]);
    let server = Server::started(&mut server);
    assert_eq!(server.address, "[::]:57824");
    for to in ["127.0.0.1", "::1", "[::1]", "[::1]:57824"] {
        let pid = server.child.id().to_string();
        let mut bench = Command::new("nsenter");
        bench.args(["--target", &pid, "--user", "--net", env!("CARGO_BIN_EXE_skyhop"), "stp", "bench", to]);
        let out = bench.args(["--key", &key, "--size", "1 MB", "--json", "--quiet"]).output().unwrap();
        assert_eq!(code(&out), 0, "{to}: {}", stderr(&out));
    }
}

#[test]
fn bench_moves_what_it_says() {
    for extra in [&[][..], &["--insecure"], &["--rate", "200 Mbit/s"]] {
        let mut args = vec!["stp", "bench", "--size", "20 MB", "--json", "--quiet"];
        args.extend_from_slice(extra);
        let out = skyhop(&args);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let text = stdout(&out);
        assert!(text.contains("\"bytes\": 20000000") && text.contains("cpu_s_per_gbit"), "{text}");
    }
}
