//! Reading and writing of whole files.
//!
//! A file that cannot be read is the user's mistake; one that cannot be written is a failure of the system.
//! Differs from `std::fs`: sizes are limited before a file is read.
//! Leaves out results folders, which appear completely or not at all.

use super::reason;
use crate::failure::Failure;
use std::fs;
use std::path::Path;

/// Writes a file, or prints to standard output without one.
pub fn write_or_print(out: Option<&Path>, text: &str) -> Result<(), Failure> {
    match out {
        None => super::print(text),
        Some(file) => write(file, text.as_bytes()),
    }
}

/// Writes a whole file atomically: an existing one is unchanged until the new one is complete.
pub fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = match fs::symlink_metadata(file) {
        // Anything but a plain file (a pipe, a device, a symbolic link) cannot be replaced by renaming.
        Ok(there) if !there.is_file() => fs::write(file, bytes),
        _ => {
            let mut beside = file.as_os_str().to_owned();
            beside.push(".part");
            fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, file)).inspect_err(|_| {
                let _ = fs::remove_file(&beside);
            })
        }
    };
    written.map_err(|e| Failure::Run(format!("cannot write {}: {}", file.display(), reason(&e))))
}

/// The contents of a file of limited size.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let name = file.display();
    let refuse = |what: String| Failure::Scenario(format!("{name}: {what}"));
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => return Err(refuse("is a directory, not a file".into())),
        Ok(found) if found.len() > skyhop_orbit::elements::MAX_FILE_BYTES as u64 => {
            return Err(refuse(format!(
                "file of {} bytes; expected {} at most",
                found.len(),
                skyhop_orbit::elements::MAX_FILE_BYTES
            )));
        }
        _ => {}
    }
    fs::read(file).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            refuse(format!("no such file{}", skyhop_text::spelling::hint_of_file(file)))
        }
        _ => refuse(e.to_string()),
    })
}
