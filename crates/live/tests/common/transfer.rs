//! A transfer between two namespaces, with its measurements.
//!
//! Follows `skyhop stp send`: the received data are compared by SHA-256.
//! Differs: time runs from connect to the last byte acknowledged, as in the simulator.
//! Leaves out several connections.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

use super::relay::Net;
use ring::digest::{Context, SHA256};
use skyhop_live::association::Counters;
use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, Lateness, Options, Security, StreamStats};
use std::io::Read;
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

pub fn options(keys: &Keys) -> Options {
    let mut options = Options::new(Security::Sealed(Box::new(Config::new(keys.clone()))));
    // As in the simulated path: the size of packets is known.
    options.mtu_base = None;
    options
}

/// The transfer's result.
#[derive(Debug)]
pub struct Outcome {
    /// From connect to the last byte acknowledged.
    pub seconds: f64,
    pub stats: StreamStats,
    pub receiver: Counters,
    /// Of the sender's thread and the receiver's.
    pub lateness: [Lateness; 2],
    /// Every half second: pace in Mbit/s, MB acknowledged.
    pub curve: Vec<(f64, f64)>,
}

/// Bytes that differ at all positions, one piece at a time.
fn pattern(bytes: usize) -> impl Iterator<Item = Vec<u8>> {
    const PIECE: usize = 1 << 20;
    let mut state = 1_u64;
    let mut word = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()
    };
    (0..bytes).step_by(PIECE).map(move |at| {
        let len = PIECE.min(bytes - at);
        let mut piece: Vec<u8> = std::iter::repeat_with(&mut word).take(len.div_ceil(8)).flatten().collect();
        piece.truncate(len);
        piece
    })
}

/// Sends bytes over a net. Panics if they do not arrive intact.
pub fn transfer(net: &Net, bytes: usize) -> Outcome {
    let keys = Keys::generate_shared();
    let (server_options, client_options) = (options(&keys), options(&keys));
    let server = net.server;
    let far_end = net.right(move || Endpoint::bind(server, server_options)).unwrap();
    let near_end = net.left(move || Endpoint::bind(SocketAddr::from(([0; 4], 0)), client_options)).unwrap();
    let (tell, told) = mpsc::channel();
    let listener = far_end.listen();
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (mut hash, mut total, mut buffer) = (Context::new(&SHA256), 0, vec![0; 1 << 18]);
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => break,
                n => {
                    hash.update(&buffer[..n]);
                    total += n;
                }
            }
        }
        tell.send((total, hash.finish())).unwrap();
        stream.finish(Some(Duration::from_secs(60))).unwrap();
    });
    let stream = Arc::new(near_end.connect(net.far).unwrap());
    let begin = Instant::now();
    let writer = {
        let stream = stream.clone();
        thread::spawn(move || {
            let mut hash = Context::new(&SHA256);
            for piece in pattern(bytes) {
                hash.update(&piece);
                stream.write_bytes(piece.into()).unwrap();
            }
            stream.shutdown(Shutdown::Write).unwrap();
            hash.finish()
        })
    };
    // As the simulation counts: to the last byte acknowledged, and not to the END behind it.
    let patience = Duration::from_secs(60 + bytes as u64 / 1_000_000);
    let mut curve = Vec::new();
    loop {
        let stats = stream.stats();
        if begin.elapsed() >= Duration::from_millis(500) * curve.len() as u32 {
            curve.push((stats.pace_bps.unwrap_or(0.0) * 1e-6, stats.acknowledged as f64 * 1e-6));
        }
        if stats.acknowledged == bytes as u64 {
            break;
        }
        assert!(begin.elapsed() < patience, "{stats:?}");
        thread::sleep(Duration::from_millis(5));
    }
    let seconds = begin.elapsed().as_secs_f64();
    stream.finish(Some(Duration::from_secs(30))).unwrap();
    let (total, found) = told.recv().unwrap();
    assert_eq!(total, bytes);
    assert_eq!(found.as_ref(), writer.join().unwrap().as_ref(), "intact");
    receiver.join().unwrap();
    Outcome {
        seconds,
        stats: stream.stats(),
        receiver: far_end.counters().unwrap(),
        lateness: [near_end.lateness(), far_end.lateness()],
        curve,
    }
}
