//! The asynchronous streams under tokio: the same behaviour as the blocking ones in `streams`.
//!
//! Follows the conventions of `tokio::net`.
//! Differs: one thread runs all tasks, so a blocking call would be detected.
//! Leaves out properties common to both kinds of streams.

use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::tokio::Endpoint;
use skyhop_live::{Options, Security};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn options(keys: &Keys) -> Options {
    let mut options = Options::new(Security::Sealed(Box::new(Config::new(keys.clone()))));
    options.send_buffer = 200_000;
    options.stp.linger = skyhop_units::Span::from_millis(50);
    options
}

#[test]
fn ten_connections_on_one_thread() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let keys = Keys::generate_shared();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move {
        let server = Endpoint::bind(any, options(&keys)).unwrap();
        let address = server.local_addr();
        let listener = server.listen();
        assert_eq!(listener.local_addr().unwrap(), address);
        let far = tokio::spawn(async move {
            let mut tasks = Vec::new();
            for _ in 0..10 {
                let (mut stream, peer) = listener.accept().await.unwrap();
                assert_eq!(stream.peer_addr().unwrap(), peer);
                // Everything goes back as it has come.
                tasks.push(tokio::spawn(async move {
                    let mut data = Vec::new();
                    stream.read_to_end(&mut data).await.unwrap();
                    stream.write_all(&data).await.unwrap();
                    stream.finish().await.unwrap();
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
        let client = Endpoint::bind(any, options(&keys)).unwrap();
        let mut tasks = Vec::new();
        for n in 0..10_u8 {
            let mut stream = client.connect(address).await.unwrap();
            tasks.push(tokio::spawn(async move {
                // More than the buffer holds, so that writing has to wait.
                let data: Vec<u8> = (0..1_000_000_u32).map(|at| (at >> 7) as u8 ^ n).collect();
                stream.write_all(&data).await.unwrap();
                stream.shutdown().await.unwrap();
                let mut back = Vec::new();
                stream.read_to_end(&mut back).await.unwrap();
                assert!(back == data);
                assert_eq!(stream.stats().acknowledged, data.len() as u64);
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        far.await.unwrap();
        let strangers = Endpoint::bind(any, options(&Keys::generate_shared())).unwrap();
        let e = strangers.connect(address).await.err().expect("another key");
        assert_eq!(e.kind(), std::io::ErrorKind::PermissionDenied);
    });
}
