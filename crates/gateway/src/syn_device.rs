//! The device through which held SYNs come back to the kernel.
//!
//! Follows Documentation/networking/tuntap.rst of Linux: what is written to it has arrived from the network, as for the rules of the
//! firewall and for routing. It vanishes with its descriptor, also after SIGKILL.
//! Leaves out reading: nothing is routed there.

use crate::routing::ip;
use std::fs::{File, OpenOptions, read_to_string, write};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Its name.
pub const NAME: &str = "skyhop-syn";

const TUN: &str = "/dev/net/tun";
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const IFF_TUN: i16 = 1;
const IFF_NO_PI: i16 = 0x1000;
/// An address that no host has (RFC 7600): loose source validation rejects packets from a device without one.
const ADDRESS: &str = "192.0.0.8/32";
const FILTER: &str = "/proc/sys/net/ipv4/conf";

#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: i16,
    rest: [u8; 22],
}

/// The device.
#[derive(Debug)]
pub struct SynDevice {
    file: File,
}

impl SynDevice {
    /// Makes it. Needs CAP_NET_ADMIN and `/dev/net/tun`.
    ///
    /// # Errors
    ///
    /// Something of that is missing, or the kernel would drop what is written.
    pub fn open() -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(TUN);
        let file = file.map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied => io::Error::new(
                e.kind(),
                format!("{TUN}: this user may not open it (chmod 666 {TUN}, as most systems have it)"),
            ),
            _ => io::Error::new(e.kind(), format!("{TUN}: {e} (modprobe tun)")),
        })?;
        let mut request =
            InterfaceRequest { name: [0; libc::IFNAMSIZ], flags: IFF_TUN | IFF_NO_PI, rest: [0; 22] };
        request.name[..NAME.len()].copy_from_slice(NAME.as_bytes());
        // SAFETY: the request is as long as the kernel's `struct ifreq`, and lives through the call.
        if unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &raw mut request) } < 0 {
            let e = io::Error::last_os_error();
            return Err(io::Error::new(e.kind(), format!("the device {NAME}: {e}")));
        }
        // It takes packets of IPv6 whatever a host's defaults are, and announces nothing.
        let _ = write(format!("/proc/sys/net/ipv6/conf/{NAME}/disable_ipv6"), "0");
        let _ = write(format!("/proc/sys/net/ipv6/conf/{NAME}/addr_gen_mode"), "1");
        // Loose: the larger of this and the setting for all devices holds, and strict validation would drop clients' packets here.
        let _ = write(format!("{FILTER}/{NAME}/rp_filter"), "2");
        ip(&["address", "add", ADDRESS, "dev", NAME])?;
        ip(&["link", "set", "dev", NAME, "up"])?;
        let strict = |device: &str| {
            read_to_string(format!("{FILTER}/{device}/rp_filter")).is_ok_and(|value| value.trim() == "1")
        };
        let loose =
            read_to_string(format!("{FILTER}/{NAME}/rp_filter")).is_ok_and(|value| value.trim() == "2");
        if !loose && (strict("all") || strict(NAME)) {
            let message = format!(
                "{FILTER}/{NAME}/rp_filter cannot be set to 2, so the kernel would drop held SYNs: handshake = \"at-once\""
            );
            return Err(io::Error::other(message));
        }
        Ok(SynDevice { file })
    }

    /// Writes a packet. One that the kernel does not take is lost, and the client repeats its SYN.
    pub fn send(&self, packet: &[u8]) {
        let _ = (&self.file).write(packet);
    }
}
