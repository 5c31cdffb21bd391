//! 24-bit packet numbers in packets, 64-bit numbers inside the machines.
//!
//! Follows HT figure 5.1 (the header's field) and docs/stp.md §4.
//! Differs: a machine counts in 64 bits from its first number and never compares wrapped numbers.
//! Leaves out windows of half the space or more, in which a number would have two meanings.

/// Mask of a number in a packet.
pub const SEQUENCE_MASK: u32 = 0xff_ffff;

/// The 24-bit form of packet number `number`.
pub const fn wire_number(number: u64) -> u32 {
    number as u32 & SEQUENCE_MASK
}

/// The 64-bit number nearest to `near` whose low 24 bits are `wire`; `None` if it would be negative.
pub const fn expand(wire: u32, near: u64) -> Option<u64> {
    let ahead = wire.wrapping_sub(near as u32) & SEQUENCE_MASK;
    if ahead < 1 << 23 {
        return near.checked_add(ahead as u64);
    }
    near.checked_sub((SEQUENCE_MASK - ahead + 1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_many_wraps() {
        for number in [0u64, 1, 5, (1 << 23) - 1, 1 << 23, (1 << 24) - 1, 1 << 24, 5 << 24 | 1234] {
            for near in [number.saturating_sub((1 << 23) - 1), number, number + (1 << 23)] {
                assert_eq!(expand(wire_number(number), near), Some(number), "{number} near {near}");
            }
        }
        assert_eq!(expand(SEQUENCE_MASK, 0), None);
        assert_eq!(expand(0, (1 << 24) - 1), Some(1 << 24));
    }
}
