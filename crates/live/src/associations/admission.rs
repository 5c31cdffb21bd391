//! The admission of strangers, whose packets may have any source: their answers, cookies and half-open associations.
//!
//! Follows RFC 9000 §8.1 (a limit of the bytes sent to an unproven address: three times those received, here at most as many) and RFC
//! 9147 §5.1 (under load, a cookie before any computation).
//! Differs: a first packet that arrives from a second address needs a cookie, so that an eavesdropper can neither displace its sender
//! nor fill the host's memory.
//! Leaves out the handshake (`key_exchange`).

use super::answer_limit::AnswerLimit;
use super::config::Config;
use super::half_open::{HalfOpen, HalfOpens};
use crate::association::Counters;
use crate::control::unknown_packet;
use crate::cookie::Cookies;
use crate::entropy::Entropy;
use crate::handshake::{ECHO_LEN, Hello, RefusalReason, cookie_packet, refusal_packet};
use skyhop_units::Time;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

/// Smallest packet of a peer that does not encrypt; the answer is never longer than the packet.
const FOREIGN_MIN: usize = 16;

/// The admission.
pub(crate) struct Admission {
    /// True if others may open associations.
    accepts: bool,
    half_open: HalfOpens,
    cookies: Cookies,
    /// Number of half-open associations from which cookies are required.
    cookie_above: usize,
    limit: AnswerLimit,
    entropy: Arc<dyn Entropy>,
}

impl Admission {
    /// An admission that has seen nobody.
    pub fn new(now: Time, config: &Config, entropy: Arc<dyn Entropy>) -> Self {
        Admission {
            accepts: config.accepts,
            half_open: HalfOpens::new(config.half_open_max, config.half_open_timeout),
            cookies: Cookies::new(now, &*entropy),
            cookie_above: config.cookie_above,
            limit: AnswerLimit::new(now, config.cookie_above),
            entropy,
        }
    }

    /// Sets whether others may open associations.
    pub fn accept(&mut self, accepts: bool) {
        self.accepts = accepts;
    }

    /// Returns true if others may open associations.
    pub fn accepts(&self) -> bool {
        self.accepts
    }

    /// Number of half-open associations.
    pub fn len(&self) -> usize {
        self.half_open.len()
    }

    pub fn contains(&self, id: u32) -> bool {
        self.half_open.contains(id)
    }

    /// Returns true for a half-open association whose first packet came from this address.
    pub fn is_from(&self, id: u32, from: SocketAddr) -> bool {
        self.half_open.is_from(id, from)
    }

    /// Screens a first packet. Returns the packet to send in place of a new answer, if there is one: the last answer again, or the demand
    /// of a cookie.
    pub fn screen(
        &mut self,
        now: Time,
        from: SocketAddr,
        hello: &Hello<'_>,
        counters: &mut Counters,
    ) -> Option<Vec<u8>> {
        if let Some(half_open) = self.half_open.of_hello(hello.ephemeral(), from) {
            // The answer was lost, or the packet was replayed.
            counters.repeated_hellos += 1;
            return Some(half_open.answer.clone());
        }
        let demand = self.demand_cookie(now, from, hello)?;
        counters.cookies += 1;
        Some(demand)
    }

    /// The packet that requires a cookie, if a first packet needs one and has none.
    fn demand_cookie(&mut self, now: Time, from: SocketAddr, hello: &Hello<'_>) -> Option<Vec<u8>> {
        let ephemeral = hello.ephemeral();
        // If the same packet arrives from two addresses, either may belong to its sender.
        let copied = self.half_open.knows(ephemeral);
        let loaded = copied || self.half_open.len() >= self.cookie_above || self.limit.is_reached(now);
        if !loaded || self.cookies.good(now, from, &ephemeral, hello.cookie, &*self.entropy) {
            return None;
        }
        let cookie = self.cookies.make(now, from, &ephemeral, &*self.entropy);
        Some(cookie_packet(hello, &cookie))
    }

    /// Remembers a half-open association.
    pub fn remember(&mut self, now: Time, id: u32, half_open: HalfOpen) {
        self.half_open.insert(now, id, half_open);
    }

    /// The packet that refuses a first packet.
    pub fn refuse(&mut self, hello: &Hello<'_>, reason: RefusalReason) -> Vec<u8> {
        self.limit.count();
        let echo = hello.noise[..ECHO_LEN].try_into().expect("of this length");
        refusal_packet(reason, hello.index, &echo)
    }

    /// The packet that refuses one of no known kind, perhaps from a peer that does not encrypt.
    pub fn refuse_foreign(&mut self, now: Time, datagram: &[u8]) -> Option<Vec<u8>> {
        let echo = datagram.get(..ECHO_LEN).filter(|_| datagram.len() >= FOREIGN_MIN)?;
        if !self.accepts || self.limit.is_reached(now) {
            return None;
        }
        self.limit.count();
        let echo = echo.try_into().expect("of this length");
        Some(refusal_packet(RefusalReason::SealedOnly, 0, &echo))
    }

    /// The packet which says that the association of a sealed packet is unknown. It is shorter than that packet.
    pub fn disown(&mut self, now: Time, sealed: &[u8]) -> Option<Vec<u8>> {
        // The other half is for first packets that fail.
        if !self.accepts || self.limit.is_half_reached(now) {
            return None;
        }
        let packet = unknown_packet(sealed)?;
        self.limit.count();
        Some(packet)
    }

