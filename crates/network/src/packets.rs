//! The packets in the network: frames, what lies beside them, their routes, and the accounts that they are counted on.
//!
//! Every packet comes in and ends here, so that sent + duplicated = delivered + dropped + lost + in flight for whoever drives the network.

use crate::account::{Account, Fate};
use crate::beside::{Beside, Inside};
use crate::frame::Frame;
use crate::frames::Frames;
use crate::pinned::Steps;
use crate::route::{Route, Way};
use skyhop_link::FlippedBit;
use std::collections::{BTreeMap, VecDeque};

pub(crate) struct Packets {
    pub frames: Frames<Frame>,
    pub beside: Beside,
    pub routes: Vec<Route>,
    pub accounts: Vec<Account>,
    /// Where packets on pinned ways are.
    pub steps: Steps,
    /// Tags of packets that have ended on the way, of routes whose drivers are told.
    pub ended: VecDeque<u32>,
    /// Tags of packets of which there is one more, of the same routes.
    pub copied: VecDeque<u32>,
    /// The bits that links have flipped in packets that go on, if those are to.
    pub flipped: Option<BTreeMap<u32, Vec<FlippedBit>>>,
}

impl Packets {
    pub fn new() -> Self {
        Self {
            frames: Frames::new(),
            beside: Beside::default(),
            routes: Vec::new(),
            accounts: Vec::new(),
            steps: Steps::default(),
            ended: VecDeque::new(),
            copied: VecDeque::new(),
            flipped: None,
        }
    }

    /// A packet enters the network. Returns its number.
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

    /// A link has made a copy of a packet, which goes on from where the packet is. Returns the copy's number; from now on both are told
    /// to be two of one.
    #[inline(never)]
    pub fn duplicate(&mut self, id: u32) -> u32 {
        self.frames[id].twin = true;
        let mut frame = self.frames[id].clone();
        // It crosses the same link as the packet, which counts it already.
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

    /// A packet has been spoilt, by a bit that is another if there is one here. Whether it goes on, across one link more.
    pub fn keep(&mut self, id: u32, corrupted: Option<FlippedBit>) -> bool {
        let Some((flipped, bit)) = self.flipped.as_mut().zip(corrupted) else { return false };
        flipped.entry(id).or_default().push(bit);
        let frame = &mut self.frames[id];
        frame.hop = frame.hop.wrapping_add(1);
        true
    }

    /// A packet has come to the end of its route, and its driver has it.
    #[inline(always)]
    pub fn take(&mut self, id: u32) -> (Frame, Option<Inside>) {
        let stp = self.beside.take(id);
        (self.end(id, Fate::Delivered), stp)
    }

    /// A packet that has nothing beside it has come to the end of its route, and its driver is done with it.
    #[inline(always)]
    pub fn end_bare(&mut self, id: u32) {
        debug_assert!(self.beside.get(id).is_none());
        self.end(id, Fate::Delivered);
    }

    /// A packet goes no further.
    #[inline(never)]
    pub fn discard(&mut self, id: u32, fate: Fate) -> Frame {
        let frame = self.hand_on(id, fate);
        if self.routes[frame.route as usize].told {
            self.ended.push_back(frame.tag);
        }
        frame
    }

    /// A packet goes no further, and a router's message goes by its tag from now on: its driver keeps what is beside it until the message
    /// has ended too.
    #[inline(never)]
    pub fn hand_on(&mut self, id: u32, fate: Fate) -> Frame {
        if let Some(flipped) = &mut self.flipped {
            flipped.remove(&id);
        }
        self.beside.take(id);
        self.end(id, fate)
    }

    #[inline(always)]
    fn end(&mut self, id: u32, fate: Fate) -> Frame {
        let frame = self.frames.remove(id);
        let account = self.routes[frame.route as usize].account;
        self.accounts[account as usize].end(fate);
        frame
    }

    /// Packets in flight by the accounts.
    pub fn in_flight(&self) -> u64 {
        self.accounts.iter().map(Account::in_flight).sum()
    }
}
