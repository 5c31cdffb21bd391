//! Name resolution while the gateway runs.
//!
//! Follows getaddrinfo(3), which blocks: so a few threads wait for it, and requests beyond a limit are refused.
//! Leaves out a cache, which the host's resolver has.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};

/// Slot and generation of a flow, and its addresses; none if the name does not exist.
pub type Found = ((usize, u64), Vec<SocketAddr>);

const THREADS: usize = 8;
const QUEUE: usize = 256;

type NameQuestion = ((usize, u64), String, u16);

/// The resolver threads.
pub struct Names {
    ask: SyncSender<NameQuestion>,
    found: Receiver<Found>,
}

impl Names {
    /// Starts the threads; `wake` is called for each result.
    pub fn start(wake: impl Fn() + Send + Sync + 'static) -> std::io::Result<Self> {
        let (ask, questions) = sync_channel::<NameQuestion>(QUEUE);
        let (tell, found) = channel();
        let (questions, wake) = (Arc::new(Mutex::new(questions)), Arc::new(wake));
        for _ in 0..THREADS {
            let (questions, tell, wake) = (questions.clone(), tell.clone(), wake.clone());
            std::thread::Builder::new()
                .name("names".into())
                .stack_size(256 << 10)
                .spawn(move || answer(&questions, &tell, &*wake))?;
        }
        Ok(Names { ask, found })
    }

    /// Requests the resolution of a name. False if too many are waiting.
    pub fn ask(&self, flow: (usize, u64), name: String, port: u16) -> bool {
        self.ask.try_send((flow, name, port)).is_ok()
    }

    /// The next result.
    pub fn found(&self) -> Option<Found> {
        self.found.try_recv().ok()
    }
}

fn answer(questions: &Mutex<Receiver<NameQuestion>>, tell: &Sender<Found>, wake: &dyn Fn()) {
    loop {
        let question = questions.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv();
        let Ok((flow, name, port)) = question else { return };
        let addresses = (name.as_str(), port).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
        if tell.send((flow, addresses)).is_err() {
            return;
        }
        wake();
    }
}
