//! Files that commands read and write whole.
//!
//! Follows the command's rule: a file that cannot be read is the user's mistake, one that cannot be written is the world's.
//! Differs from `std::fs`: sizes are bounded before anything is read.
//! Leaves out folders of results, which appear whole or not at all.

use crate::failure::Failure;
use std::fs;
use std::path::Path;

/// Writes a file, or prints.
pub fn write_or_print(out: Option<&Path>, text: &str) -> Result<(), Failure> {
    match out {
        None => super::print(text),
        Some(file) => {
            fs::write(file, text).map_err(|e| Failure::Run(format!("cannot write {}: {e}", file.display())))
        }
    }
}

/// The bytes of a file of bearable size.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let name = file.display();
    let refuse = |what: String| Failure::Scenario(format!("{name}: {what}"));
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => return Err(refuse("is a directory, not a file".into())),
        Ok(found) if found.len() > skyhop_sim::orbit::elements::MAX_FILE_BYTES as u64 => {
            return Err(refuse(format!(
                "file of {} bytes; expected {} at most",
                found.len(),
                skyhop_sim::orbit::elements::MAX_FILE_BYTES
            )));
        }
        _ => {}
    }
    fs::read(file).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => refuse("no such file".into()),
        _ => refuse(e.to_string()),
    })
}
