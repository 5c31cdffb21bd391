//! Runs the command as a shell does: arguments in; exit code, output and errors out.
//!
//! Shared by the tests of the command, each of which starts a process.

#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skyhop"));
    command.args(args);
    command
}

pub fn skyhop(args: &[&str]) -> Output {
    command(args).output().expect("the command starts")
}

pub fn code(out: &Output) -> i32 {
    out.status.code().expect("it ends by itself")
}

pub fn stdout(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).expect("text")
}

pub fn stderr(out: &Output) -> String {
    String::from_utf8(out.stderr.clone()).expect("text")
}

pub fn path(path: &Path) -> &str {
    path.to_str().expect("a name in utf-8")
}

/// An empty folder for one test.
pub fn empty_folder(suite: &str, name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(suite).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder for files");
    dir
}
