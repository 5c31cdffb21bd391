//! The file, beside the configuration, of the usage of quotas: by terminals of a hub, or by users of other gateways.
//!
//! Follows docs/gateway.md: JSON, written once a minute and at the end, by renaming, so that it is never half written.
//! Differs from a log: it has amounts only, without times and destinations.
//! Leaves out locking: the hub's socket prevents a second hub from running; and counting (`usage_meter`).

use crate::quotas::Quotas;
use skyhop_units::{Span, Time};
use std::io;
use std::path::{Path, PathBuf};

/// The interval between writes.
const PERIOD: Span = Span::from_secs(60);

/// The file.
#[derive(Debug)]
pub struct UsageFile {
    path: PathBuf,
    written: (Time, Quotas),
}

impl UsageFile {
    /// The path of the file: beside the hub's configuration, or in the folder that systemd provides.
    pub fn place(config: &Path) -> PathBuf {
        let beside = config.with_extension("usage");
        match (std::env::var_os("STATE_DIRECTORY"), beside.file_name()) {
            (Some(folder), Some(name)) => Path::new(&folder).join(name),
            _ => beside,
        }
    }

    /// Reads the file at this path, and sets the usage in `quotas`.
    ///
    /// # Errors
    ///
    /// The file exists and cannot be parsed. Deleting it resets the usage.
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

    /// Writes the file if the interval has passed, or at the end.
    pub fn write(&mut self, now: Time, quotas: &Quotas, at_end: bool) -> io::Result<()> {
        let due = at_end || now.since(self.written.0) >= PERIOD;
        if !due || self.written.1 == *quotas {
            return Ok(());
        }
        // After a failed write the next attempt is at the next interval.
        self.written = (now, quotas.clone());
        let part = self.path.with_extension("usage-part");
        std::fs::write(&part, serde_json::to_string_pretty(quotas).map_err(io::Error::other)?)?;
        std::fs::rename(&part, &self.path)
    }
}
