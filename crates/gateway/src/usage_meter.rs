//! The count of what terminals and users have used of their quotas, once a second.
//!
//! Follows docs/gateway.md for quotas: their periods are of the wall's clock. Leaves out the sums (`quotas`), and the file (`usage`).

use crate::daemon_clock::DaemonClock;
use crate::gateway::Gateway;
use crate::usage::UsageFile;
use skyhop_units::{Span, Time};
use std::path::Path;

/// The interval between counts.
const PERIOD: Span = Span::from_secs(1);

/// The meter.
#[derive(Debug, Default)]
pub struct UsageMeter {
    /// The file, if any terminal or user has a quota.
    file: Option<UsageFile>,
    counted_at: Time,
}

impl UsageMeter {
    /// Reads the usage, if the configuration, which is in the file `path`, has quotas.
    pub fn open(&mut self, clock: DaemonClock, path: &Path, gateway: &mut Gateway) -> Result<(), String> {
        let config = &gateway.core.config;
        let of_terminals = config.terminals.values().any(|terminal| terminal.quota.is_some());
        let of_users = config.users.iter().any(|users| users.quota.is_some());
        if self.file.is_some() || !(of_terminals || of_users) {
            return Ok(());
        }
        let path = UsageFile::place(path);
        let opened = UsageFile::open(path.clone(), clock.now(), gateway.quotas_mut());
        self.file = Some(opened.map_err(|e| format!("{}: {e}", path.display()))?);
        Ok(())
    }

    /// Counts the bytes that associations and users' connections have carried, if it is time or `at_end`, and saves the usage
    /// periodically. The error is that it could not be saved.
    pub fn count(&mut self, clock: DaemonClock, gateway: &mut Gateway, at_end: bool) -> Result<(), String> {
        let now = clock.now();
        let Some(file) = &mut self.file else { return Ok(()) };
        if !at_end && now.since(self.counted_at) < PERIOD {
            return Ok(());
        }
        self.counted_at = now;
        let wall = clock.wall_s();
        gateway.core.links.count(wall);
        gateway.users.quotas.count(wall, &gateway.core.config.users);
        let written = file.write(now, gateway.quotas(), at_end);
        written.map_err(|e| format!("{}: {e}", file.path().display()))
    }
}
