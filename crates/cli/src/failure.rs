//! Why a command failed, and the exit code that says so.
//!
//! Follows the habit of compilers and grep: 2 for what was asked wrongly, 1 for what went wrong on the way.
//! Differs from one error type for all: only the kind of failure matters here, the words come from below.
//! Leaves out backtraces.

use std::io::{self, Write};

/// A failure of the command.
#[derive(Debug)]
pub enum Failure {
    /// The usage or the scenario is wrong. Each line is a mistake, but for those that are indented.
    Scenario(String),
    /// Something went wrong while running.
    Run(String),
    /// A command cannot be started; the exit code that shells have for it.
    Command(String, u8),
    /// The user has had enough.
    Interrupted,
    /// The user has had enough, and something is left of it.
    Stopped(String),
    /// Nobody reads the output any more, as in `skyhop run ... | head`.
    OutputClosed,
}

impl Failure {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Scenario(_) => 2,
            Failure::Run(_) => 1,
            Failure::Command(_, code) => *code,
            Failure::Interrupted | Failure::Stopped(_) => 130,
            Failure::OutputClosed => 0,
        }
    }

    /// Writes what went wrong.
    pub fn tell(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Failure::Scenario(message) => message.lines().try_for_each(|line| match line.starts_with(' ') {
                true => writeln!(out, "{line}"),
                false => writeln!(out, "error: {line}"),
            }),
            Failure::Run(message) | Failure::Stopped(message) | Failure::Command(message, _) => {
                writeln!(out, "error: {message}")
            }
            Failure::Interrupted => writeln!(out, "error: interrupted; nothing was written"),
            Failure::OutputClosed => Ok(()),
        }
    }
}

impl From<skyhop_scenario::Errors> for Failure {
    fn from(e: skyhop_scenario::Errors) -> Self {
        Failure::Scenario(e.to_string())
    }
}

impl From<skyhop_record::FolderError> for Failure {
    fn from(e: skyhop_record::FolderError) -> Self {
        Failure::Run(e.to_string())
    }
}
