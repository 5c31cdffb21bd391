//! `skyhop wireshark decrypt`: encrypted transfers, captured, decrypted, and read by tshark with the dissector.
//!
//! Follows docs/stp-hosts.md: hosts write a key log, the command decrypts the capture, the dissector shows the contents.
//! Differs from a round trip: tshark's data in the new capture are compared with the sender's, byte by byte.
//! Leaves out other fields of the dissector, which `skyhop-record` tests.

#![allow(clippy::disallowed_methods, reason = "processes are waited for")]

mod common;

use common::{code, empty_folder, stderr, stdout};
use ring::digest::{SHA256, digest};
use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Options, Security, StpListener, StpStream};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_transfer_over_a_bad_path_is_read_whole() {
    let folder = Folder::new("relay");
    let keys = Keys::generate_shared();
    let listener = StpListener::bind(any(), options(&keys, None)).unwrap();
    let server = listener.local_addr().unwrap();
    let relay = Relay::new(server);
    let sent = transfer(listener, relay.address, options(&keys, Some(&folder.path("keys.log"))), 400_000);
    let relayed = relay.end();
    fs::write(folder.path("sealed.pcap"), &relayed.pcap).unwrap();

    let out = decrypt(&folder, &["keys.log"], "sealed.pcap", "plain.pcapng");
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(fs::read(folder.path("sealed.pcap")).unwrap() == relayed.pcap, "the original stays");
    assert_eq!(fs::metadata(folder.path("plain.pcapng")).unwrap().permissions().mode() & 0o777, 0o600);
    let told = stdout(&out);
    let shown = folder.path("plain.pcapng");
    let (sealed, handshakes) = (relayed.packets - relayed.handshakes - 1, relayed.handshakes);
    let opened = sealed - relayed.altered;
    assert_eq!(
        told,
        format!(
            "{}: {opened} packets of 1 association opened, {handshakes} of handshakes, 1 other; {} encrypted stay as they were: \
             {} altered or forged\n",
            shown.display(),
            relayed.altered,
            relayed.altered
        )
    );
    assert!(relayed.altered >= 5 && relayed.lost >= 5, "{relayed:?}");

    let Some(read) = Dissected::new(&folder, "plain.pcapng", server.port()) else { return };
    assert_eq!(read.frames, relayed.packets);
    assert_eq!(read.associations.get("1"), Some(&1), "HELLO");
    assert_eq!(read.associations.get("2"), Some(&1), "ANSWER");
    assert_eq!(read.associations.get("5"), Some(&relayed.altered), "SEALED");
    // Each end says BYE once, which is no STP packet; it may be lost.
    assert!((opened - 2..=opened).contains(&read.good), "{} of {opened}", read.good);
    assert_eq!(read.wrong, 0);
    assert!(read.retransmissions >= 5, "{}", read.retransmissions);
    intact(&read, &sent);

    // The other capture is as good as none for tshark: nothing but associations.
    let before = Dissected::new(&folder, "sealed.pcap", server.port()).unwrap();
    assert_eq!((before.frames, before.good, before.data.len()), (relayed.packets, 0, 0));
    assert_eq!(before.associations.get("5"), Some(&sealed));
}

/// One encrypted packet in 65,536 has a right checksum of STP by chance; its form decides.
#[test]
fn an_encrypted_packet_whose_checksum_is_right_is_no_stp_packet() {
    let folder = Folder::new("chance");
    let mut packet = [0_u8; 80];
    packet[..4].copy_from_slice(&[5, 0, 0, 9]);
    packet[20..].fill(0xa7);
    // RFC 1071: the last word makes the sum of all words 0xffff.
    packet[78..].fill(0);
    let words = packet.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum = words.fold(0, |sum, word| (sum + word) % 0xffff);
    packet[78..].copy_from_slice(&(0xffff - sum as u16).to_be_bytes());
    let mut capture = Relayed { pcap: pcap(), packets: 0, handshakes: 0, altered: 0, lost: 0 };
    capture.put(Ipv4Addr::new(192, 0, 2, 1), 57_824, &packet);
    fs::write(folder.path("chance.pcap"), &capture.pcap).unwrap();
    let Some(read) = Dissected::new(&folder, "chance.pcap", 57_824) else { return };
    assert_eq!((read.frames, read.good, read.wrong), (1, 0, 0));
    assert_eq!(read.associations.get("5"), Some(&1), "SEALED");
}

