//! Random streams, named after their users.
//!
//! Each stream is a PCG-XSL-RR 128/64 generator (O'Neill 2014), its state and increment hashed from seed and name by FNV-1a and
//! SplitMix64.
//! Differs from one shared generator: adding a component to a scenario never changes another component's draws.
//! Leaves out entropy: a stream exists only for a seed.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// The seed of a run, from which every stream is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream called `name`, such as "link/satellite/forward/loss".
    pub fn stream(self, name: &str) -> Stream {
        // FNV-1a distinguishes names; SplitMix64 spreads seed and name over the whole state.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            hash = (hash ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut spread = self.0 ^ hash.rotate_left(32);
        let mut next = || {
            spread = spread.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = spread;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let state = (next() as u128) << 64 | next() as u128;
        let increment = (next() as u128) << 64 | (next() ^ hash) as u128;
        Stream(Pcg64::new(state, increment))
    }
}

/// A sequence of draws that depends on nothing but its seed and name.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64);

impl Stream {
    /// Uniform in [0, 1), in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// True with probability `p`.
    pub fn happens(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
    /// All 64 bits of a draw.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_apart_by_name_and_seed_and_repeat() {
        let draw = |seed: u64, name: &str| Seed(seed).stream(name).bits();
        assert_eq!(draw(1, "link/a/loss"), draw(1, "link/a/loss"));
        assert_ne!(draw(1, "link/a/loss"), draw(1, "link/b/loss"));
        assert_ne!(draw(1, "link/a/loss"), draw(2, "link/a/loss"));
    }

    #[test]
    fn draws_are_the_same_on_every_machine() {
        let mut stream = Seed(1).stream("golden");
        let draws: Vec<u64> = (0..3).map(|_| stream.bits()).collect();
        assert_eq!(draws, GOLDEN);
    }

    const GOLDEN: [u64; 3] = [5_919_310_298_271_912_159, 35_741_185_967_286_252, 11_573_061_440_120_867_051];

    #[test]
    fn uniform_has_the_mean_and_variance_of_a_uniform() {
        let mut stream = Seed(7).stream("uniform");
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.uniform()).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((0.495..0.505).contains(&mean), "mean {mean}");
        assert!((0.0825..0.0842).contains(&variance), "variance {variance}");
    }
}
