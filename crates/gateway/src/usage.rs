//! The file, beside a hub's own, in which it keeps what its terminals have used of their quotas.
//!
//! Follows docs/gateway.md: JSON, written once a minute and at the end, by renaming, so that it is never half written.
//! Differs from a log: it says how much, and nothing of when and what for.
//! Leaves out locking: a hub's socket keeps a second hub from running.

use crate::quotas::Quotas;
use skyhop_units::{Span, Time};
use std::io;
use std::path::{Path, PathBuf};

/// Between two times that it is written.
const PERIOD: Span = Span::from_secs(60);

/// The file.
#[derive(Debug)]
pub struct UsageFile {
    path: PathBuf,
    written: (Time, Quotas),
}

impl UsageFile {
    /// Where it is: beside the hub's own, or in the folder that systemd has for it.
    pub fn place(config: &Path) -> PathBuf {
        let beside = config.with_extension("usage");
        match (std::env::var_os("STATE_DIRECTORY"), beside.file_name()) {
            (Some(folder), Some(name)) => Path::new(&folder).join(name),
            _ => beside,
        }
    }

    /// The file at this place; what it says of terminals goes to `quotas`.
    ///
    /// # Errors
    ///
    /// It is there and is not understood. To begin with nothing used, it is deleted.
    pub fn open(path: PathBuf, now: Time, quotas: &mut Quotas) -> io::Result<Self> {
        match std::fs::read_to_string(&path) {
            Ok(text) => *quotas = serde_json::from_str(&text).map_err(io::Error::other)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        Ok(UsageFile { path, written: (now, quotas.clone()) })
    }

    /// The path of a hub's.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it if it is time, or at the end.
    pub fn write(&mut self, now: Time, quotas: &Quotas, at_end: bool) -> io::Result<()> {
        let due = at_end || now.since(self.written.0) >= PERIOD;
        if !due || self.written.1 == *quotas {
            return Ok(());
        }
        // What cannot be written now is not tried at each turn.
        self.written = (now, quotas.clone());
        let part = self.path.with_extension("usage-part");
        std::fs::write(&part, serde_json::to_string_pretty(quotas).map_err(io::Error::other)?)?;
        std::fs::rename(&part, &self.path)
    }
}
