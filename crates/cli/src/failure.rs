//! The failure of a command, and its exit code.
//!
//! Follows compilers and grep: exit code 2 for wrong input, 1 for errors during execution.
//! Differs from one error type for all: only the kind of failure matters here; messages come from the libraries.
//! Leaves out backtraces.

use skyhop_emulate::Error as EmulateError;
use std::io::{self, Write};

/// A failure of the command.
#[derive(Debug)]
pub enum Failure {
    /// The usage or the scenario is wrong. Each line is a mistake, except indented ones.
    Scenario(String),
    /// An error during execution.
    Run(String),
    /// A program cannot be started; the exit code is that of shells.
    Command(String, u8),
    /// The user has interrupted the command.
    Interrupted,
    /// The user has interrupted the command, and some of its results exist.
    Stopped(String),
    /// The reader of the output has closed it, as in `skyhop run ... | head`.
    OutputClosed,
}

impl From<EmulateError> for Failure {
    fn from(why: EmulateError) -> Self {
        match why {
            EmulateError::Refused(message) => Failure::Scenario(message),
            // The option named something that does not exist.
            EmulateError::Scenario(option, message) => Failure::Scenario(format!("{option}: {message}")),
            EmulateError::Command(message, code) => Failure::Command(message, code),
            why => Failure::Run(why.to_string()),
        }
    }
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

    /// Prints the failure.
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
