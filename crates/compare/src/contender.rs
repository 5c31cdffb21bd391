//! A transport in both worlds: the kernel's or STP on real sockets, and the simulator's.
//!
//! Follows `host = "linux"` for what a kernel's TCP is in the simulator.
//! Leaves out transports that one of the worlds does not have.

use skyhop_scenario::{Flow, Host, Stp, StpOver, Tcp, Transport};
use skyhop_transport::tcp::Variant;
use skyhop_units::{Amount, Bytes, Span};
use std::fs;

/// A transport that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// Reno's window over RACK-TLP.
    Reno,
    /// CUBIC.
    Cubic,
    /// BBR, version 1.
    Bbr,
    /// STP.
    Stp,
}

/// Limits of buffers that tune themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    /// The same and large on both sides.
    Equal,
    /// The kernel's own on its side, the simulated host's on the other.
    Shipped,
}

/// The largest buffers where both sides have the same, bytes of the kernel's memory.
const LARGE: u64 = 64 << 20;
/// Window of that memory, with packets of 1500 bytes, and payload of memory that is sent from: as `host = "linux"` has it.
const WINDOW_SHARE: f64 = 162.0 / 256.0;
const SEND_SHARE: f64 = 4_150_000.0 / 4_194_304.0;

impl Contender {
    /// All contenders.
    pub const ALL: [Self; 4] = [Self::Reno, Self::Cubic, Self::Bbr, Self::Stp];

    /// Its name in options and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Stp => "stp",
        }
    }

    /// The contender of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Its congestion control in the kernel; `None` of STP, which the kernel does not have.
    pub fn kernels(self) -> Option<&'static str> {
        (self != Self::Stp).then(|| self.name())
    }

    /// True if this machine has it.
    pub fn available(self) -> bool {
        let text = || fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").ok();
        let has = |name| text().is_some_and(|text| text.split_whitespace().any(|one| one == name));
        self.kernels().is_none_or(has)
    }

    /// The same transport as the simulator has it, for a flow.
    pub fn simulated(self, flow: &Flow, buffers: Buffers) -> Transport {
        let variant = match self {
            Self::Reno => Variant::Reno,
            Self::Cubic => Variant::Cubic,
            Self::Bbr => Variant::Bbr1,
            Self::Stp => return Transport::Stp(Box::new(stp_of(flow))),
        };
        let mut tcp: Tcp = Host::Linux.tcp(Some(variant), None);
        if buffers == Buffers::Equal {
            let of = |share: f64| Amount::Bytes(Bytes::new((LARGE as f64 * share) as u64));
            tcp.window_max = of(WINDOW_SHARE);
            tcp.send_buffer_max = Some(of(SEND_SHARE));
        }
        Transport::Tcp(Box::new(tcp))
    }
}

/// Step of the timer by which real hosts send: a sleeping thread wakes no finer.
const STEP: Span = Span::from_millis(1);

/// The STP of a flow: its transport's keys, or STP's defaults where there are none, sealed and with a real host's timer.
pub fn stp_of(flow: &Flow) -> Stp {
    let stp = match &flow.transport {
        Transport::Stp(stp) => (**stp).clone(),
        _ => Stp::default(),
    };
    Stp { granularity: stp.granularity.max(STEP), over: Some(StpOver::SealedUdp), ..stp }
}

impl Buffers {
    /// Its name in options and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Shipped => "shipped",
        }
    }

    /// The kernel's parameters for it, by names below /proc/sys/net. Connections of one run know nothing of each other, as in the
    /// simulator.
    pub fn sysctls(self) -> Vec<(String, String)> {
        let mut all = vec![("ipv4/tcp_no_metrics_save".to_owned(), "1".to_owned())];
        if self == Self::Equal {
            all.push(("ipv4/tcp_rmem".into(), format!("4096 131072 {LARGE}")));
            all.push(("ipv4/tcp_wmem".into(), format!("4096 16384 {LARGE}")));
        }
        all
    }
}
