//! A host behind a NAT: the NAT loses its state, and the server is restarted.
//!
//! Follows docs/stp-hosts.md, "The association": restarts and changes of address.
//! Differs: the NAT is a thread that changes a socket or a destination.
//! Leaves out the format of packets, which `associations` has.

#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]

use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Endpoint, Options, Security};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, UdpSocket};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn any() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn options(keys: &Keys) -> Options {
    Options::new(Security::Sealed(Box::new(Config::new(keys.clone()))))
}

/// A server at a port of another address of this host: a listener's port is part of the connection's identity.
fn server(keys: &Keys, host: u8, port: u16) -> Endpoint {
    Endpoint::bind(SocketAddr::from(([127, 0, 0, host], port)), options(keys)).unwrap()
}

/// Commands for the NAT.
enum Change {
    /// Use another external address from now on.
    Rebind,
    /// Send packets for the server to this one.
    Server(SocketAddr),
}

/// Who tells the NAT what to do, and waits until it is done.
struct Operator(Sender<(Change, Sender<()>)>);

impl Operator {
    fn order(&self, change: Change) {
        let (tell, told) = mpsc::channel();
        self.0.send((change, tell)).unwrap();
        told.recv().unwrap();
    }
}

/// Returns the address for the client. Ends with its operator.
fn nat(mut server: SocketAddr) -> (SocketAddr, Operator) {
    let bind = || {
        let socket = UdpSocket::bind(any()).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    };
    // An address at which nobody else has that port.
    let inside = UdpSocket::bind(SocketAddr::from(([127, 77, 0, 3], server.port()))).unwrap();
    inside.set_nonblocking(true).unwrap();
    let mut outside = bind();
    let address = inside.local_addr().unwrap();
    let (tell, told) = mpsc::channel::<(Change, Sender<()>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        let mut client = None;
        loop {
            match told.try_recv() {
                Ok((change, done)) => {
                    match change {
                        Change::Rebind => outside = bind(),
                        Change::Server(other) => server = other,
                    }
                    let _ = done.send(());
                }
                Err(mpsc::TryRecvError::Empty) => {}
                Err(mpsc::TryRecvError::Disconnected) => return,
            }
            while let Ok((len, from)) = inside.recv_from(&mut buffer) {
                client = Some(from);
                let _ = outside.send_to(&buffer[..len], server);
            }
            while let Ok((len, _)) = outside.recv_from(&mut buffer) {
                client.inspect(|client| drop(inside.send_to(&buffer[..len], client)));
            }
            thread::sleep(Duration::from_micros(200));
        }
    });
    (address, Operator(tell))
}

#[test]
fn a_server_that_was_restarted_says_so_and_can_be_connected_to_again() {
    let keys = Keys::generate_shared();
    let first = server(&keys, 2, 0);
    let port = first.local_addr().port();
    let second = server(&keys, 3, port);
    let (listener, again) = (first.listen(), second.listen());
    let (address, tell) = nat(first.local_addr());
    let client = Endpoint::bind(any(), options(&keys)).unwrap();
    let mut stream = client.connect(address).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&[1; 100_000]).unwrap();
    let (mut there, _) = listener.accept_timeout(PATIENCE).unwrap();
    there.set_read_timeout(Some(PATIENCE)).unwrap();
    there.read_exact(&mut [0; 100_000]).unwrap();
    tell.order(Change::Server(second.local_addr()));
    let begin = Instant::now();
    let e = loop {
        match stream.write_all(&[2; 10_000]) {
            Err(e) => break e,
            Ok(()) => assert!(begin.elapsed() < PATIENCE, "nobody says anything"),
        }
        thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(e.kind(), ErrorKind::ConnectionReset);
    assert_eq!(e.to_string(), format!("{address}: the peer was restarted, and this connection is lost"));
    // The same endpoint connects to the new one as if nothing had been.
    let mut stream = client.connect(address).unwrap();
    stream.write_all(b"again").unwrap();
    let (mut there, _) = again.accept_timeout(PATIENCE).unwrap();
    there.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut text = [0; 5];
    there.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"again");
    // And if it learns of a restart only when it connects, the new connection does not suffer.
    let third = server(&keys, 4, port);
    let once_more = third.listen();
    tell.order(Change::Server(third.local_addr()));
    let mut stream = client.connect(address).unwrap();
    stream.write_all(b"third").unwrap();
    let (mut there, _) = once_more.accept_timeout(PATIENCE).unwrap();
    there.set_read_timeout(Some(PATIENCE)).unwrap();
    there.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"third");
}

#[test]
fn a_client_whose_address_changes_goes_on() {
    let keys = Keys::generate_shared();
    let server = server(&keys, 2, 0);
    let listener = server.listen();
    let (address, tell) = nat(server.local_addr());
    let client = Endpoint::bind(any(), options(&keys)).unwrap();
    let mut stream = client.connect(address).unwrap();
    let echo = thread::spawn(move || {
        let (mut stream, _) = listener.accept_timeout(PATIENCE).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut total, mut buffer) = (0, vec![0; 1 << 16]);
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => break,
                n => {
                    total += n;
                    stream.write_all(&buffer[..n]).unwrap();
                }
            }
        }
        stream.finish(Some(PATIENCE)).unwrap();
        total
    });
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut back = vec![0; 10_000];
    for round in 0..60_u8 {
        if round % 20 == 10 {
            tell.order(Change::Rebind);
        }
        stream.write_all(&[round; 10_000]).unwrap();
        stream.read_exact(&mut back).unwrap();
        assert!(back.iter().all(|byte| *byte == round));
    }
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut back).unwrap(), 0);
    assert_eq!(echo.join().unwrap(), 600_000);
}

/// A NAT that forgets a binding while nothing is said, and gives another port to what comes next.
#[test]
fn an_idle_association_goes_on_from_another_port() {
    let keys = Keys::generate_shared();
    let server = server(&keys, 2, 0);
    let listener = server.listen();
    let (address, tell) = nat(server.local_addr());
    let client = Endpoint::bind(any(), options(&keys)).unwrap();
    let mut stream = client.connect(address).unwrap();
    stream.write_all(b"first").unwrap();
    let (mut there, before) = listener.accept_timeout(PATIENCE).unwrap();
    let mut text = [0; 5];
    for stream in [&stream, &there] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    there.read_exact(&mut text).unwrap();
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(700));
        tell.order(Change::Rebind);
        stream.write_all(b"again").unwrap();
        there.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"again");
        there.write_all(b"heard").unwrap();
        stream.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"heard");
    }
    // Another connection, in the same association, from where the client is now.
    let mut second = client.connect(address).unwrap();
    second.write_all(b"other").unwrap();
    let (mut there, after) = listener.accept_timeout(PATIENCE).unwrap();
    there.set_read_timeout(Some(PATIENCE)).unwrap();
    there.read_exact(&mut text).unwrap();
    assert!(&text == b"other" && before.port() != after.port());
    assert_eq!((server.associations(), client.associations()), (1, 1));
}
