//! Hosts of this machine: their addresses and options, and turns of tests that measure the process.

use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Options, Security};
use skyhop_units::Span;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};

/// One test at a time: memory and time are those of the process.
#[allow(dead_code, reason = "not every test measures")]
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|p| p.into_inner())
}

pub fn any() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Options with these keys, or without encryption; connections end soon.
pub fn options(keys: Option<&Keys>) -> Options {
    let mut options = Options::new(match keys {
        Some(keys) => Security::Sealed(Box::new(Config::new(keys.clone()))),
        None => Security::Insecure,
    });
    options.stp.linger = Span::from_millis(50);
    options
}
