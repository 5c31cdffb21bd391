//! Hosts that are devices of this machine: other machines on both sides, and this machine restored afterwards.
//!
//! The machines are namespaces joined by veth pairs; skyhop runs in the middle one. The programs are this test's own binary.
//! Needs root and `ip`; without them each test prints a message and is skipped.
//! Leaves out other machines' kernels, and the precision of times: they are only never too short.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real machines take real time")]

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const SKYHOP: &str = env!("CARGO_BIN_EXE_skyhop");

/// The reason why these tests are impossible here, if there is one.
fn cannot() -> Option<String> {
    // Tests ask at the same time.
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let name = format!("skyp{}-{}", std::process::id(), ASKED.fetch_add(1, Ordering::Relaxed));
    let made = Command::new("ip").args(["netns", "add", &name]).output();
    let Ok(made) = made else { return Some("there is no program ip".into()) };
    if !made.status.success() {
        return Some(String::from_utf8_lossy(&made.stderr).into_owned());
    }
    let _ = Command::new("ip").args(["netns", "del", &name]).status();
    (!std::path::Path::new("/dev/net/tun").exists()).then(|| "there is no /dev/net/tun".into())
}

macro_rules! needs_machines {
    () => {
        if let Some(why) = cannot() {
            println!("skipped: {why}");
            return;
        }
    };
}

/// Namespaces: `m` in the middle with a device for each other one, eth1 for the first.
struct Lab {
    name: String,
    folder: PathBuf,
    machines: Vec<String>,
}

fn ip(words: &str) {
    let out = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(out.status.success(), "ip {words}: {}", String::from_utf8_lossy(&out.stderr));
}

