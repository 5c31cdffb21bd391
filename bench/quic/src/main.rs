//! quinn moving data on this host: one connection, one stream, both ends in one process, as `skyhop stp bench` does it.
//!
//! Follows quinn's own bench: two runtimes of one thread each, the transport's defaults but for windows that do not limit.
//! Differs: zeros of a given size, and nothing is printed but the seconds; whoever starts it measures the CPU.
//! Leaves out everything else that quinn can do.

use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config
        .stream_receive_window((64_u32 << 20).into())
        .receive_window((64_u32 << 20).into())
        .send_window(64 << 20);
    Arc::new(config)
}

fn main() -> Outcome {
    let bytes: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000_000);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let cert = CertificateDer::from(made.cert);
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut server_config = ServerConfig::with_single_cert(vec![cert.clone()], key.into())?;
    server_config.transport_config(transport());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(cert)?;
    let mut client_config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    client_config.transport_config(transport());

    let server_runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = {
        let _guard = server_runtime.enter();
        Endpoint::server(server_config, SocketAddr::from(([127, 0, 0, 1], 0)))?
    };
    let address = server.local_addr()?;
    let far = std::thread::spawn(move || {
        server_runtime.block_on(async move {
            let connection = server.accept().await.ok_or("no connection")?.await?;
            let mut stream = connection.accept_uni().await?;
            let mut total = 0;
            while let Some(chunk) = stream.read_chunk(usize::MAX, true).await? {
                total += chunk.bytes.len() as u64;
            }
            let mut reply = connection.open_uni().await?;
            reply.write_all(&total.to_be_bytes()).await?;
            reply.finish()?;
            connection.closed().await;
            Outcome::Ok(())
        })
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let mut endpoint = Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        endpoint.set_default_client_config(client_config);
        let connection = endpoint.connect(address, "localhost")?.await?;
        let begin = Instant::now();
        let mut stream = connection.open_uni().await?;
        let block = vec![0; 256 << 10];
        let mut left = bytes;
        while left > 0 {
            let len = left.min(block.len() as u64) as usize;
            stream.write_all(&block[..len]).await?;
            left -= len as u64;
        }
        stream.finish()?;
        let mut reply = connection.accept_uni().await?;
        let total = reply.read_to_end(8).await?;
        println!("{}", begin.elapsed().as_secs_f64());
        connection.close(0_u32.into(), b"");
        endpoint.wait_idle().await;
        let outcome: Outcome =
            if total == bytes.to_be_bytes() { Ok(()) } else { Err("not all data have arrived".into()) };
        outcome
    })?;
    far.join().map_err(|_| "the server panicked")?
}
