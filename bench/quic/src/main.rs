//! quinn moving data: one connection, one stream, both ends in one process, or each end in a host of its own.
//!
//! Follows quinn's own bench: runtimes of one thread, the transport's defaults but for windows that do not limit.
//! Differs: zeros of a given size, and nothing is printed but the seconds; whoever starts it measures the CPU.
//! Leaves out everything else that quinn can do.
//!
//!     quic-bench BYTES                                     both ends here, as `skyhop stp bench` does it
//!     quic-bench serve ADDRESS CERTIFICATE WINDOW          writes the certificate, serves one connection
//!     quic-bench send ADDRESS CERTIFICATE WINDOW BYTES cubic|bbr

use quinn::congestion::{BbrConfig, CubicConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const WINDOW: u32 = 64 << 20;

fn transport(window: u32) -> TransportConfig {
    let mut config = TransportConfig::default();
    config.stream_receive_window(window.into()).receive_window(window.into()).send_window(window.into());
    config
}

fn server_config(window: u32) -> Outcome<(ServerConfig, CertificateDer<'static>)> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let certificate = CertificateDer::from(made.cert);
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    config.transport_config(Arc::new(transport(window)));
    Ok((config, certificate))
}

fn client_config(certificate: CertificateDer<'static>, transport: TransportConfig) -> Outcome<ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// Receives one stream of one connection, and answers with the number of its bytes.
async fn receive(server: Endpoint) -> Outcome {
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
    Ok(())
}

/// Sends zeros, and prints the seconds until the answer: from the opened connection on, or from the beginning of its opening.
async fn send(from: SocketAddr, to: SocketAddr, config: ClientConfig, bytes: u64, opening: bool) -> Outcome {
    let mut endpoint = Endpoint::client(from)?;
    endpoint.set_default_client_config(config);
    let began = Instant::now();
    let connection = endpoint.connect(to, "localhost")?.await?;
    let begin = if opening { began } else { Instant::now() };
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
    if total == bytes.to_be_bytes() { Ok(()) } else { Err("not all data have arrived".into()) }
}

fn runtime() -> Outcome<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn here(bytes: u64) -> Outcome {
    let (server_config, certificate) = server_config(WINDOW)?;
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let server_runtime = runtime()?;
    let server = {
        let _guard = server_runtime.enter();
        Endpoint::server(server_config, local)?
    };
    let address = server.local_addr()?;
    let far = std::thread::spawn(move || server_runtime.block_on(receive(server)));
    let config = client_config(certificate, transport(WINDOW))?;
    runtime()?.block_on(send(local, address, config, bytes, false))?;
    far.join().map_err(|_| "the server panicked")?
}

fn serve(address: &str, certificate: &str, window: &str) -> Outcome {
    let (config, made) = server_config(window.parse()?)?;
    runtime()?.block_on(async move {
        let server = Endpoint::server(config, address.parse()?)?;
        std::fs::write(certificate, &made)?;
        receive(server).await
    })
}

fn reach(to: &str, certificate: &str, window: &str, bytes: &str, law: &str) -> Outcome {
    let mut transport = transport(window.parse()?);
    match law {
        "cubic" => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "bbr" => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        _ => return Err(format!("{law}: cubic or bbr").into()),
    };
    let config = client_config(CertificateDer::from(std::fs::read(certificate)?), transport)?;
    let from = SocketAddr::from(([0, 0, 0, 0], 0));
    runtime()?.block_on(send(from, to.parse()?, config, bytes.parse()?, true))
}

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => here(1_000_000_000),
        ["serve", address, certificate, window] => serve(address, certificate, window),
        ["send", to, certificate, window, bytes, law] => reach(to, certificate, window, bytes, law),
        [bytes] => here(bytes.parse()?),
        _ => Err("usage: quic-bench [BYTES] | serve ADDRESS CERTIFICATE WINDOW | send ADDRESS CERTIFICATE WINDOW BYTES cubic|bbr".into()),
    }
}
