//! A hub and a terminal of `skyhop gateway` on loopback, with real programs' sockets at both ends.
//!
//! Differs from bench/gateway.py, which has a satellite, a firewall and a kernel's routes in between, and needs root.

#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

pub const SKYHOP: &str = env!("CARGO_BIN_EXE_skyhop");

/// Time for what takes a second at most on an idle machine, or `silence`.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A folder that goes with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skyhop-gateway-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A gateway that ends with the test.
pub struct Running(pub Child);

impl Running {
    pub fn start(folder: &Path, file: &str) -> Self {
        Self::command(folder, file, &["gateway", "run", file])
    }

    pub fn command(folder: &Path, file: &str, words: &[&str]) -> Self {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join(format!("{file}.log")))
            .unwrap();
        let mut command = Command::new(SKYHOP);
        command.args(words).current_dir(folder).stderr(log).stdout(Stdio::null());
        Running(command.spawn().unwrap())
    }

    pub fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }

    pub fn wait(&mut self, most: Duration) -> Option<i32> {
        let until = Instant::now() + most;
        while Instant::now() < until {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn skyhop(folder: &Path, args: &[&str]) -> Output {
    Command::new(SKYHOP).args(args).current_dir(folder).output().unwrap()
}

/// A port that is free, and that no outgoing connection gets: those are above 32,767.
pub fn free_port(udp: bool) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let port =
            10_000 + (std::process::id() % 64) as u16 * 320 + NEXT.fetch_add(1, Ordering::Relaxed) % 320;
        let any = (Ipv4Addr::LOCALHOST, port);
        if if udp { UdpSocket::bind(any).is_ok() } else { TcpListener::bind(any).is_ok() } {
            return port;
        }
    }
}

/// A hub and a terminal with a SOCKS5 proxy, and a port that leads to a server.
pub struct Lab {
    pub folder: Folder,
    pub socks: u16,
    pub forward: u16,
    pub hub_metrics: u16,
    pub metrics: u16,
    pub server: TcpListener,
    pub hub: Running,
    pub terminal: Running,
}

impl Lab {
    pub fn new(name: &str) -> Self {
        Self::with(name, "allow = [\"127.0.0.0/8\"]\n")
    }

    /// With these lines in the hub's file.
    pub fn with(name: &str, hub_lines: &str) -> Self {
        Self::with_rate(name, hub_lines, "")
    }

    /// With these lines in the files of both. A busy machine may not run a process for seconds.
    pub fn with_rate(name: &str, hub_lines: &str, lines: &str) -> Self {
        Self::with_silence(name, hub_lines, lines, "20 s")
    }

    /// With gateways that soon notice that the other one is gone.
    pub fn impatient(name: &str, hub_lines: &str) -> Self {
        Self::with_silence(name, &format!("allow = [\"127.0.0.0/8\"]\n{hub_lines}"), "", "5 s")
    }

    pub fn with_silence(name: &str, hub_lines: &str, lines: &str, silence: &str) -> Self {
        let folder = Folder::new(name);
        let at = &folder.0;
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let [socks, forward, hub_metrics, metrics] = [(); 4].map(|()| free_port(false));
        let hub_port = free_port(true);
        let made = skyhop(at, &["gateway", "new", "hub.toml"]);
        assert!(made.status.success(), "{made:?}");
        let hub_at = format!("127.0.0.1:{hub_port}");
        let added = skyhop(at, &["gateway", "add", "home", "--hub", "hub.toml", "--at", &hub_at]);
        assert!(added.status.success(), "{added:?}");
        let text = fs::read_to_string(at.join("hub.toml")).unwrap();
        let text = text.replace("127.0.0.1:9464", &format!("127.0.0.1:{hub_metrics}"));
        let (head, tail) = text.split_once("\n[").unwrap();
        let head = without_memory(head, hub_lines);
        let text = format!(
            "{head}\nlisten = \"{hub_at}\"\nsilence = \"{silence}\"\nconnect_timeout = \"2 s\"\n{hub_lines}\n[{tail}"
        );
        fs::write(at.join("hub.toml"), text).unwrap();
        let text = fs::read_to_string(at.join("home.toml")).unwrap();
        let text = text
            .replace("127.0.0.1:9465", &format!("127.0.0.1:{metrics}"))
            .replace("127.0.0.1:1080", &format!("127.0.0.1:{socks}"));
        let to = server.local_addr().unwrap();
        let (head, tail) = text.split_once("\n[").unwrap();
        let head = without_memory(head, lines);
        let text = format!(
            "{head}\nsilence = \"{silence}\"\n{lines}\n[{tail}\n[[forward]]\nlisten = \"127.0.0.1:{forward}\"\nto = \"{to}\"\n"
        );
        fs::write(at.join("home.toml"), text).unwrap();
        let hub = Running::start(at, "hub.toml");
        let terminal = Running::start(at, "home.toml");
        let lab = Lab { folder, socks, forward, hub_metrics, metrics, server, hub, terminal };
        lab.wait_until_up();
        lab
    }

