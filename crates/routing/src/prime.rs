//! Prime implicants: the largest sets of addresses with one next hop that one value and mask can match.
//!
//! Follows Quine and McCluskey; HT 6.6.3 names the problem (minimum sum) and leaves it.
//! Differs: all 3^bits values and masks are examined together, for all next hops at once, as a table of unions.
//! Left out: tables of more than 15 bits or 16 next hops.

use crate::cells::Masked;

/// For each value and mask, the next hops of its addresses, one bit each. Base-3 digit k is bit k of the address: 0, 1, or 2 if
/// it is masked out.
pub(crate) struct Cubes {
    bits: u32,
    hops: Vec<u16>,
}

impl Cubes {
    /// The table from one bit for each address's next hop; no bit if any next hop will do.
    pub(crate) fn new(addresses: &[u16]) -> Self {
        let bits = addresses.len().ilog2();
        let mut hops = vec![0; 3usize.pow(bits)];
        fill(&mut hops, addresses);
        Self { bits, hops }
    }

    /// The prime implicants of each next hop, by the number of its bit: the sets of addresses in which no more address bits can
    /// be masked out.
    pub(crate) fn primes(&self) -> Vec<Vec<Masked>> {
        let mut primes = vec![Vec::new(); u16::BITS as usize];
        self.collect(0, self.bits, Masked { value: 0, mask: 0 }, u16::MAX, &mut primes);
        primes
    }

    /// The prime implicants of one next hop.
    pub(crate) fn primes_of(&self, hop: usize) -> Vec<Masked> {
        let mut primes = vec![Vec::new(); u16::BITS as usize];
        self.collect(0, self.bits, Masked { value: 0, mask: 0 }, 1 << hop, &mut primes);
        primes.swap_remove(hop)
    }

    /// Primes of the `wanted` next hops among the cubes from `first` on that equal `upper` in the bits from `bits` up.
    fn collect(&self, first: usize, bits: u32, upper: Masked, wanted: u16, primes: &mut [Vec<Masked>]) {
        let third = 3usize.pow(bits) / 3;
        let widest = first + 3usize.pow(bits) - 1;
        let hops = self.hops[widest];
        if hops.is_power_of_two() {
            // All of these lie inside the widest.
            if hops & wanted != 0 && self.is_prime(widest, upper.mask) {
                primes[hops.trailing_zeros() as usize].push(upper);
            }
        } else if hops & wanted != 0 && bits > 0 {
            let bit = 1 << (bits - 1);
            let mask = upper.mask | bit;
            self.collect(first, bits - 1, Masked { mask, ..upper }, wanted, primes);
            self.collect(first + third, bits - 1, Masked { value: upper.value | bit, mask }, wanted, primes);
            self.collect(first + 2 * third, bits - 1, upper, wanted, primes);
        }
    }

    /// Returns true if masking out any further bit of `mask` would add another next hop.
    fn is_prime(&self, index: usize, mask: u16) -> bool {
        let mut place = 1;
        (0..self.bits).all(|bit| {
            let digit = index / place % 3;
            let wider = index + place * (2 - digit);
            place *= 3;
            mask >> bit & 1 == 0 || self.hops[wider] != self.hops[index]
        })
    }
}

fn fill(hops: &mut [u16], addresses: &[u16]) {
    let [only] = *addresses else {
        let (low, high) = addresses.split_at(addresses.len() / 2);
        let third = hops.len() / 3;
        let (zero, rest) = hops.split_at_mut(third);
        let (one, either) = rest.split_at_mut(third);
        fill(zero, low);
        fill(one, high);
        for ((either, zero), one) in either.iter_mut().zip(zero).zip(one) {
            *either = *zero | *one;
        }
        return;
    };
    hops[0] = only;
}

/// The addresses of `bits` bits that a value and mask match, ascending.
pub(crate) fn addresses(block: Masked, bits: u32) -> impl Iterator<Item = u16> {
    let free = !block.mask & ((1u32 << bits) - 1) as u16;
    let mut next = Some(0u16);
    std::iter::from_fn(move || {
        let part = next?;
        // The next larger number with bits only where they are free.
        next = (part != free).then(|| part.wrapping_sub(free) & free);
        Some(block.value | part)
    })
}
