//! Many connections at once, for laboratories: a server and its clients, each one thread with one poller.
//!
//! `load serve PORT`: echoes what it reads, and closes after the client's FIN; a connection whose first byte is `b` gets zeros until it
//! closes.
//! `load hold HOST:PORT COUNT RATE SECONDS ADDRESS...`: opens RATE connections a second from these addresses in turn; each lives for COUNT
//! / RATE seconds, so that COUNT are open. Each sends 100 bytes at its beginning, in its middle and at its end, compares the echo, and ends
//! by a half-close. One more connection from each address reads zeros all the time. Prints a line of JSON every ten seconds and one at the
//! end.
//! `load idle HOST:PORT COUNT ADDRESS...`: opens COUNT connections, prints `open`, and holds them until its standard input ends.
//!
//! Follows bench/gateway_load.py, which runs it in network namespaces. Leaves out TLS and names.

#![allow(clippy::disallowed_methods, reason = "what runs here is stepped by the clock")]

use polling::{Event, Events, PollMode, Poller};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    raise_limit();
    match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", port] => serve(port.parse()?),
        ["hold", to, count, rate, seconds, addresses @ ..] if !addresses.is_empty() => {
            let life = Duration::from_secs_f64(count.parse::<f64>()? / rate.parse::<f64>()?);
            let addresses = addresses.iter().map(|address| address.parse()).collect::<Result<Vec<IpAddr>, _>>()?;
            Clients::new(to.parse()?, life)?.hold(rate.parse()?, Duration::from_secs(seconds.parse()?), &addresses)
        }
        ["idle", to, count, addresses @ ..] if !addresses.is_empty() => {
            let addresses = addresses.iter().map(|address| address.parse()).collect::<Result<Vec<IpAddr>, _>>()?;
            idle(to.parse()?, count.parse()?, &addresses)
        }
        _ => Err("load serve PORT | hold HOST:PORT COUNT RATE SECONDS ADDRESS... | idle HOST:PORT COUNT ADDRESS...".into()),
    }
}

fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure outlives both calls.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
    }
}

/// A connection of the server.
struct Served {
    socket: Socket,
    back: VecDeque<u8>,
    bulk: Option<bool>,
    ended: bool,
}

fn serve(port: u16) -> Outcome {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    listener.set_reuse_address(true)?;
    listener.bind(&SocketAddr::from(([0, 0, 0, 0], port)).into())?;
    listener.listen(4096)?;
    listener.set_nonblocking(true)?;
    let poller = Poller::new()?;
    // SAFETY: the socket lives as long as the poller.
    unsafe { poller.add_with_mode(&listener, Event::readable(0), PollMode::Level)? };
    let (mut all, mut free): (Vec<Option<Served>>, Vec<usize>) = (vec![None], Vec::new());
    let (mut events, zeros) = (Events::new(), vec![0; 64 << 10]);
    loop {
        events.clear();
        poller.wait(&mut events, None)?;
        for event in events.iter() {
            if event.key == 0 {
                while let Ok((socket, _)) = listener.accept() {
                    socket.set_nonblocking(true)?;
                    let slot = free.pop().unwrap_or_else(|| {
                        all.push(None);
                        all.len() - 1
                    });
                    // SAFETY: the socket is removed from the poller before it is closed.
                    unsafe { poller.add_with_mode(&socket, Event::all(slot), PollMode::Edge)? };
                    all[slot] = Some(Served { socket, back: VecDeque::new(), bulk: None, ended: false });
                }
                continue;
            }
            let Some(served) = &mut all[event.key] else { continue };
            if !served.turn(&zeros)
                && let Some(served) = all[event.key].take()
            {
                poller.delete(&served.socket)?;
                free.push(event.key);
            }
        }
    }
}

