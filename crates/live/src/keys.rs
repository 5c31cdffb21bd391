//! Key files: a key shared by two hosts, or a private key and the public keys of the peers.
//!
//! Follows ssh: a secret file that others may read is refused.
//! Differs: a file is one line of text that names its kind, so that a public key cannot be taken for a private one.
//! Leaves out passphrases: anyone who can read the file as its owner has the key.

use crate::entropy::{Entropy, SystemEntropy, noise, public_of};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// A Curve25519 public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// Parses the line of a public key file, or its digits alone.
    pub fn parse(text: &str) -> Option<Self> {
        let key = field(text, PUBLIC).or_else(|| unhex(text.trim()))?;
        Some(PublicKey(*key))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", PUBLIC, *hex(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", &hex(&self.0)[..8])
    }
}

/// Keys that authenticate a host.
#[derive(Clone)]
pub enum Keys {
    /// A key shared by both hosts.
    Shared(Zeroizing<[u8; 32]>),
    /// A private key, and the public keys of the peers. A connecting host uses the first.
    Pair {
        /// This host's private key.
        private: Zeroizing<[u8; 32]>,
        /// Peers that may communicate with this host.
        peers: Vec<PublicKey>,
    },
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Secrets must not reach a log through a struct that contains keys.
        match self {
            Keys::Shared(_) => f.write_str("Shared"),
            Keys::Pair { peers, .. } => f.debug_struct("Pair").field("peers", peers).finish_non_exhaustive(),
        }
    }
}

/// Reason for which a key file cannot be used; it never quotes the contents.
#[derive(Debug)]
pub enum KeyError {
    /// The file cannot be read or written.
    Io(PathBuf, io::Error),
    /// Users other than the owner may read the file; its mode.
    Exposed(PathBuf, u32),
    /// The file is not of the expected kind.
    Kind(PathBuf, &'static str),
    /// A pair of keys requires the peer's public key.
    NoPeer(PathBuf),
    /// A shared key does not use peers' public keys.
    NeedsNoPeer(PathBuf),
    /// A key of another role than is asked for: the key found, and the one that is wanted.
    Role(PathBuf, &'static str, &'static str),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Io(path, e) if e.kind() == io::ErrorKind::NotFound => {
                write!(
                    f,
                    "key file {} does not exist; \"skyhop stp key --out {0}\" makes one",
                    path.display()
                )
            }
            KeyError::Io(path, e) if e.kind() == io::ErrorKind::AlreadyExists => {
                write!(f, "key file {} exists and is not overwritten", path.display())
            }
            KeyError::Io(path, e) => write!(f, "key file {}: {e}", path.display()),
            KeyError::Exposed(path, mode) => write!(
                f,
                "key file {} may be read by others than its owner (mode {mode:04o}); \"chmod 600 {0}\", and make a new key if \
                 anybody may have read it",
                path.display()
            ),
            KeyError::Kind(path, wanted) => write!(f, "{} is not {wanted}", path.display()),
            KeyError::NoPeer(path) => {
                write!(f, "{} is a private key: give the other host's public key with --peer", path.display())
            }
            KeyError::NeedsNoPeer(path) => {
                write!(f, "{} is a shared key: --peer goes with a private key", path.display())
            }
            KeyError::Role(path, found, wanted) => write!(f, "{} is {found}: {wanted}", path.display()),
        }
    }
}

impl std::error::Error for KeyError {}

/// The Noise handshake for pairs of keys.
pub(crate) const PATTERN: &str = "Noise_IK_25519_ChaChaPoly_BLAKE2s";

const SHARED: &str = "skyhop-stp-shared-1";
const PRIVATE: &str = "skyhop-stp-private-1";
const PUBLIC: &str = "skyhop-stp-public-1";

impl Keys {
    /// A new shared key from the operating system's random numbers.
    pub fn generate_shared() -> Self {
        let mut key = Zeroizing::new([0; 32]);
        SystemEntropy.fill(&mut key[..]);
        Keys::Shared(key)
    }

    /// A new private key from the operating system's random numbers, and its public key; without peers.
    pub fn generate_pair() -> (Self, PublicKey) {
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let pair =
            noise(PATTERN, &entropy).generate_keypair().expect("the operating system has random numbers");
        let pair = (Zeroizing::new(pair.private), pair.public);
        let private =
            Zeroizing::new(<[u8; 32]>::try_from(&pair.0[..]).expect("Curve25519's keys have 32 bytes"));
        let public = PublicKey(pair.1.try_into().expect("Curve25519's keys have 32 bytes"));
        (Keys::Pair { private, peers: Vec::new() }, public)
    }

