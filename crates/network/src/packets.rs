//! The packets in the network: frames, STP packets inside, routes, and the accounts that count them.
//!
//! Every packet enters and ends here, so that sent + duplicated = delivered + dropped + lost + in flight.

use crate::account::{Account, PacketFate};
use crate::beside::{Inside, StpPackets};
use crate::frame::Frame;
use crate::frames::FrameSlab;
use crate::pinned::Steps;
use crate::route::{Route, Way};
use skyhop_link::FlippedBit;
use skyhop_wire::Transport;
use std::collections::{BTreeMap, VecDeque};

pub(crate) struct Packets {
    pub frames: FrameSlab<Frame>,
    pub beside: StpPackets,
    pub routes: Vec<Route>,
    pub accounts: Vec<Account>,
    /// Steps of packets on pinned paths.
    pub steps: Steps,
    /// Tags of packets that ended before their destination, of routes with [`Route::told`].
    pub ended: VecDeque<u32>,
    /// Tags of packets that were duplicated, of the same routes.
    pub copied: VecDeque<u32>,
    /// Flipped bits of packets that continue; `None` if such packets are lost.
    pub flipped: Option<BTreeMap<u32, Vec<FlippedBit>>>,
}

impl Packets {
    pub fn new() -> Self {
        Self {
            frames: FrameSlab::new(),
            beside: StpPackets::default(),
            routes: Vec::new(),
            accounts: Vec::new(),
            steps: Steps::default(),
            ended: VecDeque::new(),
            copied: VecDeque::new(),
            flipped: None,
        }
    }

    /// Adds a packet to the network. Returns its number.
    #[inline(always)]
    pub fn begin(&mut self, frame: Frame, stp: Option<Inside>) -> u32 {
        let account = self.routes[frame.route as usize].account;
        self.accounts[account as usize].sent += 1;
        let id = self.frames.insert(frame);
        if let Some(stp) = stp {
            self.beside.put(id, stp);
        }
        id
    }

    /// Adds a copy of a packet at the same position. Returns the copy's number; both are marked as twins.
    #[inline(never)]
    pub fn duplicate(&mut self, id: u32) -> u32 {
        self.frames[id].twin = true;
        let mut frame = self.frames[id].clone();
        // It crosses the same link as the packet, and that crossing has been counted.
        frame.hop = frame.hop.wrapping_sub(1);
        self.accounts[self.routes[frame.route as usize].account as usize].duplicated += 1;
        let pinned = matches!(self.routes[frame.route as usize].way, Way::Pinned(_));
        if self.routes[frame.route as usize].told {
            self.copied.push_back(frame.tag);
        }
        let copy = self.frames.insert(frame);
        if pinned {
            let step = *self.steps.of(id);
            self.steps.begin(copy, step);
        }
        if let Some(stp) = self.beside.get(id).cloned() {
            self.beside.put(copy, stp);
        }
        if let Some(flipped) = &mut self.flipped
            && let Some(bits) = flipped.get(&id).cloned()
        {
            flipped.insert(copy, bits);
        }
        copy
    }

    /// Adds a copy of an acknowledgment at the same position, with another number. Returns the copy's number.
    pub fn acknowledging(&mut self, id: u32, number: u32) -> u32 {
        let mut frame = self.frames[id].clone();
        if let Transport::Tcp(tcp) = &mut frame.packet.transport {
            tcp.ack = number;
        }
        self.accounts[self.routes[frame.route as usize].account as usize].duplicated += 1;
        let step =
            matches!(self.routes[frame.route as usize].way, Way::Pinned(_)).then(|| *self.steps.of(id));
        let copy = self.frames.insert(frame);
        if let Some(step) = step {
            self.steps.begin(copy, step);
        }
        copy
    }

    /// Records the flipped bit of a packet. Returns true if the packet continues across the next link.
    pub fn keep(&mut self, id: u32, corrupted: Option<FlippedBit>) -> bool {
        let Some((flipped, bit)) = self.flipped.as_mut().zip(corrupted) else { return false };
        flipped.entry(id).or_default().push(bit);
        let frame = &mut self.frames[id];
        frame.hop = frame.hop.wrapping_add(1);
        true
    }

    /// Removes a packet that reached the end of its route, and returns it to its driver.
    #[inline(always)]
    pub fn take(&mut self, id: u32) -> (Frame, Option<Inside>) {
        let stp = self.beside.take(id);
        (self.end(id, PacketFate::Delivered), stp)
    }

    /// Removes a packet without an STP packet that reached the end of its route.
    #[inline(always)]
    pub fn end_bare(&mut self, id: u32) {
        debug_assert!(self.beside.get(id).is_none());
        self.end(id, PacketFate::Delivered);
    }

    /// Removes a packet that goes no further.
    #[inline(never)]
    pub fn discard(&mut self, id: u32, fate: PacketFate) -> Frame {
        let frame = self.hand_on(id, fate);
        if self.routes[frame.route as usize].told {
            self.ended.push_back(frame.tag);
        }
        frame
    }

    /// Removes a packet that goes no further and whose tag passes to a router's error about it: its driver keeps its data until
    /// the error has ended too.
    #[inline(never)]
    pub fn hand_on(&mut self, id: u32, fate: PacketFate) -> Frame {
        if let Some(flipped) = &mut self.flipped {
            flipped.remove(&id);
        }
        self.beside.take(id);
        self.end(id, fate)
    }

    #[inline(always)]
    fn end(&mut self, id: u32, fate: PacketFate) -> Frame {
        let frame = self.frames.remove(id);
        let account = self.routes[frame.route as usize].account;
        self.accounts[account as usize].end(fate);
        frame
    }

    /// Number of packets in flight by the accounts.
    pub fn in_flight(&self) -> u64 {
        self.accounts.iter().map(Account::in_flight).sum()
    }
}
