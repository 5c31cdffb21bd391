//! A flow of datagrams between two hosts: sent when the simulator's source says so, and received with one-way delays.
//!
//! Follows RFC 768. A datagram begins with its number, so that the receiver knows when it was sent.
//! Differs from the simulated flow: a busy machine sends late, and the delay counts from the sending; copies of a datagram count once.
//! Leaves out answers.

use crate::carrier::{CLIENT, FlowHosts, LISTEN, Times};
use crate::measured::{MeasuredDatagrams, MeasuredFlow};
use skyhop_emulate::clock::RunClock;
use skyhop_traffic::Datagrams;
use skyhop_units::{Span, Time};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// Bytes of a datagram's number, which each has to have.
pub const NUMBER: u64 = 4;
/// Longest wait before the clock is checked.
const LOOK: Duration = Duration::from_millis(100);
/// Receive buffer, for the instants in which the receiver does not run.
const RECEIVE: usize = 4 << 20;
/// `sent` of a flow that still sends.
const SENDING: u64 = u64::MAX;

/// The sockets of a flow, from one host to the other.
pub struct DatagramSockets {
    near: UdpSocket,
    far: UdpSocket,
}

fn bound(address: IpAddr, port: u16) -> io::Result<Socket> {
    let address = SocketAddr::new(address, port);
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    socket.bind(&SockAddr::from(address))?;
    Ok(socket)
}

impl DatagramSockets {
    /// Opens the sockets of a flow.
    ///
    /// # Errors
    ///
    /// A port is in use, or a namespace cannot be entered.
    pub fn new(place: &FlowHosts) -> io::Result<Self> {
        let [client, server] = place.addresses;
        let number = (place.flow % 10_000) as u16;
        let far = place.hosts[1].within(|| {
            let socket = bound(server, LISTEN + number)?;
            socket.set_recv_buffer_size(RECEIVE)?;
            socket.set_read_timeout(Some(LOOK))?;
            Ok::<_, io::Error>(socket)
        })??;
        let near = place.hosts[0].within(|| {
            let socket = bound(client, CLIENT + number)?;
            socket.connect(&SocketAddr::new(server, LISTEN + number).into())?;
            Ok::<_, io::Error>(socket)
        })??;
        Ok(Self { near: near.into(), far: far.into() })
    }

    /// Sends the datagrams of a source until its stop, and receives until all have arrived or the run has ended.
    pub fn carry_out(
        &self,
        clock: RunClock,
        mut source: Datagrams,
        times: Times,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> MeasuredFlow {
        let sending = DatagramSending { at: Mutex::default(), total: AtomicU64::new(SENDING) };
        let (sent, delays_s) = thread::scope(|scope| {
            let received = scope.spawn(|| self.receive(clock, &sending, times, go_on));
            let sent = self.send(clock, &mut source, &sending, times, go_on);
            sending.total.store(sent, Ordering::Release);
            (sent, received.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let received = delays_s.len() as u64;
        let active_s = times.stop.min(times.end).since(times.start).as_secs_f64();
        let bits = 8.0 * received as f64 * f64::from(source.size());
        MeasuredFlow {
            goodput_bps: if active_s > 0.0 { bits / active_s } else { 0.0 },
            datagrams: MeasuredDatagrams::of(sent, received, delays_s),
            ..MeasuredFlow::default()
        }
    }

    /// Sends, and returns the number of datagrams. One that the kernel refuses counts as sent.
    fn send(
        &self,
        clock: RunClock,
        source: &mut Datagrams,
        sending: &DatagramSending,
        times: Times,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> u64 {
        let mut bytes = vec![0; source.size() as usize];
        let (mut sent, until) = (0_u32, times.stop.min(times.end));
        source.start(times.start);
        while let Some(due) = source.poll_timeout().filter(|due| *due < until) {
            while clock.now() < due && go_on() {
                clock.sleep_until(due.min(clock.now() + Span::from_millis(LOOK.as_millis() as u64)));
            }
            if !go_on() {
                break;
            }
            if source.poll_transmit(due) {
                bytes[..NUMBER as usize].copy_from_slice(&sent.to_be_bytes());
                sending.times().push(Some(clock.now()));
                let _ = self.near.send(&bytes);
                sent += 1;
            }
        }
        sent.into()
    }

    /// One-way delays of the datagrams that arrive, s.
    fn receive(
        &self,
        clock: RunClock,
        sending: &DatagramSending,
        times: Times,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Vec<f64> {
        let (mut bytes, mut delays_s) = (vec![0; 1 << 16], Vec::new());
        while clock.now() < times.end && go_on() {
            if let Ok(len) = self.far.recv(&mut bytes)
                && let Some(number) = bytes[..len].first_chunk().copied().map(u32::from_be_bytes)
            {
                let now = clock.now();
                let at = sending.times().get_mut(number as usize).and_then(Option::take);
                delays_s.extend(at.filter(|_| now < times.end).map(|at| now.since(at).as_secs_f64()));
            }
            if delays_s.len() as u64 == sending.total.load(Ordering::Acquire) {
                break;
            }
        }
        delays_s
    }
}

/// The sending times of datagrams that have not arrived, by number, and the number of all once it is known.
struct DatagramSending {
    at: Mutex<Vec<Option<Time>>>,
    total: AtomicU64,
}

impl DatagramSending {
    fn times(&self) -> MutexGuard<'_, Vec<Option<Time>>> {
        self.at.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
