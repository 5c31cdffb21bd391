//! A transport on both sides of a comparison: emulated (the kernel's TCP, or STP on real sockets) and simulated.
//!
//! Follows `host = "linux"` for the simulated counterpart of a kernel's TCP.
//! Leaves out transports that only one side has.

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
    /// Equally large on both sides.
    Equal,
    /// The kernel's defaults on its side, the simulated host's on the other.
    Shipped,
}

/// Largest buffers if both sides have the same, bytes of the kernel's memory.
const LARGE: u64 = 64 << 20;
/// Share of that memory for the window, with packets of 1500 bytes, and for the payload in the send buffer, as in `host = "linux"`.
const WINDOW_SHARE: f64 = 162.0 / 256.0;
const SEND_SHARE: f64 = 4_150_000.0 / 4_194_304.0;

impl Contender {
    /// All contenders.
    pub const ALL: [Self; 4] = [Self::Reno, Self::Cubic, Self::Bbr, Self::Stp];

    /// Name in options and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Stp => "stp",
        }
    }

    /// The contender of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Name of its congestion control in the kernel; `None` for STP, which the kernel lacks.
    pub fn kernels(self) -> Option<&'static str> {
        (self != Self::Stp).then(|| self.name())
    }

    /// Returns true if this machine has it.
    pub fn available(self) -> bool {
        let text = || fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").ok();
        let has = |name| text().is_some_and(|text| text.split_whitespace().any(|one| one == name));
        self.kernels().is_none_or(has)
    }

    /// Its simulated counterpart, for a flow.
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

/// Granularity of the timer of real hosts: a sleeping thread does not wake more precisely.
const STEP: Span = Span::from_millis(1);

/// STP's parameters for a flow: its transport's keys, or the defaults, with sealed packets and a real host's timer.
pub fn stp_of(flow: &Flow) -> Stp {
    let stp = match &flow.transport {
        Transport::Stp(stp) => (**stp).clone(),
        _ => Stp::default(),
    };
    Stp { granularity: stp.granularity.max(STEP), over: Some(StpOver::SealedUdp), ..stp }
}

impl Buffers {
    /// Name in options and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Shipped => "shipped",
        }
    }

    /// Parameters of the kernel for it, by names below /proc/sys/net. As in the simulator, connections of a run share no state.
    pub fn sysctls(self) -> Vec<(String, String)> {
        let mut all = vec![("ipv4/tcp_no_metrics_save".to_owned(), "1".to_owned())];
        if self == Self::Equal {
            all.push(("ipv4/tcp_rmem".into(), format!("4096 131072 {LARGE}")));
            all.push(("ipv4/tcp_wmem".into(), format!("4096 16384 {LARGE}")));
        }
        all
    }
}