#[test]
fn a_capture_of_the_loopback_is_read_whole() {
    let folder = Folder::new("loopback");
    let keys = Keys::generate_shared();
    let listener = StpListener::bind(any(), options(&keys, Some(&folder.path("far.log")))).unwrap();
    let server = listener.local_addr().unwrap();
    let Some(tcpdump) = Tcpdump::new(&folder.path("sealed.pcap"), server.port()) else { return };
    let sent = transfer(listener, server, options(&keys, Some(&folder.path("near.log"))), 3_000_000);
    tcpdump.end();

    // Either host's log opens it, both do, and the same twice is no more.
    let mut summaries = Vec::new();
    for logs in [&["near.log"][..], &["far.log"], &["far.log", "near.log", "far.log"]] {
        let out = decrypt(&folder, logs, "sealed.pcap", "plain.pcapng");
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        summaries.push(stdout(&out));
    }
    println!("{}", summaries[0]);
    assert!(
        summaries[0].contains(" packets of 1 association opened, 2 of handshakes, 0 others\n"),
        "{}",
        summaries[0]
    );
    assert!(summaries.iter().all(|s| *s == summaries[0]));
    let Some(read) = Dissected::new(&folder, "plain.pcapng", server.port()) else { return };
    // The kernel sends many packets as one here; in the new capture each stands alone.
    // Beside STP packets there are two of the handshake, and a BYE of each end.
    assert!(read.good > 2000, "{} of {}", read.good, read.frames);
    assert!((read.good + 2..=read.good + 4).contains(&read.frames), "{} of {}", read.good, read.frames);
    assert_eq!((read.wrong, read.associations.get("5")), (0, None));
    intact(&read, &sent);
}

#[test]
fn keys_of_others_open_nothing_and_nothing_is_written() {
    let folder = Folder::new("others");
    let keys = Keys::generate_shared();
    let listener = StpListener::bind(any(), options(&keys, None)).unwrap();
    let relay = Relay::new(listener.local_addr().unwrap());
    transfer(listener, relay.address, options(&keys, Some(&folder.path("keys.log"))), 20_000);
    let relayed = relay.end();
    fs::write(folder.path("sealed.pcap"), &relayed.pcap).unwrap();
    let line = fs::read_to_string(folder.path("keys.log")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();

    // Other secrets under the same indices.
    let wrong = format!(
        "# of another day\n\n{} {} {} {} {} {}\n",
        words[0], words[1], words[2], words[3], words[5], words[4]
    );
    fs::write(folder.path("wrong.log"), wrong).unwrap();
    let out = decrypt(&folder, &["wrong.log"], "sealed.pcap", "plain.pcapng");
    assert_eq!((code(&out), stdout(&out)), (1, String::new()));
    let told = stderr(&out);
    assert!(told.contains("encrypted packets opens with the keys of 1 association: "), "{told}");
    assert!(told.ends_with("altered or forged; nothing was written\n"), "{told}");
    assert!(!told.contains(words[4]) && !told.contains(words[5]));

    // A capture without any.
    let empty = pcap();
    fs::write(folder.path("empty.pcap"), &empty).unwrap();
    let out = decrypt(&folder, &["keys.log"], "empty.pcap", "plain.pcapng");
    assert_eq!(code(&out), 1);
    assert!(
        stderr(&out).ends_with("no encrypted packets of STP in it; nothing was written\n"),
        "{}",
        stderr(&out)
    );

    // The capture's end is missing: what is before it is read.
    fs::write(folder.path("cut.pcap"), &relayed.pcap[..relayed.pcap.len() - 7]).unwrap();
    let out = decrypt(&folder, &["keys.log"], "cut.pcap", "cut.pcapng");
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(stdout(&out).ends_with("; the capture ends within a packet\n"), "{}", stdout(&out));

    // tcpdump -s 60: the tags were not captured.
    let out = decrypt(&folder, &["keys.log"], "short.pcap", "short.pcapng");
    assert_eq!(code(&out), 2);
    fs::write(folder.path("short.pcap"), shortened(&relayed.pcap, 60)).unwrap();
    let out = decrypt(&folder, &["keys.log"], "short.pcap", "short.pcapng");
    assert!(
        stderr(&out).contains("cut off by the capture") || stdout(&out).contains("cut off by the capture")
    );

    let mut names: Vec<_> =
        fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".pcapng") || name.starts_with('.'));
    names.sort();
    assert!(
        !names.contains(&"plain.pcapng".into()) && !names.iter().any(|n| n.starts_with('.')),
        "{names:?}"
    );
}