impl Served {
    /// Returns false once the connection is over.
    fn turn(&mut self, zeros: &[u8]) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match (&self.socket).read(&mut buffer) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => {
                    let bulk = *self.bulk.get_or_insert(buffer[0] == b'b');
                    if !bulk {
                        self.back.extend(&buffer[..read]);
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        loop {
            let data = if self.bulk == Some(true) { zeros } else { self.back.make_contiguous() };
            if data.is_empty() {
                return !self.ended;
            }
            match (&self.socket).write(data) {
                Ok(written) => _ = self.back.drain(..written.min(self.back.len())),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
    }
}

/// A connection of a client.
struct Client {
    socket: Socket,
    begun: Instant,
    /// Completed exchanges, and echoed bytes of the current one.
    exchanges: u32,
    came: usize,
    waits: bool,
    ending: bool,
    line: [u8; 100],
    /// Index of the source address, for a connection that reads zeros.
    bulk: Option<usize>,
}

struct Clients {
    to: SocketAddr,
    life: Duration,
    poller: Poller,
    all: Vec<Option<Client>>,
    free: Vec<usize>,
    /// Times at which clients send next.
    due: BTreeMap<(Instant, usize), ()>,
    open: usize,
    opened: u64,
    closed: u64,
    lost: BTreeMap<String, u64>,
    bulk: Vec<u64>,
}

fn connect(to: SocketAddr, from: IpAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // The port is chosen at connect, so that connections to different servers can share one.
    socket.set_bind_address_no_port()?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    match socket.connect(&to.into()) {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
        _ => Ok(socket),
    }
}

/// The option of ip(7), which socket2 does not have.
trait BindAddressNoPort {
    fn set_bind_address_no_port(&self) -> io::Result<()>;
}

impl BindAddressNoPort for Socket {
    fn set_bind_address_no_port(&self) -> io::Result<()> {
        let (on, len) = (1_i32, size_of::<i32>() as libc::socklen_t);
        let fd = std::os::fd::AsRawFd::as_raw_fd(self);
        // SAFETY: the kernel reads an integer, which outlives the call.
        let done = unsafe {
            libc::setsockopt(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, (&raw const on).cast(), len)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Clients {
    fn new(to: SocketAddr, life: Duration) -> io::Result<Self> {
        Ok(Clients {
            to,
            life,
            poller: Poller::new()?,
            all: Vec::new(),
            free: Vec::new(),
            due: BTreeMap::new(),
            open: 0,
            opened: 0,
            closed: 0,
            lost: BTreeMap::new(),
            bulk: Vec::new(),
        })
    }

    fn add(&mut self, from: IpAddr, bulk: Option<usize>) -> io::Result<()> {
        let socket = connect(self.to, from)?;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() - 1
        });
        // SAFETY: the socket is removed from the poller before it is closed.
        unsafe { self.poller.add_with_mode(&socket, Event::all(slot), PollMode::Edge)? };
        let mut line = [0; 100];
        line.iter_mut().zip(0..).for_each(|(byte, at): (&mut u8, u64)| {
            *byte = b'c' + ((self.opened * 31 + at * 7) % 20) as u8;
        });
        let begun = Instant::now();
        self.all[slot] =
            Some(Client { socket, begun, exchanges: 0, came: 0, waits: false, ending: false, line, bulk });
        self.open += usize::from(bulk.is_none());
        self.opened += u64::from(bulk.is_none());
        self.due.insert((begun, slot), ());
        Ok(())
    }

    fn end(&mut self, slot: usize, why: Option<String>) {
        let Some(client) = self.all[slot].take() else { return };
        let _ = self.poller.delete(&client.socket);
        self.free.push(slot);
        self.open -= usize::from(client.bulk.is_none());
        match why {
            Some(why) => *self.lost.entry(why).or_default() += 1,
            None => self.closed += 1,
        }
    }

    /// Sends a client's next line, or ends its connection.
    fn send(&mut self, slot: usize) {
        let Some(client) = &mut self.all[slot] else { return };
        let sent = match (client.bulk, client.exchanges) {
            (Some(_), 0) => (&client.socket).write(b"b"),
            (Some(_), _) => return,
            (None, 0..3) if !client.waits => (&client.socket).write(&client.line),
            (None, 3) if !client.ending => {
                client.ending = true;
                client.socket.shutdown(std::net::Shutdown::Write).map(|()| 0)
            }
            _ => return,
        };
        match sent {
            Ok(_) => client.waits = true,
            // The socket is not connected yet, and is written to once it is.
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected) => {}
            Err(e) => self.end(slot, Some(e.to_string())),
        }
    }

    fn ready(&mut self, slot: usize, event: &Event) {
        let mut buffer = [0; 65_536];
        if event.writable
            && self.all[slot].as_ref().is_some_and(|client| client.exchanges == 0 && !client.waits)
        {
            self.send(slot);
        }
        loop {
            let Some(client) = &mut self.all[slot] else { return };
            match (&client.socket).read(&mut buffer) {
                Ok(0) if client.ending => return self.end(slot, None),
                Ok(0) => return self.end(slot, Some("an end before its time".into())),
                Ok(read) => match client.bulk {
                    Some(user) => self.bulk[user] += read as u64,
                    None => {
                        let expected = client.line.get(client.came..client.came + read);
                        if expected != Some(&buffer[..read]) || client.ending {
                            return self.end(slot, Some("other bytes came back".into()));
                        }
                        client.came += read;
                        if client.came == client.line.len() {
                            (client.came, client.waits) = (0, false);
                            client.exchanges += 1;
                            let next = match client.exchanges {
                                1 | 2 => client.begun + self.life * client.exchanges / 2,
                                _ => Instant::now(),
                            };
                            self.due.insert((next, slot), ());
                        }
                    }
                },
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::NotConnected => return,
                Err(e) => return self.end(slot, Some(e.to_string())),
            }
        }
    }

    fn step(&mut self, until: Instant) -> io::Result<()> {
        let mut events = Events::new();
        let next = self.due.first_key_value().map_or(until, |((at, _), ())| (*at).min(until));
        self.poller.wait(&mut events, Some(next.saturating_duration_since(Instant::now())))?;
        for event in events.iter() {
            self.ready(event.key, &event);
        }
        let now = Instant::now();
        while let Some((&(at, slot), ())) = self.due.first_key_value()
            && at <= now
        {
            self.due.pop_first();
            self.send(slot);
        }
        Ok(())
    }

    fn hold(mut self, rate: f64, lasts: Duration, addresses: &[IpAddr]) -> Outcome {
        let (begun, mut made, mut told) = (Instant::now(), 0_usize, 0);
        self.bulk = vec![0; addresses.len()];
        for (user, address) in addresses.iter().enumerate() {
            self.add(*address, Some(user))?;
        }
        let mut first = None;
        while begun.elapsed() < lasts {
            while (made as f64) < begun.elapsed().as_secs_f64() * rate {
                self.add(addresses[made % addresses.len()], None)?;
                made += 1;
            }
            self.step(Instant::now() + Duration::from_millis(5))?;
            if begun.elapsed() > self.life && first.is_none() {
                first = Some(self.bulk.clone());
            }
            if begun.elapsed().as_secs() >= told + 10 {
                told = begun.elapsed().as_secs();
                let lost: u64 = self.lost.values().sum();
                println!(
                    "{{\"at\": {told}, \"open\": {}, \"opened\": {}, \"closed\": {}, \"lost\": {lost}}}",
                    self.open, self.opened, self.closed
                );
            }
        }
        let took: Vec<f64> =
            self.bulk.iter().zip(first.unwrap_or_default()).map(|(now, then)| (now - then) as f64).collect();
        let (sum, squares) = (took.iter().sum::<f64>(), took.iter().map(|n| n * n).sum::<f64>());
        let jain = sum * sum / (addresses.len() as f64 * squares);
        // Open connections end at their scheduled time.
        let most = Instant::now() + self.life * 2 + Duration::from_secs(60);
        while self.open > 0 && Instant::now() < most {
            self.step(Instant::now() + Duration::from_millis(50))?;
        }
        let lost: u64 = self.lost.values().sum();
        println!(
            "{{\"opened\": {}, \"closed\": {}, \"lost\": {lost}, \"why\": {:?}, \"jain\": {jain:.4}, \"bulk\": {sum}}}",
            self.opened,
            self.closed,
            self.lost.iter().map(|(why, count)| format!("{why}: {count}")).collect::<Vec<_>>().join(", ")
        );
        Ok(())
    }
}

fn idle(to: SocketAddr, count: usize, addresses: &[IpAddr]) -> Outcome {
    // The second exchange of these connections is never sent.
    let mut clients = Clients::new(to, Duration::from_secs(1 << 20))?;
    clients.bulk = vec![0; addresses.len()];
    let done =
        |clients: &Clients| clients.all.iter().flatten().filter(|client| client.exchanges == 1).count();
    for n in 0..count {
        clients.add(addresses[n % addresses.len()], None)?;
        while clients.open - done_bound(&clients) > 200 {
            clients.step(Instant::now() + Duration::from_millis(5))?;
        }
    }
    let most = Instant::now() + Duration::from_secs(120);
    while done(&clients) + clients.lost.len() < count && Instant::now() < most {
        clients.step(Instant::now() + Duration::from_millis(50))?;
    }
    println!("open {}", done(&clients));
    let mut rest = String::new();
    io::stdin().read_to_string(&mut rest)?;
    Ok(())
}

/// The approximate number of connections that have had their first echo: those that wait for the second exchange.
fn done_bound(clients: &Clients) -> usize {
    clients.due.len().min(clients.open)
}
