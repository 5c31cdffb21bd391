//! `skyhop gateway new` and `add`: the files of a hub and of its terminals.
//!
//! Follows docs/gateway.md. Differs from an editor: written files are complete, and an existing file is only appended to.
//! Leaves out copying the two files to the terminal's host over a secure channel.

use crate::failure::Failure;
use clap::Args;
use skyhop_gateway::{Config, Prefix, Role};
use skyhop_live::keys::{KeyError, Keys, PublicKey};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// `skyhop gateway new`.
#[derive(Debug, Args)]
pub struct New {
    /// The hub's file; its key is written beside it.
    pub file: PathBuf,
}

/// `skyhop gateway add`.
#[derive(Debug, Args)]
pub struct Add {
    /// Name of the terminal: letters, digits and hyphens.
    pub name: String,
    /// The hub's file.
    #[arg(long, value_name = "FILE")]
    pub hub: PathBuf,
    /// Address of the hub, as the terminal reaches it.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub at: String,
    /// Device of the terminal over which users come in; may be repeated. Without it the terminal is a SOCKS5 proxy on loopback.
    #[arg(long = "interface", value_name = "DEVICE")]
    pub interfaces: Vec<String>,
    /// Addresses of the terminal's users; may be repeated. Needed if the servers are to see them.
    #[arg(long = "prefix", value_name = "PREFIX")]
    pub prefixes: Vec<Prefix>,
}

fn key_failure(e: KeyError) -> Failure {
    match &e {
        KeyError::Io(_, io) if io.kind() == io::ErrorKind::AlreadyExists => Failure::Scenario(e.to_string()),
        _ => Failure::Run(e.to_string()),
    }
}

/// Creates a file that does not exist yet.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::Scenario(format!("{} exists and is not overwritten", path.display()))
        }
        _ => Failure::Run(format!("{}: {e}", path.display())),
    })
}

/// Creates a new private key in a file of its own.
fn create_key(path: &Path) -> Result<PublicKey, Failure> {
    let (keys, public) = Keys::generate_pair();
    keys.write(path).map_err(key_failure)?;
    Ok(public)
}

/// The file of a hub's key, next to the hub's own file.
fn key_of(file: &Path) -> PathBuf {
    file.with_extension("key")
}

