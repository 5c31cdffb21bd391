//! Hosts that speak STP: a serving process, and a folder with files and a key.
//!
//! Shared by the tests of `skyhop stp`.

#![allow(dead_code, reason = "each test file uses a part")]

use crate::common::{code, skyhop, stderr};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// A folder for the files of one test, with a folder `in` for the server; removed with it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skyhop-stp-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("in")).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// A file with pseudo-random bytes.
    pub fn file(&self, name: &str, len: usize) -> Vec<u8> {
        let data: Vec<u8> =
            (0..len as u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).take(len).collect();
        fs::write(self.0.join(name), &data).unwrap();
        data
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A serving host, until it is dropped.
pub struct Server {
    pub child: Child,
    pub address: String,
    pub log: BufReader<ChildStderr>,
}

impl Server {
    pub fn new(args: &[&str]) -> Self {
        Server::at("127.0.0.1:0", args)
    }

    /// A server at an address.
    pub fn at(listen: &str, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skyhop"));
        Server::started(command.args(["stp", "serve", "--listen", listen]).args(args))
    }

    /// A server that a command starts.
    pub fn started(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "it ends at once");
            if let Some(address) = line.trim().strip_prefix("skyhop: listening at ") {
                break address.to_owned();
            }
        };
        Server { child, address, log }
    }

    /// The next line of its log.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.log.read_line(&mut line).unwrap() > 0, "it has ended");
        line
    }

    /// Waits for its end: exit code, output and messages.
    pub fn end(mut self) -> (i32, Vec<u8>, String) {
        let (mut out, mut told) = (Vec::new(), String::new());
        self.child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
        self.log.read_to_string(&mut told).unwrap();
        (self.child.wait().unwrap().code().unwrap(), out, told)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A new shared key.
pub fn key(folder: &Folder, name: &str) -> String {
    let path = folder.path(name);
    let out = skyhop(&["stp", "key", "--out", &path]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    path
}

/// Waits until a condition holds, at most a minute.
#[expect(clippy::disallowed_methods, reason = "a process says nothing when it has written")]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}: not within a minute");
}

/// The hidden files of a folder.
pub fn hidden(dir: &str) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with('.')).collect();
    names.sort();
    names
}

/// The parts in a folder.
pub fn parts(dir: &str) -> Vec<String> {
    hidden(dir).into_iter().filter(|name| name.ends_with(".part")).collect()
}

/// Starts the command.
pub fn start(args: &[&str]) -> Child {
    crate::common::command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends a process in order.
pub fn terminate(child: &Child) {
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
}
