//! One connection at a gateway with an association: a simulated TCP connection with the end, and a stream.
//!
//! Follows docs/stp.md §16 and the daemon of docs/gateway.md, whose [`Join`] it drives: the client's handshake is completed at once,
//! a preamble opens the stream, the server's side is opened when it has arrived, and an answer of one byte follows.
//! Differs: payload is its length, so a server that refuses resets the stream, where a host's answer says why.
//! Leaves out datagrams, marks, quotas, and refusals of the far gateway. The rate of a user is the owner's (`user_rates`).

use crate::gateway::{BULK, StreamSide, WRITE_MAX};
use crate::join::{Input, Join, Progress, SplitSide};
use skyhop_chance::Stream;
use skyhop_transport::stp::{PayloadLength, Reason, Trunk};
use skyhop_transport::tcp::{self, Connection};
use skyhop_units::{Span, Time};
use skyhop_wire::{Flags, Packet, Transport};
use std::collections::VecDeque;
use std::net::SocketAddrV4;

/// Length of the far gateway's answer.
const ANSWER: u64 = 1;

/// The place of a gateway on a connection's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndRole {
    /// The client is on its TCP side: it opens the stream.
    Opener,
    /// The server is on its TCP side.
    Acceptor,
}

/// Parameters of a connection at a gateway.
#[derive(Debug, Clone)]
pub struct EndConfig {
    /// The place of the gateway.
    pub role: EndRole,
    /// TCP with the end, with the buffers of the gateway's host.
    pub tcp: Box<tcp::Config>,
    /// Addresses of client and server, which both see.
    pub addresses: [SocketAddrV4; 2],
    /// Initial sequence number.
    pub initial: u32,
    /// Length of the preamble, bytes.
    pub preamble: u64,
    /// Bytes that may wait for the end to acknowledge them.
    pub memory: u64,
    /// Time after which an end that owes an answer and is silent counts as dead.
    pub give_up: Span,
}

/// The state of a connection at a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndPhase {
    /// No packet of the client, or no stream yet.
    Idle,
    /// The client is connected, and wants a stream.
    Wants,
    /// The preamble is sent; the far gateway has not answered.
    Opening,
    /// This many bytes of the preamble are missing.
    Reading(u64),
    /// The server has not answered.
    Connecting,
    /// Both ends are connected.
    Open,
    /// Both directions have ended, and the ends were passed on.
    Closed,
    /// One side has failed, and the other was reset.
    Broken,
}

/// A change for the owner, in the order in which they happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndEvent {
    /// The TCP side is connected.
    Connected,
    /// The connection has carried more than [`BULK`].
    Bulk,
    /// Clean end.
    Closed,
    /// A side has failed.
    Broken,
}

/// The TCP side of a join.
#[derive(Debug)]
struct TcpSide {
    tcp: Connection,
    memory: u64,
    written: u64,
    connected: bool,
    finished: bool,
    failed: bool,
}

impl TcpSide {
    fn unacknowledged(&self) -> u64 {
        self.written - self.tcp.acknowledged().min(self.written)
    }
}

impl SplitSide<PayloadLength> for TcpSide {
    fn read(&mut self, most: u64, pieces: &mut VecDeque<PayloadLength>) -> Input {
        match self.tcp.read_up_to(most) {
            0 if self.failed => Input::Broken,
            0 if self.finished => Input::End,
            0 => Input::Nothing,
            bytes => {
                pieces.push_back(PayloadLength(bytes));
                Input::Data
            }
        }
    }

    /// A kernel takes a part of what is written into a full buffer, and then none until a third is free.
    fn room(&mut self) -> u64 {
        match self.tcp.withheld() {
            0 => self.memory.saturating_sub(self.unacknowledged()).min(WRITE_MAX as u64),
            _ => 0,
        }
    }

    fn write(&mut self, pieces: &mut VecDeque<PayloadLength>) {
        let bytes = pieces.drain(..).map(|PayloadLength(bytes)| bytes).sum();
        self.written += bytes;
        self.tcp.write(bytes);
    }

    fn shutdown(&mut self) {
        self.tcp.shutdown();
    }

    fn all_acknowledged(&mut self) -> bool {
        self.unacknowledged() == 0
    }
}

/// A connection at a gateway.
#[derive(Debug)]
pub struct GatewayEnd {
    config: EndConfig,
    chance: Option<Stream>,
    side: Option<TcpSide>,
    phase: EndPhase,
    join: Join<PayloadLength>,
    stream: Option<u64>,
    /// The far gateway has ended its direction of the stream.
    finished: bool,
    bulk: bool,
    silent_since: Option<Time>,
    events: VecDeque<EndEvent>,
}