fn public_of(key: &Path) -> PathBuf {
    let mut path = key.as_os_str().to_owned();
    path.push(".pub");
    path.into()
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Writes a hub's files.
pub fn new(args: &New) -> Result<(), Failure> {
    let key = key_of(&args.file);
    if key == args.file {
        return Err(Failure::Scenario(format!("{}: the key would have the same name", args.file.display())));
    }
    if args.file.exists() {
        return Err(Failure::Scenario(format!("{} exists and is not overwritten", args.file.display())));
    }
    let public = create_key(&key)?;
    create(&public_of(&key), &format!("{public}\n"))?;
    create(&args.file, &HUB.replace("KEY", &name_of(&key)))?;
    crate::command::print(&format!(
        "{0}: the hub's file; \"skyhop gateway run {0}\" runs the hub\n{1}: its private key; do not copy it\n\
         next: skyhop gateway add NAME --hub {0} --at ADDRESS\n",
        args.file.display(),
        key.display(),
    ))
}

/// Adds a terminal.
pub fn add(args: &Add) -> Result<(), Failure> {
    let good = |name: &str| {
        !name.is_empty() && name.len() <= 63 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    if !good(&args.name) || args.name == "hub" {
        let message =
            format!("NAME: \"{}\": letters, digits and hyphens, at most 63, and not \"hub\"", args.name);
        return Err(Failure::Scenario(message));
    }
    let config = Config::read(&args.hub).map_err(|e| Failure::Scenario(e.to_string()))?;
    if config.role != Role::Hub {
        return Err(Failure::Scenario(format!("--hub: {} is a terminal's file", args.hub.display())));
    }
    if config.terminals.contains_key(&args.name) {
        let message = format!(
            "{}: the terminal {} exists; delete its lines to make it anew",
            args.hub.display(),
            args.name
        );
        return Err(Failure::Scenario(message));
    }
    let hub_key = public_of(&key_of(&args.hub));
    let public_key = std::fs::read_to_string(&hub_key).map_err(|e| {
        Failure::Scenario(format!(
            "{}: {e}; \"skyhop gateway new\" makes it with the hub's file",
            hub_key.display()
        ))
    })?;
    let (file, key) =
        (PathBuf::from(format!("{}.toml", args.name)), PathBuf::from(format!("{}.key", args.name)));
    if let Some(exists) = [&file, &key].into_iter().find(|path| path.exists()) {
        return Err(Failure::Scenario(format!("{} exists and is not overwritten", exists.display())));
    }
    let public = create_key(&key)?;
    let users = if args.interfaces.is_empty() {
        SOCKS.to_owned()
    } else {
        let names: Vec<String> = args.interfaces.iter().map(|name| format!("\"{name}\"")).collect();
        INTERCEPT.replace("INTERFACES", &names.join(", "))
    };
    let text = TERMINAL
        .replace("HUB_KEY", public_key.trim())
        .replace("ADDRESS", &args.at)
        .replace("NAME", &args.name)
        .replace("USERS", &users);
    create(&file, &text)?;
    Config::read(&file).map_err(|e| {
        let _ = std::fs::remove_file(&file);
        let _ = std::fs::remove_file(&key);
        Failure::Scenario(e.to_string())
    })?;
    let prefixes: Vec<String> = args.prefixes.iter().map(|prefix| format!("\"{prefix}\"")).collect();
    let entry =
        format!("\n[terminals.{}]\nkey = \"{public}\"\nprefixes = [{}]\n", args.name, prefixes.join(", "));
    let added =
        OpenOptions::new().append(true).open(&args.hub).and_then(|mut hub| hub.write_all(entry.as_bytes()));
    added.map_err(|e| Failure::Run(format!("{}: {e}", args.hub.display())))?;
    crate::command::print(&format!(
        "{}: terminal {} added; a running hub reads it on SIGHUP\n\
         {}, {}: copy both to the terminal by a secure channel, and run \"skyhop gateway run {}\" there\n",
        args.hub.display(),
        args.name,
        file.display(),
        key.display(),
        file.display(),
    ))
}

const HUB: &str = "\
# A hub of skyhop: connects to servers for the users of its terminals. docs/gateway.md has all keys.
role = \"hub\"
key = \"KEY\"
# rate = \"50 Mbit/s\"           # the most that leaves for all terminals together; without it the rate is learnt
# promised = true              # that rate is the link's, whatever is lost
memory = \"64 MB\"              # for each terminal, each way; 250 Mbit/s at 600 ms need 38 MB
metrics = \"127.0.0.1:9464\"
# source = \"client\"            # servers see the users' addresses, if what is sent to those comes by this host
# allow = [\"10.0.0.1/32\"]      # of this host's own and special addresses, those that may be connected to
";

const TERMINAL: &str = "\
# The terminal NAME: carries its users' TCP connections to the hub. docs/gateway.md has all keys.
role = \"terminal\"
hub = \"ADDRESS\"
hub_key = \"HUB_KEY\"
key = \"NAME.key\"
# rate = \"3 Mbit/s\"            # the most that leaves for the hub; without it the rate is learnt
memory = \"64 MB\"
metrics = \"127.0.0.1:9465\"

USERS";

const SOCKS: &str = "\
[socks]
listen = \"127.0.0.1:1080\"
";

const INTERCEPT: &str = "\
[intercept]
interfaces = [INTERFACES]
fail = \"open\"                 # without the link new connections pass unsplit; \"closed\": they are refused
quic = \"pass\"                 # \"refuse\": browsers fall back to TCP, which is split
";
