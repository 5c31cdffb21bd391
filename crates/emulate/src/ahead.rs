//! Satellites worked out before they are due, by a thread of its own.
//!
//! Follows the network's epochs: each is handed over in its order, and one that is late is counted there.
//! Differs from the simulator, which looks when it is due.
//! Leaves out what an epoch holds.

use skyhop_network::{NetworkEpoch, Outlook};
use skyhop_sim::Simulation;
use skyhop_units::{Span, Time};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Epochs that wait to be handed over.
const WAITING: usize = 4;
/// Time by which an epoch is handed over before it is due.
const EARLY: Span = Span::from_secs(2);

/// Epochs that are to come.
pub struct Ahead {
    epochs: Option<Receiver<NetworkEpoch>>,
    next: Option<NetworkEpoch>,
}

impl Ahead {
    /// Starts a thread that works satellites out, if there are any, and waits for the first epoch.
    pub fn start(simulation: &mut Simulation) -> Self {
        let Some(outlook) = simulation.outlook() else { return Self { epochs: None, next: None } };
        let (sender, epochs) = sync_channel(WAITING);
        let work = move |mut outlook: Outlook| while sender.send(outlook.next()).is_ok() {};
        thread::spawn(move || work(outlook));
        let next = epochs.recv_timeout(Duration::from_secs(60)).ok();
        Self { epochs: Some(epochs), next }
    }

    /// Hands over what is due soon.
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