impl GatewayEnd {
    /// A connection of which nothing has arrived yet.
    pub fn new(config: EndConfig, chance: Stream) -> Self {
        Self {
            config,
            chance: Some(chance),
            side: None,
            phase: EndPhase::Idle,
            join: Join::new(),
            stream: None,
            finished: false,
            bulk: false,
            silent_since: None,
            events: VecDeque::new(),
        }
    }

    /// Returns true if it waits for a stream of the association.
    pub fn wants_stream(&self) -> bool {
        self.phase == EndPhase::Wants
    }

    /// Number of its stream.
    pub fn stream(&self) -> Option<u64> {
        self.stream
    }

    /// Returns true if it has closed or failed.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, EndPhase::Closed | EndPhase::Broken)
    }

    /// Returns true if it has carried more than [`BULK`].
    pub fn is_bulk(&self) -> bool {
        self.bulk
    }

    /// Bytes carried from the client to the server, and back.
    pub fn carried(&self) -> [u64; 2] {
        self.join.carried()
    }

    /// Bytes held in each direction: in both buffers of the socket, and in the association those of this stream that are in order.
    pub fn held(&self, trunk: Option<&Trunk<PayloadLength>>) -> [u64; 2] {
        let [arrived, leaves] =
            self.side.as_ref().map_or([0; 2], |side| [side.tcp.held(), side.unacknowledged()]);
        let [unacknowledged, readable] = match (self.stream, trunk) {
            (Some(id), Some(trunk)) => [trunk.unacknowledged(id), trunk.readable(id)],
            _ => [0; 2],
        };
        let [to_stream, from_stream] = [arrived + unacknowledged, readable + leaves];
        match self.config.role {
            EndRole::Opener => [to_stream, from_stream],
            EndRole::Acceptor => [from_stream, to_stream],
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<EndEvent> {
        self.events.pop_front()
    }

    /// Handles a packet from the end.
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) {
        let opens = match &packet.transport {
            Transport::Tcp(tcp) => {
                tcp.flags.has(Flags::SYN) && !tcp.flags.has(Flags::ACK) && !tcp.flags.has(Flags::RST)
            }
            Transport::TooLarge(_) => false,
            Transport::Icmp(_) | Transport::Udp(_) | Transport::Other(_) => return,
        };
        if self.side.is_none() && self.config.role == EndRole::Opener && opens && self.phase == EndPhase::Idle
        {
            self.begin(|config, [client, server], initial| {
                Connection::listen(config, server, client, initial)
            });
        }
        if let Some(side) = &mut self.side {
            side.tcp.handle_packet(now, packet);
            self.silent_since = (side.tcp.in_flight() > 0).then_some(now);
        }
    }

    fn begin(&mut self, make: impl FnOnce(tcp::Config, [SocketAddrV4; 2], u32) -> Connection) {
        let EndConfig { tcp, addresses, initial, memory, .. } = &self.config;
        let tcp = make((**tcp).clone(), *addresses, *initial);
        let tcp = match self.chance.take() {
            Some(chance) => tcp.with_chance(chance),
            None => tcp,
        };
        self.side = Some(TcpSide {
            tcp,
            memory: *memory,
            written: 0,
            connected: false,
            finished: false,
            failed: false,
        });
    }

    /// The stream has a number: at the opener when the association gives it one, at the acceptor when it has been opened.
    pub fn set_stream(&mut self, trunk: &mut Trunk<PayloadLength>, id: u64) {
        self.stream = Some(id);
        match self.config.role {
            EndRole::Opener => {
                trunk.write(id, PayloadLength(self.config.preamble));
                self.phase = EndPhase::Opening;
            }
            EndRole::Acceptor => self.phase = EndPhase::Reading(self.config.preamble),
        }
    }

    /// All data of the far gateway have arrived.
    pub fn handle_finished(&mut self) {
        self.finished = true;
    }

    /// The stream was reset, or the association has ended.
    pub fn handle_reset(&mut self) {
        self.stream = None;
        self.fail(None);
    }

    /// Handles the timeout of [`GatewayEnd::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        let dead = self.gives_up_at().is_some_and(|at| at <= now);
        if let Some(side) = &mut self.side {
            side.tcp.handle_timeout(now);
            side.failed |= dead;
        }
    }

    /// Time of the next timeout.
    pub fn poll_timeout(&self) -> Option<Time> {
        let tcp = self.side.as_ref().and_then(|side| side.tcp.poll_timeout());
        [tcp, self.gives_up_at().filter(|_| !self.is_over())].into_iter().flatten().min()
    }

    fn gives_up_at(&self) -> Option<Time> {
        self.silent_since.map(|since| since + self.config.give_up)
    }

    /// The next packet for the end.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let side = self.side.as_mut()?;
        let packet = side.tcp.poll_transmit(now)?;
        if side.tcp.in_flight() > 0 {
            self.silent_since.get_or_insert(now);
        }
        Some(packet)
    }

    /// Notes news of the end while there is no association.
    pub fn wait(&mut self) {
        self.take_events();
    }

    /// Carries data as far as both sides allow, with at most `most` bytes from the client to the server, and back. `unsent_max` is the
    /// number of bytes that may wait in the stream, and `window` that of those which may come from it ([`StreamSide`]). Returns the
    /// number of bytes read from the stream.
    pub fn pump(
        &mut self,
        trunk: &mut Trunk<PayloadLength>,
        [unsent_max, window]: [u64; 2],
        most: [u64; 2],
    ) -> u64 {
        self.take_events();
        let mut read = 0;
        if self.is_over() {
            return read;
        }
        if self.side.as_ref().is_some_and(|side| side.failed) {
            self.fail(Some(trunk));
            return read;
        }
        let Some(id) = self.stream else { return read };
        if let EndPhase::Reading(missing) = self.phase {
            let left = missing - take(trunk, id, missing);
            read += missing - left;
            self.phase = EndPhase::Reading(left);
            if left > 0 {
                return read;
            }
            self.phase = EndPhase::Connecting;
            self.begin(|config, [client, server], initial| {
                Connection::connect(config, client, server, initial)
            });
        }
        if self.phase == EndPhase::Connecting && self.side.as_ref().is_some_and(|side| side.connected) {
            trunk.write(id, PayloadLength(ANSWER));
            trunk.unreserve(id);
            self.phase = EndPhase::Open;
        }
        if self.phase == EndPhase::Opening && take(trunk, id, ANSWER) == ANSWER {
            read += ANSWER;
            trunk.unreserve(id);
            self.phase = EndPhase::Open;
        }
        if !matches!(self.phase, EndPhase::Opening | EndPhase::Open) {
            return read;
        }
        let Some(side) = &mut self.side else { return read };
        let unanswered = self.phase == EndPhase::Opening;
        let before = self.join.carried();
        let progress = loop {
            let carried = self.join.carried();
            let most = [0, 1].map(|way| most[way] - (carried[way] - before[way]).min(most[way]));
            let mut stream =
                StreamSide { trunk, id, unsent_max, finished: self.finished, window, unanswered };
            let progress = match self.config.role {
                EndRole::Opener => self.join.pump(side, &mut stream, most),
                EndRole::Acceptor => self.join.pump(&mut stream, side, most),
            };
            if progress != Progress::More {
                break progress;
            }
        };
        let from_stream = usize::from(self.config.role == EndRole::Opener);
        read += self.join.carried()[from_stream] - before[from_stream];
        match progress {
            Progress::Closed => {
                self.phase = EndPhase::Closed;
                self.events.push_back(EndEvent::Closed);
            }
            Progress::Broken(_) => self.fail(Some(trunk)),
            Progress::Waits | Progress::WaitsForAcknowledgment | Progress::More => {}
        }
        if self.config.role == EndRole::Opener && !self.bulk && self.join.carried().iter().sum::<u64>() > BULK
        {
            self.bulk = true;
            self.events.push_back(EndEvent::Bulk);
        }
        read
    }

    fn take_events(&mut self) {
        let Some(side) = &mut self.side else { return };
        while let Some(event) = side.tcp.poll_event() {
            match event {
                tcp::Event::Connected => {
                    self.events.push_back(EndEvent::Connected);
                    side.connected = true;
                    if self.phase == EndPhase::Idle {
                        self.phase = EndPhase::Wants;
                    }
                }
                tcp::Event::PeerFinished => side.finished = true,
                tcp::Event::Reset => side.failed = true,
                tcp::Event::Received(_) | tcp::Event::AllAcknowledged | tcp::Event::Closed => {}
            }
        }
    }

    /// Resets both sides, as far as they exist.
    fn fail(&mut self, trunk: Option<&mut Trunk<PayloadLength>>) {
        if self.is_over() {
            return;
        }
        self.phase = EndPhase::Broken;
        self.events.push_back(EndEvent::Broken);
        if let Some(side) = &mut self.side {
            side.tcp.reset();
        }
        if let (Some(trunk), Some(id)) = (trunk, self.stream) {
            trunk.reset(id, Reason::Aborted);
        }
    }
}

/// Reads and drops at most `most` bytes of a stream. Returns their number.
fn take(trunk: &mut Trunk<PayloadLength>, id: u64, most: u64) -> u64 {
    let mut taken = 0;
    while taken < most
        && let Some(PayloadLength(bytes)) = trunk.read(id, (most - taken) as usize)
    {
        taken += bytes;
    }
    taken
}
