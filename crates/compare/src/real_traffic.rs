//! The traffic of a compared flow, open in its hosts: connections of an application, or datagrams.
//!
//! Follows the simulator's applications, which are run in both.
//! Leaves out pings, which no transport changes.

use crate::carrier::{FlowHosts, OpenFlow, Times};
use crate::datagrams::DatagramSockets;
use crate::measured::MeasuredFlow;
use skyhop_emulate::Error;
use skyhop_emulate::clock::RunClock;
use skyhop_scenario::Loaded;
use skyhop_sim::{application_of, datagrams_of};
use skyhop_traffic::{Application, Datagrams};

/// A flow whose sockets are open.
pub enum RealTraffic {
    /// An application with connections.
    Connections(Box<OpenFlow>, Application),
    /// Datagrams.
    Datagrams(DatagramSockets, Datagrams),
}

impl RealTraffic {
    /// Opens a flow's sockets in its hosts.
    ///
    /// # Errors
    ///
    /// A flow that cannot be built, or sockets that the system does not allow.
    pub fn open(loaded: &Loaded, seed: u64, place: FlowHosts) -> Result<Self, Error> {
        let (scenario, files, flow) = (&loaded.scenario, &loaded.files, place.flow);
        let refused = |why| Error::System("cannot open a socket in a host".into(), why);
        if scenario.flows[flow].traffic.in_datagrams() {
            let source = datagrams_of(scenario, files, seed, flow);
            let source = source.map_err(|e| Error::Scenario(e.key, e.message))?;
            return Ok(Self::Datagrams(DatagramSockets::new(&place).map_err(refused)?, source));
        }
        let application = application_of(scenario, files, seed, flow);
        let application = application.map_err(|e| Error::Scenario(e.key, e.message))?;
        Ok(Self::Connections(Box::new(OpenFlow::new(place).map_err(refused)?), application))
    }

    /// Runs it until its end or that of the run.
    pub fn carry_out(self, clock: RunClock, times: Times, go_on: &(dyn Fn() -> bool + Sync)) -> MeasuredFlow {
        match self {
            Self::Connections(open, application) => open.carry_out(clock, application, times, go_on),
            Self::Datagrams(sockets, source) => sockets.carry_out(clock, source, times, go_on),
        }
    }
}
