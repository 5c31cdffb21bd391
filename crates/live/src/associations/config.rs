//! The parameters of a host's associations: keys, sealing, limits and times.
//!
//! Leaves out the parameters of STP inside them.

use crate::association::Sealing;
use crate::keys::Keys;
use crate::seal::{Cipher, EPOCH_BITS};
use skyhop_units::Span;

/// Parameters of opening and keeping associations.
#[derive(Debug, Clone)]
pub struct Config {
    /// Keys that authenticate this host.
    pub keys: Keys,
    /// Parameters of sealing; as a responder, the initiator's cipher is used.
    pub sealing: Sealing,
    /// True if others may open associations.
    pub accepts: bool,
    /// Largest number of half-open associations: answered, but without a sealed packet yet.
    pub half_open_max: usize,
    /// Number of half-open associations, or of failures per second, from which cookies are required.
    pub cookie_above: usize,
    /// Time for which an answered first packet is stored.
    pub half_open_timeout: Span,
    /// Maximum number of open associations. An unused one makes room for another; if all are used, further peers are refused.
    pub associations_max: usize,
    /// Idle time after which the initiator ends an association without connections and streams; the responder does after twice this time.
    pub idle: Span,
    /// Interval after which the first packet is sent again; the next one is twice as long, and all others four times.
    pub hello_interval: Span,
    /// Time for which the first packet is sent again without an answer: longer than an outage.
    pub opening: Span,
    /// True if secrets are reported for the decryption of captures.
    pub key_log: bool,
}

impl Config {
    /// The default parameters with these keys.
    pub fn new(keys: Keys) -> Self {
        Config {
            keys,
            sealing: Sealing { cipher: Cipher::default(), replay_window: 65_536, epoch_bits: EPOCH_BITS },
            accepts: false,
            half_open_max: 1024,
            cookie_above: 64,
            half_open_timeout: Span::from_secs(30),
            associations_max: 16_384,
            idle: Span::from_secs(60),
            hello_interval: Span::from_secs(1),
            opening: Span::from_secs(120),
            key_log: false,
        }
    }
}
