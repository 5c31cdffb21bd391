//! The path of the relay in virtual time, with two machines at its ends: the duration of a transfer if no thread is ever late.
//!
//! Follows `relay` for the path and `skyhop_live` for the machines' configuration; a seal is 28 bytes that are not encrypted.
//! Differs: nothing is late, except by the lateness that the test sets.
//! Leaves out the association's handshake.

use super::lane::{Lane, Path};
use bytes::Bytes;
use skyhop_transport::stp::{Config, Connection, Ends};
use skyhop_units::{Span, Time};
use skyhop_wire::stp::{Packet, emit, parse};
use std::time::Duration;

/// Bytes of a seal.
const SEAL: usize = 28;

/// The path and the machines.
pub struct Twin {
    now: Duration,
    ends: [Connection<Bytes>; 2],
    lanes: [Lane; 2],
    /// Lateness of each end's timer.
    pub lateness: Box<dyn FnMut() -> Duration>,
    late_until: [Option<Duration>; 2],
}

/// The machines' time: it does not start at zero, which they might interpret as "never".
fn time(at: Duration) -> Time {
    Time::from_nanos(at.as_nanos() as u64 + 1_000_000_000)
}

/// The path's time.
fn path_time(at: Duration) -> Time {
    Time::from_nanos(at.as_nanos() as u64)
}

/// Detects altered packets, as a seal does.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum: u64, byte| sum.wrapping_mul(257).wrapping_add(u64::from(*byte)))
}

impl Twin {
    pub fn new(path: Path, seed: u64, stp: &Config) -> Self {
        // The configuration that `skyhop_live` gives a machine for packets of 1500 bytes, sealed, over UDP and IPv4.
        let config = Config {
            packet_size: 1444,
            base_size: u32::MAX,
            overhead: 56,
            granularity: Span::from_millis(1),
            ..stp.clone()
        };
        let ends = Ends { local_port: 40_000, remote_port: 57_824, instance: 7, count: 1 };
        let listener = Ends { local_port: 57_824, ..Ends::default() };
        Twin {
            now: Duration::ZERO,
            ends: [
                Connection::connect(config.clone(), ends, 1000 * seed as u32),
                Connection::listen(config, listener, 77),
            ],
            lanes: [Lane::new(path, seed, "relay/forward"), Lane::new(path, seed, "relay/reverse")],
            lateness: Box::new(|| Duration::ZERO),
            late_until: [None; 2],
        }
    }

    fn drain(&mut self) {
        let now = time(self.now);
        for side in 0..2 {
            while let Some(packet) = self.ends[side].poll_transmit(now) {
                let mut bytes = Vec::new();
                emit(&packet, &mut bytes);
                let sum = sum(&bytes);
                bytes.extend_from_slice(&sum.to_be_bytes());
                bytes.resize(bytes.len() + SEAL - 8, 0);
                self.lanes[side].take(path_time(self.now), &bytes);
            }
            while self.ends[side].poll_event().is_some() {}
            while self.ends[side].read(usize::MAX).is_some() {}
        }
    }

    /// Seconds until all data are acknowledged.
    pub fn transfer(&mut self, bytes: usize) -> f64 {
        self.ends[0].write(Bytes::from(vec![0; bytes]));
        self.ends[0].shutdown();
        self.ends[1].shutdown();
        self.drain();
        while self.ends[0].acknowledged() < bytes as u64 {
            let mut next = Duration::from_secs(120);
            for side in 0..2 {
                let due = self.lanes[side].due().map(|due| Duration::from_nanos(due.as_nanos()));
                next = next.min(due.unwrap_or(next));
                let timer = self.ends[side].poll_timeout().map(|at| {
                    Duration::from_nanos(at.as_nanos().saturating_sub(1_000_000_000)).max(self.now)
                });
                if let Some(timer) = timer {
                    let at = *self.late_until[side].get_or_insert_with(|| timer + (self.lateness)());
                    next = next.min(at.max(timer));
                }
            }
            assert!(next < Duration::from_secs(120));
            self.now = self.now.max(next);
            for side in 0..2 {
                while let Some(bytes) = self.lanes[side].next(path_time(self.now)) {
                    let (packet, seal) = bytes.split_at(bytes.len() - SEAL);
                    if sum(packet).to_be_bytes() != seal[..8] {
                        continue;
                    }
                    let Ok(packet) = parse(packet) else { continue };
                    let packet = Packet {
                        source_port: packet.source_port,
                        destination_port: packet.destination_port,
                        instance: packet.instance,
                        seq: packet.seq,
                        poll: packet.poll,
                        data: packet.data.map(Bytes::copy_from_slice),
                        control: packet.control,
                    };
                    self.ends[1 - side].handle_packet(time(self.now), &packet);
                    self.late_until[1 - side] = None;
                }
                if self.late_until[side].is_none_or(|at| at <= self.now) {
                    self.late_until[side] = None;
                    self.ends[side].handle_timeout(time(self.now));
                }
            }
            self.drain();
        }
        self.now.as_secs_f64()
    }
}