#[test]
fn what_is_asked_wrongly_is_2_and_says_which_file() {
    let folder = Folder::new("wrong");
    let line = format!("SKYHOP_STP 00000a 00000b aes-128-gcm {} {}\n", "5e".repeat(32), "c7".repeat(32));
    fs::write(folder.path("keys.log"), &line).unwrap();
    fs::write(folder.path("a.pcap"), pcap()).unwrap();
    fs::write(folder.path("text"), "no capture at all").unwrap();
    fs::write(folder.path("a.pcap.gz"), [0x1f, 0x8b, 8, 0, 0, 0]).unwrap();
    fs::write(folder.path("nothing"), "").unwrap();
    fs::write(folder.path("broken.pcapng"), [&SECTION[..], &[6, 0, 0, 0, 13, 0, 0, 0]].concat()).unwrap();
    for (capture, keys, expected) in [
        ("none.pcap", "keys.log", "none.pcap: no such file"),
        (".", "keys.log", "is a directory, not a file"),
        ("text", "keys.log", "text: not a capture; expected pcap or pcapng"),
        (
            "a.pcap.gz",
            "keys.log",
            "not a capture but a file of gzip; unpack it first; expected pcap or pcapng",
        ),
        ("nothing", "keys.log", "not a capture but an empty file; expected pcap or pcapng"),
        ("broken.pcapng", "keys.log", "broken.pcapng: byte 28: a block whose length cannot be"),
        ("a.pcap", "none.log", "--keys: "),
        ("a.pcap", "nothing", "nothing: no association in it"),
        ("a.pcap", "text", "text: line 1: no line of a key log; expected \"SKYHOP_STP INITIATOR RESPONDER"),
        ("a.pcap", "a.pcap", "a.pcap: not a text file"),
    ] {
        let out = decrypt(&folder, &[keys], capture, "plain.pcapng");
        assert_eq!(code(&out), 2, "{capture} {keys}: {}", stderr(&out));
        assert!(stderr(&out).contains(expected), "{capture} {keys}: {}", stderr(&out));
        assert_eq!(stderr(&out).lines().count(), 1);
    }
    for (change, expected) in [
        (line.replace("00000a", "a"), "line 1: an index that is not six hex digits"),
        (line.replace("aes-128-gcm", "rot13"), "line 1: an unknown cipher"),
        (line.replace("5e5e5e", "5e5e"), "line 1: a secret that is not 64 hex digits"),
        (format!("{line}\nCLIENT_RANDOM 00 11\n"), "line 3: no line of a key log"),
    ] {
        fs::write(folder.path("bad.log"), &change).unwrap();
        let out = decrypt(&folder, &["bad.log"], "a.pcap", "plain.pcapng");
        assert_eq!(code(&out), 2);
        let told = stderr(&out);
        assert!(told.contains(expected) && !told.contains("5e5e") && !told.contains("c7c7"), "{told}");
    }
    // Neither the capture nor the key log is written over.
    for out in ["a.pcap", "keys.log"] {
        let done = decrypt(&folder, &["keys.log"], "a.pcap", out);
        assert_eq!(code(&done), 2);
        assert!(stderr(&done).contains("which is not overwritten"), "{}", stderr(&done));
    }
    assert_eq!(fs::read(folder.path("a.pcap")).unwrap(), pcap());
    assert!(!folder.path("plain.pcapng").exists());
}

/// A section header of pcapng.
const SECTION: [u8; 28] = [
    0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255,
    255, 255, 28, 0, 0, 0,
];

fn intact(read: &Dissected, sent: &[u8]) {
    assert_eq!(read.data.len(), sent.len());
    assert_eq!(digest(&SHA256, &read.data).as_ref(), digest(&SHA256, sent).as_ref());
}

/// Sends `len` bytes to `to`, through which they reach the listener; returns them.
fn transfer(listener: StpListener, to: SocketAddr, options: Options, len: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()
    };
    let data: Vec<u8> = std::iter::repeat_with(&mut word).flatten().take(len).collect();
    let expected = data.clone();
    let far = thread::spawn(move || {
        let (mut stream, _) = listener.accept_timeout(PATIENCE).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        assert!(received == expected);
    });
    let mut stream = StpStream::connect(to, options).unwrap();
    stream.write_all(&data).unwrap();
    stream.finish(Some(PATIENCE)).unwrap();
    drop(stream);
    far.join().unwrap();
    data
}

fn options(keys: &Keys, log: Option<&Path>) -> Options {
    let mut config = Config::new(keys.clone());
    config.key_log = log.is_some();
    let mut options = Options::new(Security::Sealed(Box::new(config)));
    options.key_log = log.map(Path::to_path_buf);
    options
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A path between two hosts that drops and alters packets, and captures all packets that it delivers or loses.
struct Relay {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
    done: Arc<Mutex<Relayed>>,
}

#[derive(Clone)]
struct Relayed {
    pcap: Vec<u8>,
    packets: u64,
    handshakes: u64,
    altered: u64,
    lost: u64,
}

impl std::fmt::Debug for Relayed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} packets, {} altered, {} lost", self.packets, self.altered, self.lost)
    }
}

