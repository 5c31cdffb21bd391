//! The program of an emulation and its terminal: Ctrl-C, the end of processes, and the summary's data about the host.
//!
//! Terminals are made by Python's `pty`. Needs namespaces and TUN devices, and python3 for terminals; without them each test
//! prints a message and is skipped.
//! Leaves out the programs' traffic.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real programs take real time")]

mod common {
    pub mod folder;
}

use common::folder::Folder;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const SKYHOP: &str = env!("CARGO_BIN_EXE_skyhop");

/// A folder with a scenario, removed when dropped.
struct Scenario(Folder);

impl Scenario {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("command-{name}"));
        let scenario = "duration = \"60 s\"\n[links.satellite]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[[flows]]\npath = \
            [\"server\", \"satellite\", \"user\"]\ntraffic = { kind = \"bulk\" }\n";
        folder.write("a.toml", scenario);
        Self(folder)
    }

    fn skyhop(&self, options: &[&str], line: &str) -> Command {
        // Under nohup, or in the background of a shell, this test ignores signals, and so would what it starts.
        let mut skyhop = Command::new("env");
        skyhop.args(["--default-signal=HUP,INT,QUIT,TERM", SKYHOP]);
        skyhop.current_dir(self.0.path()).args(["emulate", "a.toml", "--quiet"]).args(options);
        skyhop.args(["--", "sh", "-c", line]).stdin(Stdio::null());
        skyhop
    }

    fn summary(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.0.path().join("out/summary.json")).unwrap()).unwrap()
    }
}

/// The reason why these tests are impossible here, if there is one.
fn cannot(python: bool) -> Option<String> {
    if python && !Command::new("python3").arg("--version").output().is_ok_and(|out| out.status.success()) {
        return Some("there is no python3".into());
    }
    let out = Scenario::new("probe").skyhop(&[], "true").output().unwrap();
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    let lacks = ["network namespaces, which need", "/dev/net/tun", "cannot make", "cannot open"];
    (!out.status.success() && lacks.iter().any(|lack| told.contains(lack))).then_some(told)
}

macro_rules! needs {
    (hosts) => { needs!(@ false) };
    (terminals) => { needs!(@ true) };
    (@ $python:expr) => {
        if let Some(why) = cannot($python) {
            println!("skipped: {why}");
            return;
        }
    };
}

/// A Python program that runs another one in a terminal: after each expected output it types a given text; it prints all output,
/// and the exit code.
const TERMINAL: &str = r#"
import os, pty, sys, select, time
steps = [step.split("=>", 1) for step in sys.argv[1].split("\n")]
pid, fd = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", sys.argv[2]])
seen, begun = b"", time.time()
while time.time() - begun < 40:
    if steps and steps[0][0].encode() in seen:
        expected, told = steps.pop(0)
        seen = seen[seen.index(expected.encode()) + len(expected):]
        time.sleep(0.3)
        os.write(fd, told.encode().decode("unicode_escape").encode())
    if select.select([fd], [], [], 0.05)[0]:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        sys.stdout.write(data.decode(errors="replace"))
        seen += data
else:
    os.kill(pid, 9)
    print("TOO LONG")
print("CODE", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// The output of a command line in a terminal in which `steps` are typed.
fn terminal(folder: &Scenario, steps: &[(&str, &str)], line: &str) -> String {
    let steps: Vec<String> = steps.iter().map(|(seen, typed)| format!("{seen}=>{typed}")).collect();
    let mut python = Command::new("python3");
    python
        .current_dir(folder.0.path())
        .args(["-c", TERMINAL, &steps.join("\n"), line])
        .env("SHELL", "/bin/bash");
    python.env("PS1", "").stdin(Stdio::null());
    String::from_utf8_lossy(&python.output().unwrap().stdout).into_owned()
}

#[test]
fn a_command_that_handles_ctrl_c_ends_by_itself_and_a_second_one_ends_others() {
    needs!(terminals);
    let folder = Scenario::new("ctrl-c");
    let emulate = format!("{SKYHOP} emulate a.toml --quiet -- sh -c");
    let handles = "trap \"sleep 4; echo handled; exit 5\" INT; echo ready; while :; do sleep 0.1; done";
    let text = terminal(&folder, &[("ready", "\\x03")], &format!("exec {emulate} '{handles}'"));
    assert!(text.contains("handled") && text.contains("CODE 5"), "{text}");
    let began = Instant::now();
    let ignores = "trap \"\" INT; echo ready; sleep 60; echo slept";
    let steps = [("ready", "\\x03"), ("^C", "\\x03")];
    let text = terminal(&folder, &steps, &format!("exec {emulate} '{ignores}'"));
    assert!(text.contains("CODE 137") && began.elapsed() < Duration::from_secs(20), "{text}");
}

#[test]
fn a_shell_has_jobs_and_the_terminal_comes_back() {
    needs!(terminals);
    if !std::path::Path::new("/bin/bash").exists() {
        println!("skipped: there is no /bin/bash");
        return;
    }
    let folder = Scenario::new("shell");
    // A shell that runs a script has no terminal of its own to take back.
    let line = format!(
        "echo ready; {SKYHOP} emulate a.toml --quiet --shell; echo back; read typed; echo got-$typed"
    );
    let steps = [
        ("ready", "sleep 50 & jobs; echo in-$((40+2))\\n"),
        ("in-42", "kill %1; sleep 30\\n"),
        ("sleep 30", "\\x03"),
        ("^C", "echo still-$((40+3)); exit\\n"),
        ("back", "it\\n"),
    ];
    let text = terminal(&folder, &steps, &line);
    assert!(!text.contains("cannot set terminal") && !text.contains("no job control"), "{text}");
    assert!(text.contains("Running") && text.contains("still-43"), "{text}");
    assert!(text.contains("got-it") && text.contains("CODE 0"), "{text}");
}

fn started(skyhop: Command) -> Child {
    begun(skyhop).0
}

/// A command that runs, and its output until it is ready.
fn begun(mut skyhop: Command) -> (Child, String) {
    let mut child = skyhop.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"ready\n") {
        assert_eq!(child.stdout.as_mut().unwrap().read(&mut byte).unwrap(), 1);
        text.push(byte[0]);
    }
    (child, String::from_utf8_lossy(&text).into_owned())
}

