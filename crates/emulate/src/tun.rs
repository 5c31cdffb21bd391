//! A TUN device: packets of a host are read from it, and the host receives packets written to it.
//!
//! Follows Documentation/networking/tuntap.rst of Linux, with the header of virtio-net before each frame.
//! Differs from a persistent device: it has one queue, and vanishes when its descriptor is closed.
//! Leaves out Ethernet frames.

use crate::error::{Error, Tried};
use crate::offload::{self, Offload};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const TUN: &str = "/dev/net/tun";
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNSETOFFLOAD: libc::c_ulong = 0x4004_54d0;
const IFF_TUN: i16 = 1;
const IFF_NO_PI: i16 = 0x1000;
const IFF_VNET_HDR: i16 = 0x4000;
const CHECKSUM: libc::c_uint = 1;
const TCP: libc::c_uint = 2 | 4 | 8;
const UDP: libc::c_uint = 0x20 | 0x40;

/// A device in the namespace in which it was created.
pub struct Tun {
    fd: OwnedFd,
    offloads: Offloads,
}

/// Kinds of packets that a device may combine into one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offloads {
    /// No offloads; the kernel computes checksums.
    None,
    /// Segmentation of TCP.
    Tcp,
    /// Segmentation of TCP and UDP.
    TcpAndUdp,
}

impl Offloads {
    /// Name in a summary.
    pub fn name(self) -> &'static str {
        match self {
            Offloads::None => "none",
            Offloads::Tcp => "tcp",
            Offloads::TcpAndUdp => "tcp and udp",
        }
    }
}

#[repr(C)]
struct TunRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: i16,
    rest: [u8; 22],
}

impl Tun {
    /// Creates a device in the calling thread's namespace. Without `offload`, each frame is one packet with a complete checksum.
    pub fn new(name: &str, offload: bool) -> Result<Self, Error> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = match rustix::fs::open(TUN, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => {
                let missing = format!(
                    "there is no {TUN}: load the module \"tun\" (modprobe tun), or give the container that device"
                );
                return Err(Error::Lacking(missing));
            }
            Err(Errno::ACCESS | Errno::PERM) => {
                let closed = format!(
                    "this user may not open {TUN}: as root, chmod 666 {TUN}, as most systems have it"
                );
                return Err(Error::Lacking(closed));
            }
            Err(why) => return Err(why).tried(|| format!("cannot open {TUN}")),
        };
        let mut request = TunRequest {
            name: [0; libc::IFNAMSIZ],
            flags: IFF_TUN | IFF_NO_PI | IFF_VNET_HDR,
            rest: [0; 22],
        };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        // SAFETY: the request is as long as the kernel's `struct ifreq`, and lives through the call.
        let done = unsafe { libc::ioctl(fd.as_raw_fd(), TUNSETIFF as _, &raw mut request) };
        if done < 0 {
            return Err(io::Error::last_os_error()).tried(|| format!("cannot make the device {name}"));
        }
        let mut tun = Self { fd, offloads: Offloads::None };
        if offload {
            tun.offloads = [Offloads::TcpAndUdp, Offloads::Tcp]
                .into_iter()
                .find(|offloads| tun.set_offloads(*offloads).is_ok())
                .unwrap_or(Offloads::None);
        }
        if tun.offloads == Offloads::None {
            tun.set_offloads(Offloads::None).tried(|| "cannot set the device's offloads".to_owned())?;
        }
        Ok(tun)
    }

    /// A socket in the place of a device, for tests: each of its messages is a frame.
    #[cfg(test)]
    pub(crate) fn of_socket(socket: OwnedFd) -> Self {
        Self { fd: socket, offloads: Offloads::TcpAndUdp }
    }

    /// Sets the kinds of frames that may carry many packets.
    pub fn set_offloads(&mut self, offloads: Offloads) -> io::Result<()> {
        let flags = match offloads {
            Offloads::None => 0,
            Offloads::Tcp => CHECKSUM | TCP,
            Offloads::TcpAndUdp => CHECKSUM | TCP | UDP,
        };
        // SAFETY: this request takes a number.
        let done =
            unsafe { libc::ioctl(self.fd.as_raw_fd(), TUNSETOFFLOAD as _, libc::c_ulong::from(flags)) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        self.offloads = offloads;
        Ok(())
    }

    /// The packets that are combined.
    pub fn offloads(&self) -> Offloads {
        self.offloads
    }

    /// Reads an offload header and a frame into `buffer`, and returns the frame's place there; `None` if none waits.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<(Offload, Range<usize>)>> {
        match rustix::io::read(&self.fd, &mut *buffer) {
            Ok(len) => {
                let header = buffer.first_chunk().filter(|_| len >= offload::LEN);
                Ok(header.map(|header| (Offload::read(header), offload::LEN..len)))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// Writes a frame in two parts.
    pub fn write(&self, offload: Offload, header: &[u8], payload: &[u8]) -> io::Result<()> {
        let before = offload.write();
        let parts = [IoSlice::new(&before), IoSlice::new(header), IoSlice::new(payload)];
        Ok(rustix::io::writev(&self.fd, &parts).map(drop)?)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