impl Relay {
    fn new(server: SocketAddr) -> Self {
        // Another address of this host and the same port: STP's own port says which listener is meant.
        let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), server.port())).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let address = socket.local_addr().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let done = Relayed { pcap: pcap(), packets: 0, handshakes: 0, altered: 0, lost: 0 };
        let done = Arc::new(Mutex::new(done));
        let (stop, log) = (ended.clone(), done.clone());
        let thread = thread::spawn(move || {
            let mut client = None;
            let mut buffer = vec![0; 65_536];
            // A datagram of somebody else's, which begins as a sealed packet does.
            log.lock().unwrap().put(Ipv4Addr::new(192, 0, 2, 9), 9, &[5; 80]);
            while !stop.load(Ordering::Relaxed) {
                let Ok((len, from)) = socket.recv_from(&mut buffer) else { continue };
                let packet = &mut buffer[..len];
                let mut log = log.lock().unwrap();
                let n = log.packets;
                let to = if from == server {
                    client.expect("it spoke first")
                } else {
                    client = Some(from);
                    server
                };
                let handshake = packet[0] < 5;
                log.handshakes += u64::from(handshake);
                // Not the index, so that it is known whose it was.
                let altered = !handshake && n % 41 == 17;
                if altered {
                    packet[12 + n as usize % (len - 12)] ^= 1 << (n % 8);
                    log.altered += 1;
                }
                let lost = !handshake && n % 37 == 11;
                log.lost += u64::from(lost);
                log.put(Ipv4Addr::new(192, 0, 2, u8::from(from == server)), server.port(), packet);
                drop(log);
                if !lost {
                    socket.send_to(packet, to).unwrap();
                }
            }
        });
        Relay { address, ended, thread, done }
    }

    fn end(self) -> Relayed {
        // Late packets are on their way through the kernel.
        thread::sleep(Duration::from_millis(100));
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.done.lock().unwrap().clone()
    }
}

impl Relayed {
    /// Appends a record of a datagram between this host, whose port is 40000 unless it is the server, and the other one.
    fn put(&mut self, host: Ipv4Addr, port: u16, payload: &[u8]) {
        let server = host == Ipv4Addr::new(192, 0, 2, 1);
        let other = Ipv4Addr::new(192, 0, 2, u8::from(!server));
        let (source, destination) = if server { (port, 40_000) } else { (40_000, port) };
        let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
        ip.extend_from_slice(&host.octets());
        ip.extend_from_slice(&other.octets());
        ip[2..4].copy_from_slice(&(28 + payload.len() as u16).to_be_bytes());
        for number in [source, destination, 8 + payload.len() as u16, 0] {
            ip.extend_from_slice(&number.to_be_bytes());
        }
        ip.extend_from_slice(payload);
        for number in [1_000_000, self.packets as u32 * 10, ip.len() as u32, ip.len() as u32] {
            self.pcap.extend_from_slice(&number.to_le_bytes());
        }
        self.pcap.extend_from_slice(&ip);
        self.packets += 1;
    }
}