    /// Reads a file with a shared or private key, and for a private key the files of the peers' public keys.
    pub fn read(path: &Path, peers: &[PathBuf]) -> Result<Self, KeyError> {
        let text = read_secret(path)?;
        if let Some(key) = field(&text, SHARED) {
            return if peers.is_empty() {
                Ok(Keys::Shared(key))
            } else {
                Err(KeyError::NeedsNoPeer(path.into()))
            };
        }
        let Some(private) = field(&text, PRIVATE) else {
            return Err(not_secret(path, &text, "the file of a shared or a private key"));
        };
        let own = PublicKey(public_of(&private));
        let mut known = Vec::new();
        for peer in peers {
            let text = fs::read_to_string(peer).map_err(|e| KeyError::Io(peer.clone(), e))?;
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
            {
                let key = PublicKey(*field(line, PUBLIC).ok_or_else(|| not_public(peer, line))?);
                if key == own {
                    let wanted = "--peer takes the other host's";
                    return Err(KeyError::Role(peer.clone(), "this host's own public key", wanted));
                }
                known.push(key);
            }
        }
        if known.is_empty() {
            return Err(KeyError::NoPeer(path.into()));
        }
        Ok(Keys::Pair { private, peers: known })
    }

    /// Reads a file with a private key; the public keys of the peers, perhaps none, are given.
    pub fn read_own(path: &Path, peers: Vec<PublicKey>) -> Result<Self, KeyError> {
        let text = read_secret(path)?;
        let private =
            field(&text, PRIVATE).ok_or_else(|| not_secret(path, &text, "the file of a private key"))?;
        Ok(Keys::Pair { private, peers })
    }

    /// Writes the secret into a new file that only its owner may read.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        let (kind, key) = match self {
            Keys::Shared(key) => (SHARED, key),
            Keys::Pair { private, .. } => (PRIVATE, private),
        };
        let line = Zeroizing::new(format!("{kind} {}\n", *hex(&key[..])));
        let written = create_secret(path).and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|e| KeyError::Io(path.into(), e))
    }
}

fn not_secret(path: &Path, text: &str, wanted: &'static str) -> KeyError {
    if field(text, PUBLIC).is_none() {
        return KeyError::Kind(path.into(), wanted);
    }
    KeyError::Role(path.into(), "a public key", "--key takes a shared key or this host's private key")
}

fn not_public(path: &Path, line: &str) -> KeyError {
    if field(line, PRIVATE).is_some() {
        return KeyError::Role(path.into(), "a private key", "--peer takes the public key of that host");
    }
    if field(line, SHARED).is_some() {
        return KeyError::Role(
            path.into(),
            "a shared key",
            "it goes with --key on both hosts, without --peer",
        );
    }
    KeyError::Kind(path.into(), "a file of public keys")
}

/// Creates a new file that only its owner may read.
pub fn create_secret(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn read_secret(path: &Path) -> Result<Zeroizing<String>, KeyError> {
    use std::io::Read;
    let failed = |e| KeyError::Io(path.into(), e);
    let mut file = fs::File::open(path).map_err(failed)?;
    let mut text = Zeroizing::new(String::new());
    Read::by_ref(&mut file).take(4096).read_to_string(&mut text).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Of the open file, which cannot be replaced before it is read.
        let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
        // A public key in the place of a secret has its own message.
        if mode & 0o077 != 0 && field(&text, PUBLIC).is_none() {
            return Err(KeyError::Exposed(path.into(), mode));
        }
    }
    Ok(text)
}

/// The 32 bytes of a line `kind hex`; `None` if it is another.
fn field(text: &str, kind: &str) -> Option<Zeroizing<[u8; 32]>> {
    let (found, digits) = text.trim().split_once(' ')?;
    if found != kind {
        return None;
    }
    unhex(digits.trim())
}

/// The 32 bytes of 64 hexadecimal digits; `None` for other text.
pub(crate) fn unhex(digits: &str) -> Option<Zeroizing<[u8; 32]>> {
    let digits = digits.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut key = Zeroizing::new([0; 32]);
    for (byte, digits) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |d: u8| char::from(d).to_digit(16);
        *byte = (digit(digits[0])? << 4 | digit(digits[1])?) as u8;
    }
    Some(key)
}

pub(crate) fn hex(bytes: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