impl Lab {
    fn new(name: &str, others: &[&str]) -> Self {
        let name = format!("sky{}{name}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        fs::create_dir_all(&folder).unwrap();
        let mut lab = Self { name, folder, machines: Vec::new() };
        lab.add("m");
        for (index, other) in others.iter().enumerate() {
            let (number, subnet) = (index + 1, 77 + 11 * index);
            lab.add(other);
            let (m, o) = (lab.at("m"), lab.at(other));
            ip(&format!("link add eth{number} netns {m} type veth peer name eth0 netns {o}"));
            for (machine, device, last) in [(&m, format!("eth{number}"), 1), (&o, "eth0".into(), 2)] {
                ip(&format!("-n {machine} addr add 192.168.{subnet}.{last}/24 dev {device}"));
                ip(&format!("-n {machine} addr add fd{subnet}::{last}/64 dev {device} nodad"));
                ip(&format!("-n {machine} link set {device} up"));
            }
            ip(&format!("-n {o} route add default via 192.168.{subnet}.1"));
            ip(&format!("-n {o} -6 route add default via fd{subnet}::1"));
        }
        // Link-local addresses are checked for others with the same one first.
        let began = Instant::now();
        while lab.listing().contains("tentative") && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(100));
        }
        lab
    }

    fn add(&mut self, machine: &str) {
        let name = self.at(machine);
        ip(&format!("netns add {name}"));
        ip(&format!("-n {name} link set lo up"));
        self.machines.push(name);
    }

    fn at(&self, machine: &str) -> String {
        format!("{}{machine}", self.name)
    }

    fn on(&self, machine: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.at(machine)]).stdin(Stdio::null());
        command
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Skyhop in the middle namespace.
    fn skyhop(&self, scenario: &str, options: &[&str]) -> Command {
        let file = self.write("scenario.toml", scenario);
        let mut skyhop = self.on("m");
        // In place of a shell's path to a process of its own: signals are for it.
        skyhop.arg(SKYHOP).args(["emulate", &file]).args(options);
        skyhop
    }

    /// Starts routing, and waits until it is ready.
    fn route(&self, scenario: &str, options: &[&str]) -> Routing {
        let before = self.devices();
        let mut child =
            self.skyhop(scenario, options).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        while self.devices() <= before {
            if child.try_wait().unwrap().is_some() || began.elapsed() > Duration::from_secs(60) {
                let _ = child.kill();
                let out = child.wait_with_output().unwrap();
                panic!("it does not route: {}", String::from_utf8_lossy(&out.stderr));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // The loop begins when its devices are there, and answers then.
        while !self.answers(child.id()) {
            assert!(began.elapsed() < Duration::from_secs(60), "its loop does not answer");
        }
        Routing(Some(child))
    }

    /// True if an emulation in the middle namespace has told its state.
    fn answers(&self, pid: u32) -> bool {
        let mut watch = self.on("m");
        watch.args([SKYHOP, "emulate", "watch", "--json", "--pid", &pid.to_string()]).stderr(Stdio::null());
        let mut child = watch.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let read = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line);
        let _ = child.kill();
        let _ = child.wait();
        read.is_ok() && line.contains("\"now_s\"")
    }

    /// Number of skyhop's network devices in the middle namespace.
    fn devices(&self) -> usize {
        let listing = self.on("m").args(["ip", "-o", "link"]).output().unwrap();
        String::from_utf8_lossy(&listing.stdout).matches(": sky-").count()
    }

    /// Runs one of this test's programs on a machine, and returns its answer.
    fn program(&self, machine: &str, name: &str, argument: &str) -> Result<Vec<u64>, String> {
        let out = self.start(machine, name, argument).wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        match out.status.success() {
            true => Ok(text.lines().filter_map(|line| line.strip_prefix("found ")?.parse().ok()).collect()),
            false => Err(text + &String::from_utf8_lossy(&out.stderr)),
        }
    }

    fn start(&self, machine: &str, name: &str, argument: &str) -> Child {
        let mut program = self.on(machine);
        program.arg(std::env::current_exe().unwrap()).args(["--exact", name, "--ignored", "--nocapture"]);
        program.env("SKYHOP_MACHINE", argument);
        program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Rules, routes, addresses, devices and parameters of the middle namespace.
    fn listing(&self) -> String {
        let script = "ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; ip -o addr; ip -o link | cut -d: -f2; \
                      cd /proc/sys/net; for file in ipv4/conf/*/* ipv6/conf/*/* ipv4/ip_forward; do \
                      [ -r $file ] && echo $file=$(cat $file 2>/dev/null); done";
        let out = self.on("m").args(["sh", "-c", script]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        // A device's own number comes and goes, and so do seconds.
        let steady = |line: &&str| !line.contains("stable_secret") && !line.contains("expires");
        text.lines().filter(steady).collect::<Vec<_>>().join("\n")
    }
}

impl Lab {
    /// Asserts that the listing is unchanged.
    fn is_as(&self, before: &str, after: &str) {
        let now = self.listing();
        let only = |one: &str, other: &str| -> Vec<String> {
            one.lines().filter(|line| !other.lines().any(|l| l == *line)).map(str::to_owned).collect()
        };
        let (more, less) = (only(&now, before), only(before, &now));
        assert!(more.is_empty() && less.is_empty(), "after {after}: more {more:#?}, less {less:#?}");
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for machine in &self.machines {
            let _ = Command::new("ip").args(["netns", "del", machine]).status();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// An emulation that runs until it is ended.
struct Routing(Option<Child>);

impl Routing {
    fn signal(&self, signal: &str) {
        let pid = self.0.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    fn end(mut self, signal: &str) -> Output {
        self.signal(signal);
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Routing {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wire(delay: &str, rate: &str, more: &str) -> String {
    format!(
        "duration = \"1 s\"\n[links.satellite]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{more}\n[[flows]]\npath = [\"server\", \
            \"satellite\", \"user\"]\ntraffic = {{ kind = \"bulk\" }}\n"
    )
}

fn argument() -> Option<Vec<String>> {
    Some(std::env::var("SKYHOP_MACHINE").ok()?.split(' ').map(str::to_owned).collect())
}

/// Answers datagrams at port 7; sends 3 MB to each connection at port 80, and reads data at port 81 until the end.
#[test]
#[ignore = "a program on a machine"]
fn answers() {
    let Some(_) = argument() else { return };
    let send = TcpListener::bind("[::]:80").unwrap();
    let receive = TcpListener::bind("[::]:81").unwrap();
    std::thread::spawn(move || {
        for stream in send.incoming() {
            std::thread::spawn(move || stream.unwrap().write_all(&noise()));
        }
    });
    std::thread::spawn(move || {
        for stream in receive.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                stream.write_all(&sum(&all).to_be_bytes()).unwrap();
            });
        }
    });
    let socket = UdpSocket::bind("[::]:7").unwrap();
    println!("ready");
    let mut datagram = [0; 2048];
    loop {
        let (len, from) = socket.recv_from(&mut datagram).unwrap();
        socket.send_to(&datagram[..len], from).unwrap();
    }
}

fn noise() -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..3_000_000).map(|_| next()).collect()
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}

fn address(text: &str, port: u16) -> SocketAddr {
    SocketAddr::new(text.parse::<IpAddr>().unwrap(), port)
}

/// Round-trip times of datagrams to an address, with a given TTL, ns.
#[test]
#[ignore = "a program on a machine"]
fn asks() {
    let Some(words) = argument() else { return };
    let to = address(&words[0], 7);
    let socket = UdpSocket::bind(if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" }).unwrap();
    if let Some(ttl) = words.get(1) {
        socket.set_ttl(ttl.parse().unwrap()).unwrap();
    }
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    for number in 0..5u32 {
        let began = Instant::now();
        socket.send(&number.to_be_bytes()).unwrap();
        let mut answer = [0; 64];
        let len = socket.recv(&mut answer).unwrap();
        assert_eq!(answer[..len], number.to_be_bytes());
        println!("found {}", began.elapsed().as_nanos());
    }
}

/// Transfers bytes down and up, and prints their sums.
#[test]
#[ignore = "a program on a machine"]
fn transfers() {
    let Some(words) = argument() else { return };
    let mut stream = TcpStream::connect(address(&words[0], 80)).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert_eq!(sum(&all), sum(&noise()));
    let mut stream = TcpStream::connect(address(&words[0], 81)).unwrap();
    stream.write_all(&noise()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(u64::from_be_bytes(answer), sum(&noise()));
    println!("found {}", all.len());
}

/// Downloads a file over HTTP, and prints its size.
#[test]
#[ignore = "a program on a machine"]
fn downloads() {
    let Some(words) = argument() else { return };
    let mut stream = TcpStream::connect(address(&words[0], 80)).unwrap();
    write!(stream, "GET /{} HTTP/1.1\r\nConnection: close\r\n\r\n", words[1]).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let body = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    println!("found {}", answer.len() - body);
}

/// A program that answers, until it is dropped.
struct Answering(Child);

impl Answering {
    fn on(lab: &Lab, machine: &str) -> Self {
        let mut child = lab.start(machine, "answers", "x");
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(b"ready\n") {
            assert_eq!(child.stdout.as_mut().unwrap().read(&mut byte).unwrap(), 1);
            text.push(byte[0]);
        }
        Self(child)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const BOTH: [&str; 4] = ["--device", "user=eth1", "--device", "server=eth2"];

#[test]
fn machines_on_both_sides_have_the_paths_time_and_their_bytes() {
    needs_machines!();
    let lab = Lab::new("both", &["l", "s"]);
    let before = lab.listing();
    let _answering = [Answering::on(&lab, "s"), Answering::on(&lab, "m")];
    let losses = "loss = { kind = \"packets\", probability = 0.005 }";
    for (offload, least_s) in [(&[][..], 0.04), (&["--no-offload"], 0.04)] {
        let results = lab.folder.join("results");
        let options = [&BOTH[..], offload, &["--out", results.to_str().unwrap()]].concat();
        let routing = lab.route(&wire("20 ms", "100 Mbit/s", ""), &options);
        for (to, own) in [("192.168.88.2", "192.168.77.1"), ("fd88::2", "fd77::1")] {
            let rtts = lab.program("l", "asks", to).unwrap();
            assert!(rtts.len() == 5 && rtts.iter().all(|rtt| *rtt as f64 >= least_s * 1e9), "{to}: {rtts:?}");
            let least = *rtts.iter().min().unwrap();
            assert!((least as f64) < least_s * 1e9 + 30e6, "{to}: {rtts:?}");
            // The machine in the middle is itself as near as ever.
            let own = lab.program("l", "asks", own).unwrap();
            assert!(own.iter().min().unwrap() < &15_000_000, "{own:?}");
            let direct = lab.program("m", "asks", to).unwrap();
            assert!(direct.iter().min().unwrap() < &15_000_000, "{direct:?}");
            // Each way has two machines that forward: this one twice.
            assert!(lab.program("l", "asks", &format!("{to} 2")).is_err() || to.contains(':'));
            assert!(lab.program("l", "asks", &format!("{to} 3")).is_ok());
        }
        drop(routing.end("-INT"));
        let routing = lab.route(&wire("5 ms", "100 Mbit/s", losses), &options);
        for to in ["192.168.88.2", "fd88::2"] {
            assert_eq!(lab.program("l", "transfers", to), Ok(vec![3_000_000]));
        }
        let out = routing.end("-INT");
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(0), "{told}");
        let summary: Value =
            serde_json::from_str(&fs::read_to_string(results.join("summary.json")).unwrap()).unwrap();
        let user = &summary["emulation"]["hosts"]["user"];
        assert_eq!((&user["device"], &user["tun"]), (&"eth1".into(), &"sky-user".into()), "{user}");
        assert_eq!((&user["address"], &user["malformed_frames"]), (&"192.168.77.1".into(), &0.into()));
        let lost = summary["links"]["satellite"]["forward"]["packets_lost"].as_u64().unwrap();
        assert!(lost > 5, "{lost}");
        let of = |key: &str| user[key].as_f64().unwrap();
        let many = of("read_frames") < 0.9 * of("read_packets");
        assert_eq!(many, offload.is_empty(), "{user}");
    }
    lab.is_as(&before, "");
}

#[test]
fn a_machine_behind_a_device_and_a_host_reach_each_other() {
    needs_machines!();
    let lab = Lab::new("one", &["l"]);
    let before = lab.listing();
    let _answering = Answering::on(&lab, "l");
    // A scenario may say it too.
    let scenario = wire("20 ms", "100 Mbit/s", "") + "[nodes.user]\ndevice = \"eth1\"\n";
    let routing = lab.route(&scenario, &[]);
    for host in ["10.0.0.1", "2001:db8::a00:1"] {
        let rtts = lab.program("l", "asks", host).unwrap();
        let least = *rtts.iter().min().unwrap();
        assert!((40_000_000..90_000_000).contains(&least), "{host}: {rtts:?}");
        assert_eq!(lab.program("l", "downloads", &format!("{host} bytes/3000000")), Ok(vec![3_000_000]));
    }
    routing.end("-TERM");
    lab.is_as(&before, "");
    // A command runs at the end that is no device.
    let own = std::env::current_exe().unwrap();
    for to in ["192.168.77.2", "fd77::2"] {
        let mut skyhop = lab.skyhop(&scenario, &["--"]);
        skyhop.arg(&own).args(["--exact", "asks", "--ignored", "--nocapture"]).env("SKYHOP_MACHINE", to);
        let out = skyhop.output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let rtts: Vec<u64> =
            text.lines().filter_map(|line| line.strip_prefix("found ")?.parse().ok()).collect();
        assert!(rtts.len() == 5 && rtts.iter().all(|rtt| *rtt >= 40_000_000), "{text}");
        assert_eq!(out.status.code(), Some(0));
    }
    let names = lab.skyhop(&scenario, &["--", "cat", "/etc/hosts"]).output().unwrap();
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    assert!(names.contains("10.0.0.1 server\n") && !names.contains("user"), "{names}");
    lab.is_as(&before, "");
}

#[test]
fn machines_are_told_of_a_smaller_mtu_inside() {
    needs_machines!();
    let lab = Lab::new("mtu", &["l", "s"]);
    let _answering = [Answering::on(&lab, "l"), Answering::on(&lab, "s")];
    let scenario = wire("5 ms", "100 Mbit/s", "mtu = \"1300 B\"").replace(
        "[[flows]]\npath = [\"server\", \"satellite\", \"user\"]",
        "[links.lan]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[links.net]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[[flows]]\npath = \
            [\"server\", \"net\", \"satellite\", \"lan\", \"user\"]",
    );
    for offload in [&[][..], &["--no-offload"]] {
        let routing = lab.route(&scenario, &[&BOTH[..], offload].concat());
        // The end that answers sends first, and then announces how little it can take.
        for (asks, sends, subnets) in [("l", "s", [88, 77]), ("s", "l", [77, 88])] {
            for to in [format!("192.168.{}.2", subnets[0]), format!("fd{}::2", subnets[0])] {
                assert_eq!(lab.program(asks, "transfers", &to), Ok(vec![3_000_000]), "{to}");
            }
            let subnet = subnets[1];
            let script = format!("ip route get 192.168.{subnet}.2; ip route get fd{subnet}::2");
            let routes = lab.on(sends).args(["sh", "-c", &script]).output().unwrap();
            let routes = String::from_utf8_lossy(&routes.stdout).into_owned();
            assert_eq!(routes.matches("mtu 1300").count(), 2, "{sends}: {routes}");
            for machine in ["l", "s"] {
                ip(&format!("-n {} route flush cache", lab.at(machine)));
                ip(&format!("-n {} -6 route flush cache", lab.at(machine)));
            }
        }
        routing.end("-INT");
    }
}

#[test]
fn several_machines_at_a_device_are_told_apart_by_what_is_behind_theirs() {
    needs_machines!();
    let lab = Lab::new("three", &["a", "b", "s"]);
    let _answering = [Answering::on(&lab, "a"), Answering::on(&lab, "b")];
    let flow = |name: &str| {
        format!(
            "[[flows]]\npath = [\"s\", \"to-{name}\", \"{name}\"]\nreal = true\ntraffic = {{ kind = \"bulk\" }}\n"
        )
    };
    let link =
        |name: &str, delay: &str| format!("[links.to-{name}]\nrate = \"100 Mbit/s\"\ndelay = \"{delay}\"\n");
    let scenario =
        format!("duration = \"1 s\"\n{}{}{}{}", link("a", "10 ms"), link("b", "40 ms"), flow("a"), flow("b"));
    let devices = ["--device", "a=eth1", "--device", "b=eth2", "--device", "s=eth3"];
    let routing = lab.route(&scenario, &devices);
    for (to, least_ms) in [("192.168.77.2", 20), ("192.168.88.2", 80), ("fd77::2", 20), ("fd88::2", 80)] {
        let rtts = lab.program("s", "asks", to).unwrap();
        let least = *rtts.iter().min().unwrap();
        assert!(least >= least_ms * 1_000_000 && least < (least_ms + 30) * 1_000_000, "{to}: {rtts:?}");
    }
    assert_eq!(routing.end("-INT").status.code(), Some(0));
}

#[test]
fn the_machine_is_as_before_whatever_ends_it() {
    needs_machines!();
    let lab = Lab::new("left", &["l", "s"]);
    let scenario = wire("1 ms", "1 Gbit/s", "");
    // A device that forwarded before still does.
    for forwarding in ["0", "1"] {
        let line = format!(
            "echo {forwarding} > /proc/sys/net/ipv4/conf/eth1/forwarding; echo {forwarding} > /proc/sys/net/ipv6/conf/all/forwarding"
        );
        assert!(lab.on("m").args(["sh", "-c", &line]).status().unwrap().success());
        let before = lab.listing();
        for signal in ["-INT", "-TERM", "-KILL"] {
            let routing = lab.route(&scenario, &BOTH);
            let during = lab.listing();
            assert!(
                during.contains("sky-user") && during.contains("ipv4/conf/eth1/forwarding=1"),
                "{during}"
            );
            let code = routing.end(signal).status.code();
            if signal == "-KILL" {
                assert_ne!(lab.listing(), before, "rules of a killed run are left to the next");
                assert!(!lab.listing().contains("sky-"), "devices and routes are not");
                let next = lab.skyhop(&scenario, &["--quiet", "--", "true"]).output().unwrap();
                assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
            } else {
                assert_eq!(code, Some(0));
            }
            lab.is_as(&before, signal);
        }
        let done =
            lab.skyhop(&scenario, &["--device", "user=eth1", "--quiet", "--", "true"]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        lab.is_as(&before, "");
    }
}

#[test]
fn emulations_side_by_side_leave_each_other_alone() {
    needs_machines!();
    let lab = Lab::new("beside", &["a", "b", "c"]);
    let before = lab.listing();
    let scenario = wire("10 ms", "1 Gbit/s", "");
    let first = lab.route(&scenario, &["--device", "user=eth1"]);
    let second = lab.route(&scenario, &["--device", "user=eth2"]);
    let taken = lab.skyhop(&scenario, &["--device", "user=eth2"]).output().unwrap();
    let told = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert!(told.contains("--device: eth2 is the device of another emulation that runs"), "{told}");
    first.end("-KILL");
    let third = lab.route(&scenario, &["--device", "user=eth3"]);
    assert!(!lab.listing().contains("iif eth1"), "{}", lab.listing());
    for machine in ["b", "c"] {
        let rtts = lab.program(machine, "asks", "10.0.0.1").unwrap();
        assert!(rtts.iter().all(|rtt| *rtt >= 20_000_000), "{machine}: {rtts:?}");
    }
    second.end("-INT");
    assert!(lab.program("c", "asks", "10.0.0.1").is_ok());
    third.end("-INT");
    lab.is_as(&before, "");
}

#[test]
fn mistakes_are_told_in_words() {
    needs_machines!();
    let lab = Lab::new("words", &["l"]);
    ip(&format!("-n {} link add bare type veth peer name down", lab.at("m")));
    ip(&format!("-n {} link set bare addrgenmode none up", lab.at("m")));
    let before = lab.listing();
    let scenario = wire("1 ms", "1 Gbit/s", "");
    for (options, code, words) in [
        (&["--device", "user=eth9"][..], 2, "--device: this machine has no device \"eth9\"; it has eth1, "),
        (&["--device", "laptop=eth1"], 2, "--device: no host \"laptop\"; there are server, user"),
        (&["--device", "user=down"], 2, "--device: down is down; take it up: ip link set down up"),
        (
            &["--device", "user=bare"],
            2,
            "--device: bare has no address, and machines behind it need one as their gateway: ip address add",
        ),
        (&["--device", "user=lo"], 2, "--device: no other machine is behind lo"),
        (
            &["--device", "user=eth1", "--device", "server=eth1"],
            2,
            "--device: eth1 is the device of user already",
        ),
        (&["--device", "user=eth1", "--device", "user=bare"], 2, "--device: user is the device eth1 already"),
        (&["--device", "user"], 2, "expected a host and a device, such as user=eth1"),
        (
            &["--device", "server=eth1", "--server", "true"],
            2,
            "--server: server is the device eth1; a server runs on a machine behind it",
        ),
        (
            &["--device", "user=eth1", "--at", "user", "--", "true"],
            2,
            "--at: user is the device eth1, so that no command can run there",
        ),
        (
            &["--device", "user=eth1", "--device", "server=bare", "--", "true"],
            2,
            "--: every host is a device of this machine",
        ),
    ] {
        let out = lab.skyhop(&scenario, options).output().unwrap();
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(code) && told.contains(words), "{options:?}: {told}");
    }
    let said = scenario + "[nodes.user]\ndevice = \"eth9\"\n";
    let out = lab.skyhop(&said, &[]).output().unwrap();
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        told.contains("scenario.toml:10: nodes.user.device: this machine has no device \"eth9\""),
        "{told}"
    );
    lab.is_as(&before, "");
    // Without rights there is nothing to lead through the network.
    let file = lab.folder.join("scenario.toml");
    let options = ["--reuid", "65534", "--clear-groups", SKYHOP, "emulate"];
    let out = Command::new("setpriv").args(options).arg(&file).stdin(Stdio::null()).output();
    match out {
        Err(why) if why.kind() == ErrorKind::NotFound => println!("skipped: there is no setpriv"),
        out => {
            let out = out.unwrap();
            let told = String::from_utf8_lossy(&out.stderr).into_owned();
            // The test's own file may be where nobody else may read it.
            let unread = told.contains("ermission denied");
            assert!(
                unread
                    || told.contains(
                        "for root alone to lead through the network (CAP_NET_ADMIN and CAP_SYS_ADMIN)"
                    ),
                "{told}"
            );
        }
    }
}