    /// Opens a sealed packet in a half-open association, whose peer it proves.
    pub fn open(
        &mut self,
        now: Time,
        id: u32,
        from: SocketAddr,
        packet: &mut [u8],
        counters: &mut Counters,
    ) -> Option<Range<usize>> {
        self.half_open.get_mut(id)?.association.open(now, from, packet, counters)
    }

    /// Takes a half-open association whose peer is proven.
    pub fn take(&mut self, id: u32) -> Option<HalfOpen> {
        self.half_open.take(id)
    }

    /// Forgets half-open associations whose time is over.
    pub fn handle_timeout(&mut self, now: Time) {
        self.half_open.expire(now);
    }

    /// Time at which the next one may be forgotten.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.half_open.poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::association::{Association, Sealing};
    use crate::entropy::SystemEntropy;
    use crate::handshake::{Initiator, Secrets, kind, parse_cookie};
    use crate::keys::Keys;
    use crate::seal::Cipher;
    use skyhop_units::Span;

    const NOW: Time = Time::from_nanos(1_000_000_000);

    fn peer(host: u8) -> SocketAddr {
        ([192, 0, 2, host], 1).into()
    }

    /// An admission that requires cookies from four on.
    fn admission() -> Admission {
        let config = Config { accepts: true, cookie_above: 4, ..Config::new(Keys::generate_shared()) };
        Admission::new(NOW, &config, Arc::new(SystemEntropy))
    }

    fn initiator() -> Initiator {
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        Initiator::new(&Keys::generate_shared(), Cipher::default(), 7, &entropy).expect("keys")
    }

    fn half_open(from: SocketAddr, ephemeral: [u8; 32]) -> HalfOpen {
        let sealing = Sealing { cipher: Cipher::default(), replay_window: 64, epoch_bits: 8 };
        let secrets = Secrets { forward: Default::default(), back: Default::default() };
        let association = Association::new(NOW, from, 7, sealing, &secrets, false);
        HalfOpen { association, answer: vec![1, 2], ephemeral, line: None }
    }

    #[test]
    fn a_copy_of_a_first_packet_needs_a_cookie_where_a_repetition_is_answered() {
        let (mut admission, mut initiator, mut counters) = (admission(), initiator(), Counters::default());
        let bytes = initiator.packet();
        let hello = Hello::parse(&bytes).expect("a first packet");
        let ephemeral = hello.ephemeral();
        assert_eq!(admission.screen(NOW, peer(1), &hello, &mut counters), None);
        admission.remember(NOW, 1, half_open(peer(1), ephemeral));
        assert_eq!(admission.screen(NOW, peer(1), &hello, &mut counters), Some(vec![1, 2]));
        let demand = admission.screen(NOW, peer(2), &hello, &mut counters).expect("a copy");
        assert_eq!((counters.repeated_hellos, counters.cookies), (1, 1));
        let (_, _, cookie) = parse_cookie(&demand).expect("a cookie");
        initiator.take_cookie(cookie);
        let bytes = initiator.packet();
        let hello = Hello::parse(&bytes).expect("a first packet");
        assert_eq!(admission.screen(NOW, peer(2), &hello, &mut counters), None);
        assert!(
            admission.screen(NOW, peer(3), &hello, &mut counters).is_some(),
            "it is the cookie of another"
        );
    }

    #[test]
    fn cookies_are_required_from_so_many_half_open_associations_or_refusals() {
        let initiator = initiator();
        let bytes = initiator.packet();
        let hello = Hello::parse(&bytes).expect("a first packet");
        let mut admission = admission();
        for id in 0..4 {
            assert_eq!(admission.demand_cookie(NOW, peer(9), &hello), None);
            admission.remember(NOW, id, half_open(peer(1), [id as u8; 32]));
        }
        assert!(admission.demand_cookie(NOW, peer(9), &hello).is_some());
        let later = admission.poll_timeout().expect("they are forgotten");
        admission.handle_timeout(later);
        assert_eq!((admission.len(), admission.demand_cookie(later, peer(9), &hello)), (0, None));
        for _ in 0..4 {
            assert_eq!(admission.demand_cookie(later, peer(9), &hello), None);
            admission.refuse(&hello, RefusalReason::Key);
        }
        assert!(admission.demand_cookie(later, peer(9), &hello).is_some());
        assert_eq!(admission.demand_cookie(later + Span::from_secs(1), peer(9), &hello), None);
    }

    /// Half of the answers are for first packets; no answer is longer than its packet, and a host that only initiates is silent.
    #[test]
    fn strangers_get_a_limited_number_of_short_answers() {
        let mut admission = admission();
        let sealed = [kind::SEALED; 32];
        let disowned: Vec<_> = (0..9).filter_map(|_| admission.disown(NOW, &sealed)).collect();
        assert_eq!((disowned.len(), disowned[0].len()), (2, 12));
        assert_eq!(admission.refuse_foreign(NOW, &[0; FOREIGN_MIN - 1]), None);
        let refused: Vec<_> =
            (0..9).filter_map(|_| admission.refuse_foreign(NOW, &[0; FOREIGN_MIN])).collect();
        assert!(refused.len() == 2 && refused[0].len() <= FOREIGN_MIN);
        let later = NOW + Span::from_secs(1);
        admission.accept(false);
        assert!(!admission.accepts());
        assert_eq!(
            (admission.disown(later, &sealed), admission.refuse_foreign(later, &sealed)),
            (None, None)
        );
        admission.accept(true);
        assert!(admission.disown(later, &sealed).is_some());
    }
}
