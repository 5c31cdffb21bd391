//! The files that a scenario names, as bytes.

use crate::error::BuildError;
use skyhop_scenario::Files;

/// The bytes of a file that the scenario's `key` names.
///
/// # Errors
///
/// A file that the reader of the scenario has not read.
pub fn bytes_of<'a>(files: &'a Files, name: &str, key: &str) -> Result<&'a [u8], BuildError> {
    let bytes = files.get(name).map(|bytes| &**bytes);
    bytes.ok_or_else(|| BuildError::in_file(key, name, "the file was not read"))
}
