//! The exchange of keys by which a host opens associations, and answers those who do: with its own keys, ciphers and random numbers.
//!
//! Follows the Noise handshake of `handshake`. Differs: a first packet is checked for version and pattern before any computation.
//! Leaves out the attempts (`attempts`), and the limits of answers (`admission`).

use super::config::Config;
use super::half_open::HalfOpen;
use crate::association::{Association, Sealing};
use crate::entropy::Entropy;
use crate::handshake::{Hello, Initiator, RefusalReason, Secrets, VERSION, answer, pattern_of};
use crate::keys::{Keys, hex};
use crate::seal::Cipher;
use skyhop_units::Time;
use std::net::SocketAddr;
use std::sync::Arc;

/// The exchange.
pub(crate) struct KeyExchange {
    keys: Keys,
    sealing: Sealing,
    /// True if secrets are reported for the decryption of captures.
    log: bool,
    entropy: Arc<dyn Entropy>,
}

impl KeyExchange {
    /// An exchange with the keys and parameters of a configuration.
    pub fn new(config: &Config, entropy: Arc<dyn Entropy>) -> Self {
        KeyExchange { keys: config.keys.clone(), sealing: config.sealing, log: config.key_log, entropy }
    }

    /// Replaces the keys.
    pub fn set_keys(&mut self, keys: Keys) {
        self.keys = keys;
    }

    /// Begins as the initiator. `None` if the keys are invalid.
    pub fn initiate(&self, id: u32) -> Option<Initiator> {
        Initiator::new(&self.keys, self.sealing.cipher, id, &self.entropy)
    }

    /// Ends as the initiator: the association, and its line for the key log if there is one.
    pub fn finish(
        &self,
        now: Time,
        peer: SocketAddr,
        (id, peer_index): (u32, u32),
        secrets: &Secrets,
    ) -> (Association, Option<String>) {
        let mut association = Association::new(now, peer, peer_index, self.sealing, secrets, true);
        if let Keys::Pair { peers, .. } = &self.keys {
            association.key = peers.first().copied();
        }
        (association, self.line((id, peer_index), self.sealing.cipher, secrets))
    }

    /// Returns an error for a first packet that cannot be answered, whatever its keys.
    pub fn check(&self, hello: &Hello<'_>) -> Result<(), RefusalReason> {
        if hello.version != VERSION {
            Err(RefusalReason::Version)
        } else if hello.pattern != pattern_of(&self.keys) {
            Err(RefusalReason::Pattern)
        } else {
            Ok(())
        }
    }

    /// Answers as the responder. All failures look the same, whatever the cause.
    pub fn respond(
        &self,
        now: Time,
        from: SocketAddr,
        hello: &Hello<'_>,
        id: u32,
    ) -> Result<HalfOpen, RefusalReason> {
        let cipher = Cipher::from_number(hello.cipher).ok_or(RefusalReason::Key)?;
        let answered = answer(&self.keys, hello, id, &self.entropy).ok_or(RefusalReason::Key)?;
        let sealing = Sealing { cipher, ..self.sealing };
        let mut association = Association::new(now, from, hello.index, sealing, &answered.secrets, false);
        association.key = answered.peer;
        let line = self.line((hello.index, id), cipher, &answered.secrets);
        Ok(HalfOpen { association, answer: answered.packet, ephemeral: hello.ephemeral(), line })
    }

    /// The line for the key log: the indices of initiator and responder, the cipher, the secrets forward and back.
    fn line(&self, indices: (u32, u32), cipher: Cipher, secrets: &Secrets) -> Option<String> {
        self.log.then(|| {
            let (forward, back) = (hex(&secrets.forward[..]), hex(&secrets.back[..]));
            format!("SKYHOP_STP {:06x} {:06x} {cipher} {} {}", indices.0, indices.1, *forward, *back)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::association::Counters;
    use crate::entropy::SystemEntropy;
    use crate::handshake::parse_answer;
    use crate::seal::HEADER_LEN;

    const NOW: Time = Time::from_nanos(1_000_000_000);

    fn exchange(keys: Keys, log: bool) -> KeyExchange {
        let mut config = Config { key_log: log, ..Config::new(keys) };
        config.sealing.replay_window = 64;
        KeyExchange::new(&config, Arc::new(SystemEntropy))
    }

    fn peer(host: u8) -> SocketAddr {
        ([192, 0, 2, host], 1).into()
    }

    #[test]
    fn the_ends_of_an_exchange_open_packets_of_each_other_and_log_the_same_line() {
        for log in [false, true] {
            let keys = Keys::generate_shared();
            let (here, there) = (exchange(keys.clone(), log), exchange(keys, log));
            let mut initiator = here.initiate(7).expect("keys");
            let bytes = initiator.packet();
            let hello = Hello::parse(&bytes).expect("a first packet");
            assert_eq!(there.check(&hello), Ok(()));
            let mut half_open = there.respond(NOW, peer(1), &hello, 9).expect("the same keys");
            let (id, noise) = parse_answer(&half_open.answer).expect("an answer");
            let (peer_index, secrets) = initiator.finish(noise).expect("the same keys");
            assert_eq!((id, peer_index), (7, 9));
            let (mut association, line) = here.finish(NOW, peer(2), (id, peer_index), &secrets);
            assert_eq!((line.is_some(), &line), (log, &half_open.line));
            let mut packet = [&[0; HEADER_LEN][..], b"text"].concat();
            association.seal(&mut packet, 0);
            let contents = half_open.association.open(NOW, peer(1), &mut packet, &mut Counters::default());
            assert_eq!(contents.map(|contents| packet[contents].to_vec()), Some(b"text".to_vec()));
        }
    }

    #[test]
    fn other_versions_patterns_ciphers_and_keys_are_refused() {
        let there = exchange(Keys::generate_shared(), false);
        let bytes = exchange(Keys::generate_shared(), false).initiate(7).expect("keys").packet();
        let hello = Hello::parse(&bytes).expect("a first packet");
        assert_eq!(there.check(&hello), Ok(()));
        assert_eq!(there.respond(NOW, peer(1), &hello, 9).err(), Some(RefusalReason::Key), "other keys");
        let mut altered = hello;
        altered.cipher = 99;
        assert_eq!(there.respond(NOW, peer(1), &altered, 9).err(), Some(RefusalReason::Key));
        (altered.version, altered.pattern) = (VERSION + 1, 99);
        assert_eq!(there.check(&altered), Err(RefusalReason::Version), "its pattern may mean something else");
        let (pair, _) = Keys::generate_pair();
        assert_eq!(exchange(pair, false).check(&hello), Err(RefusalReason::Pattern));
    }

    #[test]
    fn replaced_keys_are_those_of_the_next_exchange() {
        let (mut there, keys) = (exchange(Keys::generate_shared(), false), Keys::generate_shared());
        let bytes = exchange(keys.clone(), false).initiate(7).expect("keys").packet();
        let hello = Hello::parse(&bytes).expect("a first packet");
        assert!(there.respond(NOW, peer(1), &hello, 9).is_err());
        there.set_keys(keys);
        assert!(there.respond(NOW, peer(1), &hello, 9).is_ok());
    }
}
