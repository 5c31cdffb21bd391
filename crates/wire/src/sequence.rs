//! Sequence arithmetic: 32-bit numbers on the wire, 64-bit offsets inside.
//!
//! Follows RFC 9293 §3.4: numbers compare relative to each other, modulo 2^32.
//! Differs: an endpoint counts 64-bit offsets from its initial sequence number and never compares wrapped numbers.
//! Leaves out the 24-bit numbers of STP.

/// The 32-bit sequence number of the byte `offset` bytes after the initial sequence number `initial`.
pub const fn wire_number(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(offset as u32)
}

/// The 64-bit offset nearest to `near` whose sequence number is `number`; `None` if it would be negative.
pub const fn expand(initial: u32, number: u32, near: u64) -> Option<u64> {
    let distance = number.wrapping_sub(wire_number(initial, near)) as i32;
    let offset = near as i64 + distance as i64;
    if offset < 0 { None } else { Some(offset as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_many_wraps() {
        let initial = 0xffff_fff0;
        for offset in [0, 1, 15, 16, 17, 1 << 31, (1 << 32) - 1, 1 << 32, 5 << 32 | 12345] {
            let number = wire_number(initial, offset);
            for near in [offset.saturating_sub((1 << 31) - 1), offset, offset + (1 << 31) - 1] {
                assert_eq!(expand(initial, number, near), Some(offset), "offset {offset} near {near}");
            }
        }
        assert_eq!(expand(100, 99, 0), None);
    }
}