    pub fn wait_until_up(&self) {
        self.wait(|lab| lab.status().contains("\"up\": true"), "no association");
    }

    pub fn wait(&self, mut true_of: impl FnMut(&Self) -> bool, what: &str) {
        let until = Instant::now() + PATIENCE;
        while !true_of(self) {
            assert!(Instant::now() < until, "{what}: {}{}", self.log("hub.toml"), self.log("home.toml"));
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn log(&self, file: &str) -> String {
        fs::read_to_string(self.folder.0.join(format!("{file}.log"))).unwrap_or_default()
    }

    pub fn get(&self, port: u16, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return String::new() };
        let mut text = String::new();
        let _ = write!(stream, "GET {path} HTTP/1.1\r\n\r\n");
        let _ = stream.read_to_string(&mut text);
        text
    }

    pub fn status(&self) -> String {
        self.get(self.metrics, "/status")
    }

    /// Connections that the terminal and the hub have.
    pub fn connections(&self) -> (u64, u64) {
        let of = |port| {
            let text = self.get(port, "/metrics");
            let line = text.lines().find(|line| line.starts_with("skyhop_gateway_connections "));
            line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(u64::MAX)
        };
        (of(self.metrics), of(self.hub_metrics))
    }

    /// A connection by the forwarded port: the client's and the server's end.
    pub fn pair(&self) -> (TcpStream, TcpStream) {
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, self.forward)).unwrap();
        // The far end is opened with the first data or without; both ends are there when the server has accepted.
        client.write_all(b"!").unwrap();
        let mut server = self.accept();
        let mut first = [0];
        server.read_exact(&mut first).unwrap();
        for stream in [&client, &server] {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        }
        (client, server)
    }

    /// The server's end of the next connection; with the gateways' logs if there is none.
    pub fn accept(&self) -> TcpStream {
        self.server.set_nonblocking(true).unwrap();
        let mut accepted = None;
        self.wait(
            |lab| {
                accepted = lab.server.accept().ok();
                accepted.is_some()
            },
            "no connection at the server",
        );
        self.server.set_nonblocking(false).unwrap();
        let (stream, _) = accepted.unwrap();
        stream.set_nonblocking(false).unwrap();
        stream
    }

    pub fn ask_socks(&self, request: &[u8]) -> (TcpStream, [u8; 10]) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.socks)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(&[5, 1, 0]).unwrap();
        let mut chosen = [0; 2];
        stream.read_exact(&mut chosen).unwrap();
        assert_eq!(chosen, [5, 0]);
        stream.write_all(request).unwrap();
        let mut reply = [0; 10];
        stream.read_exact(&mut reply).unwrap();
        (stream, reply)
    }

    pub fn socks_to(&self, to: SocketAddr) -> (TcpStream, [u8; 10]) {
        let SocketAddr::V4(to) = to else { panic!("IPv4 only") };
        let mut request = vec![5, 1, 0, 1];
        request.extend(to.ip().octets());
        request.extend(to.port().to_be_bytes());
        self.ask_socks(&request)
    }
}

/// A file without its `memory`, if the lines to be added have one.
fn without_memory(head: &str, lines: &str) -> String {
    let kept = |line: &&str| !(line.starts_with("memory") && lines.contains("memory"));
    head.lines().filter(kept).collect::<Vec<_>>().join("\n")
}

/// Bytes that tell where they belong.
pub fn content(len: usize, salt: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0] ^ salt).collect()
}

/// Writes all of it in a thread, and ends this direction.
pub fn send(mut to: TcpStream, data: Vec<u8>) -> thread::JoinHandle<io::Result<()>> {
    thread::spawn(move || {
        to.write_all(&data)?;
        to.shutdown(Shutdown::Write)
    })
}

pub fn read_all(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    from.read_to_end(&mut data)?;
    Ok(data)
}

/// The end of a stream that is read until there is nothing more: its bytes, and whether it was reset.
pub fn read_to_any_end(mut from: TcpStream) -> Receiver<(usize, bool)> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let (mut all, mut buffer) = (0, vec![0; 65_536]);
        let reset = loop {
            match from.read(&mut buffer) {
                Ok(0) => break false,
                Ok(read) => all += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => break e.kind() == io::ErrorKind::ConnectionReset,
            }
        };
        tell.send((all, reset))
    });
    told
}
