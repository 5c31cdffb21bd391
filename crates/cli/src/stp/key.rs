//! `skyhop stp key`: creates keys for hosts.
//!
//! Follows docs/stp-hosts.md; the keys are Noise's.
//! Differs from ssh-keygen: no passphrase.
//! Leaves out certificates.

use crate::failure::Failure;
use clap::Args;
use skyhop_live::keys::{KeyError, Keys};
use std::io::{self, Write};
use std::path::PathBuf;

/// `skyhop stp key`.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// File to create.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Create a key for this host alone, with its public key in FILE.pub.
    #[arg(long)]
    pub pair: bool,
}

/// Runs the command.
pub fn run(args: &KeyArgs) -> Result<(), Failure> {
    let failed = |e: KeyError| match &e {
        KeyError::Io(_, io) if io.kind() == io::ErrorKind::AlreadyExists => Failure::Scenario(e.to_string()),
        _ => Failure::Run(e.to_string()),
    };
    if !args.pair {
        Keys::generate_shared().write(&args.out).map_err(failed)?;
        return crate::command::print(&format!(
            "{}: a shared key; copy the file to the other host by a secure channel\n",
            args.out.display()
        ));
    }
    let mut path = args.out.clone().into_os_string();
    path.push(".pub");
    let path = PathBuf::from(path);
    let (keys, public) = Keys::generate_pair();
    // The public key is written first: without it the private one is useless.
    let written = std::fs::File::create_new(&path).and_then(|mut file| writeln!(file, "{public}"));
    written.map_err(|e| failed(KeyError::Io(path.clone(), e)))?;
    if let Err(e) = keys.write(&args.out) {
        let _ = std::fs::remove_file(&path);
        return Err(failed(e));
    }
    crate::command::print(&format!(
        "{}: this host's private key; do not copy it\n{}: its public key, for --peer of other hosts\n",
        args.out.display(),
        path.display()
    ))
}