/// Waits until a condition holds, for half a minute at most.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

fn ended(child: Child) -> (Option<i32>, String) {
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned())
}

#[test]
fn who_ends_skyhop_ends_the_command_which_may_end_by_itself() {
    needs!(hosts);
    let folder = Scenario::new("term");
    for (sent, name) in [("-TERM", "TERM"), ("-HUP", "TERM"), ("-INT", "INT")] {
        let line = format!("trap 'echo told; exit 6' {name}; echo ready; while :; do sleep 0.1; done");
        let child = started(folder.skyhop(&[], &line));
        signal(&child, sent);
        assert_eq!(ended(child), (Some(6), "told\n".into()), "{sent}");
    }
    let child = started(folder.skyhop(&[], "trap '' TERM; echo ready; while :; do sleep 1; done"));
    let began = Instant::now();
    signal(&child, "-TERM");
    assert_eq!(ended(child).0, Some(137));
    assert!(began.elapsed() > Duration::from_secs(4) && began.elapsed() < Duration::from_secs(40));
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    needs!(hosts);
    let folder = Scenario::new("nohup");
    // It goes on until this test says so.
    let line =
        "grep SigIgn /proc/self/status; echo ready; while ! [ -e enough ]; do sleep 0.1; done; echo done";
    let mut nohup = Command::new("sh");
    nohup.current_dir(folder.0.path()).stdin(Stdio::null());
    nohup.args(["-c", "trap '' HUP; exec \"$0\" emulate a.toml --quiet -- sh -c \"$1\"", SKYHOP, line]);
    let (child, mut text) = begun(nohup);
    signal(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(700));
    folder.0.write("enough", "");
    let (code, rest) = ended(child);
    text += &rest;
    assert_eq!(code, Some(0), "{text}");
    let mask = text.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    assert_eq!(u64::from_str_radix(mask, 16).unwrap() & 1, 1, "{text}");
    assert!(text.ends_with("done\n"), "{text}");
    // A simulation under nohup as well.
    fs::write(
        folder.0.path().join("long.toml"),
        fs::read_to_string(folder.0.path().join("a.toml")).unwrap().replace("60 s", "60 h"),
    )
    .unwrap();
    let mut nohup = Command::new("sh");
    nohup.current_dir(folder.0.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = nohup.args(["-c", "trap '' HUP; exec \"$0\" run long.toml", SKYHOP]).spawn().unwrap();
    // Before that the shell may not have heard of the signal that it is to ignore.
    let runs = format!("/proc/{}/exe", child.id());
    until("a simulation", || fs::read_link(&runs).is_ok_and(|exe| exe.ends_with("skyhop")));
    signal(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none(), "it goes on");
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn the_summary_says_what_the_hosts_have() {
    needs!(terminals);
    let folder = Scenario::new("summary");
    let options = ["--out", "out", "--sysctl", "net.ipv4.tcp_congestion_control=reno"];
    // One frame of ten datagrams to an address of nobody.
    let program = "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(17, 103, 1000); \
        s.sendto(bytes(10000), (\"10.9.9.9\", 9))'; for n in $(seq 100); do sleep 0.1; \
        awk '/sky0:/ && $10 > 10000 { seen = 1 } END { exit !seen }' /proc/net/dev && break; done; sleep 0.3";
    let out = folder.skyhop(&options, program).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let emulation = &folder.summary()["emulation"];
    assert_eq!(emulation["tcp_congestion_control"], "reno");
    assert_eq!(emulation["hosts"]["user"]["elsewhere_packets"], 10, "{emulation}");
}

#[test]
fn sockets_of_other_users_are_no_emulations() {
    needs!(terminals);
    // Only root can be another user too.
    if fs::read_to_string("/proc/self/status").unwrap().lines().all(|line| !line.starts_with("Uid:\t0\t")) {
        println!("skipped: this is not root");
        return;
    }
    let folder = Scenario::new("users");
    let fake = "import os, socket, time; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.bind(\"\\0skyhop-emulate-1\"); \
        s.listen(); print(\"ready\", flush=True); time.sleep(120)";
    let mut python = Command::new("python3");
    python.args(["-c", fake]);
    let mut fake = started(python);
    let child = started(folder.skyhop(&[], "echo ready; while ! [ -e enough ]; do sleep 0.1; done"));
    let before = Instant::now();
    // Other tests emulate here too: none of them is number 1.
    let set = Command::new(SKYHOP).args(["emulate", "set", "links.none.delay=1 ms"]).output().unwrap();
    let told = String::from_utf8_lossy(&set.stderr).into_owned();
    assert!(!told.contains("--pid: 1,") && before.elapsed() < Duration::from_secs(20), "{told}");
    assert!(
        told.contains("did you mean") || told.contains("emulations run") || told.contains("\"none\""),
        "{told}"
    );
    let _ = fake.kill();
    let _ = fake.wait();
    folder.0.write("enough", "");
    assert_eq!(ended(child).0, Some(0));
}
