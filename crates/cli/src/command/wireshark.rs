//! `skyhop wireshark`: installs the dissector of STP for Wireshark and tshark, and decrypts captures for it.
//!
//! Follows `tshark -G folders`, which prints the user's folder for Lua plugins on every system.
//! Differs from a package: one file inside the command, so that it matches the version that wrote the packets.
//! Leaves out removal; the file printed by `path` can be deleted.

mod decrypt;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

/// Source of the dissector.
const DISSECTOR: &str = include_str!("../wireshark/skystp.lua");
const NAME: &str = "skystp.lua";

/// `skyhop wireshark`.
#[derive(Debug, Subcommand)]
pub enum WiresharkCommand {
    /// Install the dissector into the user's folder of Lua plugins, in place of an older one.
    Install(WiresharkFolder),
    /// Print the path of the installed dissector.
    Path(WiresharkFolder),
    /// Decrypt a capture's STP with a key log into a new capture.
    #[command(after_help = DECRYPT_EXAMPLES)]
    Decrypt(decrypt::Decrypt),
}

const DECRYPT_EXAMPLES: &str = "\
Examples:
  skyhop stp send results.tar 192.0.2.7 --key link.key --key-log keys.log      while tcpdump -w capture.pcap udp port 57824 runs
  skyhop wireshark decrypt capture.pcap --keys keys.log --out plain.pcapng
  tshark -r plain.pcapng -Y skystp.retransmission

Either host's key log will do, and --keys may be given often. What cannot be opened stays as it is, and is counted.
Exit code: 0 done, 1 nothing in it opens or the disk is full, 2 wrong usage, or no capture or key log, 130 interrupted.";

/// The folder of the dissector.
#[derive(Debug, Args)]
pub struct WiresharkFolder {
    /// Folder to use, in place of the one that tshark prints.
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Runs the command.
pub fn run(what: &WiresharkCommand) -> Result<(), Failure> {
    let place = match what {
        WiresharkCommand::Install(place) | WiresharkCommand::Path(place) => place,
        WiresharkCommand::Decrypt(args) => return decrypt::run(args),
    };
    let folder = match &place.folder {
        Some(folder) => folder.clone(),
        None => personal_folder()?,
    };
    let path = folder.join(NAME);
    let shown = path.display();
    if let WiresharkCommand::Install(_) = what {
        skyhop_record::write_all(folder, &[(NAME, DISSECTOR.as_bytes())])?;
        return super::print(&format!("{shown}\n"));
    }
    match std::fs::read(&path) {
        Ok(bytes) => {
            if bytes != DISSECTOR.as_bytes() {
                eprintln!("warning: {shown} is of another version; skyhop wireshark install replaces it");
            }
            super::print(&format!("{shown}\n"))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {
            Err(Failure::Run(format!("{shown}: not installed; skyhop wireshark install puts it there")))
        }
        Err(e) => Err(Failure::Run(format!("{shown}: {e}"))),
    }
}

/// The user's folder of Lua plugins, as printed by tshark.
fn personal_folder() -> Result<PathBuf, Failure> {
    const WAY_OUT: &str = "name the folder of Lua plugins with --folder DIR";
    let out = Command::new("tshark").args(["-G", "folders"]).output().map_err(|e| {
        let why = match e.kind() {
            ErrorKind::NotFound => "tshark is not installed".into(),
            _ => format!("tshark does not start: {e}"),
        };
        Failure::Run(format!("{why}; {WAY_OUT}"))
    })?;
    let text = String::from_utf8_lossy(&out.stdout);
    let folder = text.lines().find_map(|line| line.strip_prefix("Personal Lua Plugins:")).map(str::trim);
    match folder {
        Some(folder) if !folder.is_empty() => Ok(PathBuf::from(folder)),
        _ => Err(Failure::Run(format!("tshark has no folder for Lua plugins; {WAY_OUT}"))),
    }
}
