//! The core of a gateway: its file, its associations, its connections and its journal, which all of its other machines use.
//!
//! Follows no document. Differs from the gateway, which has the machines and lets them act on each other.
//! Leaves out any action of its own.

use crate::config::Config;
use crate::flows::Flows;
use crate::journal::Journal;
use crate::peer_links::PeerLinks;
use polling::Poller;
use skyhop_units::Time;
use std::net::SocketAddr;
use std::sync::Arc;

/// The core.
pub struct GatewayCore {
    pub config: Config,
    pub links: PeerLinks,
    pub flows: Flows,
    pub journal: Journal,
}

impl GatewayCore {
    /// The core of a gateway without connections; a terminal has the hub's address in `hub`.
    pub fn new(now: Time, config: Config, hub: Option<SocketAddr>, poller: Arc<Poller>) -> Self {
        GatewayCore {
            links: PeerLinks::new(now, &config, hub),
            flows: Flows::new(poller),
            journal: Journal::default(),
            config,
        }
    }

    /// Applies a new configuration.
    pub fn reload(&mut self, config: Config) {
        self.links.reload(&config);
        self.config = config;
    }

    /// The number of connections, and as many flows of UDP, that there may be.
    pub fn connections_max(&self) -> usize {
        self.flows.most(self.config.connections)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::Path;

    /// The core of a hub alone, with more lines of its file.
    pub fn alone(lines: &str) -> GatewayCore {
        let text = format!("role = \"alone\"\n{lines}\n[intercept]\ninterfaces = [\"sat0\"]\n");
        let config = Config::parse(Path::new("alone.toml"), &text).unwrap();
        GatewayCore::new(Time::from_nanos(1), config, None, Arc::new(Poller::new().unwrap()))
    }

    #[test]
    fn connections_are_limited_by_the_file_and_by_descriptors() {
        let mut core = alone("connections = 300");
        assert_eq!(core.connections_max(), 300);
        core.flows.files_max = 200;
        assert_eq!(core.connections_max(), 200);
        core.reload(alone("connections = 100").config);
        assert_eq!(core.connections_max(), 100);
    }
}
