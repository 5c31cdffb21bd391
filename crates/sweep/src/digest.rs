//! The digest of a part, by which a damaged file is recognised.
//!
//! SHA-256 over the file with zeros in place of the digest, which is a key-value entry in the Parquet footer.
//! Differs from Parquet's page checksums: it covers the footer too, on whose counts and statistics a merge relies.
//! Leaves out repair; a damaged part is run again.

use sha2::{Digest, Sha256};

/// Key of the digest in the footer.
pub const KEY: &str = "skyhop.sha256";
/// Placeholder of the digest.
pub const BLANK: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Replaces [`BLANK`] under [`KEY`] by the digest of the file.
pub fn seal(file: &mut [u8]) -> Result<(), String> {
    let at = place(file).ok_or("the footer has no place for a digest")?;
    let digest = of(file, at);
    file[at..at + BLANK.len()].copy_from_slice(digest.as_bytes());
    Ok(())
}

/// Returns true if a file is unchanged since it was sealed.
pub fn is_sound(file: &[u8]) -> bool {
    place(file).is_some_and(|at| file[at..at + BLANK.len()] == *of(file, at).as_bytes())
}

/// Offset of the digest in the file.
fn place(file: &[u8]) -> Option<usize> {
    // After the key come a field byte and a length byte (Thrift's compact protocol).
    let key = file.windows(KEY.len()).rposition(|bytes| bytes == KEY.as_bytes())?;
    let at = key + KEY.len() + 2;
    (at + BLANK.len() <= file.len()).then_some(at)
}

fn of(file: &[u8], at: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(&file[..at]);
    hash.update(BLANK);
    hash.update(&file[at + BLANK.len()..]);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::part_bytes;
    use arrow_array::{Float64Array, RecordBatch, StringArray};
    use std::sync::Arc;

    #[test]
    fn a_bit_that_flips_anywhere_is_noticed() {
        let goodput = Arc::new(Float64Array::from_iter((0..40).map(f64::from)));
        let error = Arc::new(StringArray::from_iter((0..40).map(|i| (i == 7).then_some(KEY))));
        let rows = RecordBatch::try_from_iter_with_nullable([
            ("f.goodput_bps", goodput as arrow_array::ArrayRef, true),
            ("error", error, true),
        ]);
        let mut file = part_bytes(&rows.unwrap()).unwrap();
        assert!(is_sound(&file));
        for at in 0..file.len() {
            for bit in 0..8 {
                file[at] ^= 1 << bit;
                assert!(!is_sound(&file), "bit {bit} of byte {at}");
                file[at] ^= 1 << bit;
            }
        }
        for length in 0..file.len() {
            assert!(!is_sound(&file[..length]), "cut to {length} bytes");
        }
        assert!(is_sound(&file));
    }
}
