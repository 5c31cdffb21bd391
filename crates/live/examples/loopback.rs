//! Both ends of a connection on this host: how fast a core moves data, encrypted and plain.
//!
//! Follows quinn's bench: one connection, one direction, both ends in one process.
//! Differs: CPU time is the process's, both ends and both kernels' halves together.
//! Leaves out delay and loss.

#![allow(clippy::disallowed_methods, reason = "what something costs is what is measured here")]

use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Options, Security, StpListener, StpStream};
use std::io::Read;
use std::net::SocketAddr;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let sealed = args.next().as_deref() != Some("plain");
    let megabytes: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut options = Options::new(match sealed {
        true => Security::Sealed(Box::new(Config::new(Keys::generate_shared()))),
        false => Security::Insecure,
    });
    if let Some(mtu) = args.next().and_then(|n| n.parse().ok()) {
        options.mtu = mtu;
    }
    let listener = StpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), options.clone())?;
    let server = listener.local_addr()?;
    let far = std::thread::spawn(move || -> std::io::Result<u64> {
        let (mut stream, _) = listener.accept()?;
        let mut buffer = vec![0; 1 << 18];
        let mut total = 0;
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(total),
                n => total += n as u64,
            }
        }
    });
    let stream = StpStream::connect(server, options)?;
    let begin = Instant::now();
    let chunk = bytes::Bytes::from(vec![7; 1 << 20]);
    for _ in 0..megabytes {
        stream.write_bytes(chunk.clone())?;
    }
    stream.finish(None)?;
    let seconds = begin.elapsed().as_secs_f64();
    let bits = (megabytes << 23) as f64;
    println!("{:.2} Gbit/s, {:.2} s; {:#?}", bits / seconds / 1e9, seconds, stream.stats());
    assert_eq!(far.join().expect("no panic")?, megabytes << 20);
    Ok(())
}