/// The header of a pcap file of raw IP.
fn pcap() -> Vec<u8> {
    [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 101].iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// The same capture with at most `most` bytes of each packet.
fn shortened(pcap: &[u8], most: usize) -> Vec<u8> {
    let (mut out, mut rest) = (pcap[..24].to_vec(), &pcap[24..]);
    while let Some((record, behind)) = rest.split_at_checked(16) {
        let len = u32::from_le_bytes(record[8..12].try_into().unwrap()) as usize;
        let kept = len.min(most);
        out.extend_from_slice(&record[..8]);
        out.extend_from_slice(&(kept as u32).to_le_bytes());
        out.extend_from_slice(&record[12..]);
        out.extend_from_slice(&behind[..kept]);
        rest = &behind[len..];
    }
    out
}

/// tcpdump on the loopback interface, and the file that it writes.
struct Tcpdump(std::process::Child, PathBuf);

impl Tcpdump {
    fn new(path: &Path, port: u16) -> Option<Self> {
        let mut command = Command::new("tcpdump");
        command
            // In immediate mode the buffer has a place of the longest packet for each, so that 128 MB are 512 packets.
            .args(["-i", "lo", "-U", "-B", "131072", "--immediate-mode", "-w"])
            .arg(path)
            .args(["udp", "port"]);
        let child = command.arg(port.to_string()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
        let Ok(mut child) = child else {
            println!("skipped: tcpdump is not installed");
            return None;
        };
        let mut told = String::new();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        while lines.read_line(&mut told).unwrap() > 0 {
            if told.contains("listening on lo") {
                child.stderr = Some(lines.into_inner());
                return Some(Tcpdump(child, path.to_owned()));
            }
        }
        println!("skipped: tcpdump may not capture here: {told}");
        child.wait().unwrap();
        None
    }

    fn end(mut self) {
        // On a busy machine it may be behind: it ends when its file has not grown for a while.
        let size = || fs::metadata(&self.1).map_or(0, |file| file.len());
        let mut before = u64::MAX;
        while std::mem::replace(&mut before, size()) != size() {
            thread::sleep(Duration::from_millis(500));
        }
        Command::new("kill").arg("-INT").arg(self.0.id().to_string()).status().unwrap();
        self.0.wait().unwrap();
        let mut told = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert!(told.contains("\n0 packets dropped by kernel"), "{told}");
    }
}

/// The contents of a capture by tshark.
struct Dissected {
    frames: u64,
    /// Number of packets of associations, by type.
    associations: BTreeMap<String, u64>,
    /// Number of STP packets with a correct checksum.
    good: u64,
    /// Number of frames with any error.
    wrong: u64,
    retransmissions: u64,
    /// Data of the client, reassembled.
    data: Vec<u8>,
}

impl Dissected {
    /// Reads a capture; `None` without tshark.
    fn new(folder: &Folder, name: &str, port: u16) -> Option<Self> {
        const FIELDS: [&str; 8] = [
            "skystp.association.type",
            "skystp.checksum.status",
            "skystp.malformed",
            "_ws.malformed",
            "skystp.retransmission",
            "udp.dstport",
            "skystp.ns",
            "skystp.data",
        ];
        let dissector: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wireshark/skystp.lua");
        let mut tshark = Command::new("tshark");
        tshark.env("HOME", &folder.0).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        tshark.arg("-X").arg(format!("lua_script:{}", dissector.display())).arg("-r").arg(folder.path(name));
        tshark.arg("-d").arg(format!("udp.port=={port},skystp"));
        tshark.args(["-T", "fields", "-E", "separator=|"]).args(FIELDS.iter().flat_map(|f| ["-e", f]));
        let Ok(out) = tshark.output() else {
            println!("skipped: tshark is not installed");
            return None;
        };
        let told = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && !told.to_lowercase().contains("lua"), "{told}");
        let mut read = Dissected {
            frames: 0,
            associations: BTreeMap::new(),
            good: 0,
            wrong: 0,
            retransmissions: 0,
            data: Vec::new(),
        };
        let mut parts = BTreeMap::new();
        let mut first = None;
        for line in String::from_utf8(out.stdout).unwrap().lines() {
            let cells: Vec<&str> = line.split('|').collect();
            let [kind, checksum, malformed, marked, again, to, number, data] = cells[..] else {
                panic!("{line}")
            };
            read.frames += 1;
            if !kind.is_empty() {
                *read.associations.entry(kind.to_owned()).or_default() += 1;
            }
            read.good += u64::from(checksum == "1");
            read.wrong += u64::from(!malformed.is_empty() || !marked.is_empty() || checksum == "0");
            read.retransmissions += u64::from(!again.is_empty());
            if checksum == "1" && !data.is_empty() {
                assert_eq!(to, port.to_string(), "only one side sends");
                let number: u32 = number.parse().unwrap();
                let first = *first.get_or_insert(number);
                // The second packet may be captured first.
                let place = number.wrapping_sub(first).wrapping_add(1 << 20) & 0xff_ffff;
                let bytes: Vec<u8> = (0..data.len())
                    .step_by(2)
                    .map(|i| u8::from_str_radix(&data[i..i + 2], 16).unwrap())
                    .collect();
                assert!(
                    *parts.entry(place).or_insert_with(|| bytes.clone()) == bytes,
                    "a number carries the same again"
                );
            }
        }
        let places: Vec<u32> = parts.keys().copied().collect();
        assert!(places.windows(2).all(|w| w[1] == w[0] + 1), "a number is missing");
        read.data = parts.into_values().flatten().collect();
        Some(read)
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Folder(empty_folder("decrypt", name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

fn decrypt(folder: &Folder, logs: &[&str], capture: &str, out: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skyhop"));
    command.args(["wireshark", "decrypt"]).arg(folder.path(capture)).arg("--out").arg(folder.path(out));
    for log in logs {
        command.arg("--keys").arg(folder.path(log));
    }
    command.output().unwrap()
}
