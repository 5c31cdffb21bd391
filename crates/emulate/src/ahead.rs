//! Satellites computed ahead of time, by a separate thread.
//!
//! Follows the network's epochs: they are passed on in order, and the network counts late ones.
//! Differs from the simulator, which updates satellites when that is due.
//! Leaves out the contents of an epoch.

use skyhop_network::{NetworkEpoch, Outlook};
use skyhop_sim::Simulation;
use skyhop_units::{Span, Time};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Number of computed epochs that may wait.
const WAITING: usize = 4;
/// Time before it is due at which an epoch is passed on.
const EARLY: Span = Span::from_secs(2);

/// Future epochs.
pub struct Ahead {
    epochs: Option<Receiver<NetworkEpoch>>,
    next: Option<NetworkEpoch>,
}

impl Ahead {
    /// Starts a thread that computes satellites, if there are any, and waits for the first epoch.
    pub fn start(simulation: &mut Simulation) -> Self {
        let Some(outlook) = simulation.outlook() else { return Self { epochs: None, next: None } };
        let (sender, epochs) = sync_channel(WAITING);
        let work = move |mut outlook: Outlook| while sender.send(outlook.next()).is_ok() {};
        thread::spawn(move || work(outlook));
        let next = epochs.recv_timeout(Duration::from_secs(60)).ok();
        Self { epochs: Some(epochs), next }
    }

    /// Passes epochs that are due soon to the simulation.
    pub fn hand_over(&mut self, now: Time, simulation: &mut Simulation) {
        let Some(epochs) = &self.epochs else { return };
        loop {
            let epoch = match self.next.take().map_or_else(|| epochs.recv_timeout(Duration::ZERO), Ok) {
                Ok(epoch) => epoch,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            };
            if epoch.at() > now + EARLY {
                self.next = Some(epoch);
                return;
            }
            simulation.look_ahead(epoch);
        }
    }
}
