//! SYNs that the firewall has dropped and logged: the daemon's only way to see one before the kernel answers it.
//!
//! Follows the kernel's nfnetlink_log (linux/netfilter/nfnetlink_log.h). Differs from a queue of the firewall (nfqueue), which holds the
//! packet itself and which many kernels are built without: here the packet is gone, and the daemon writes it anew.
//! Leaves out everything of a message but the packet.

use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// The group of the log: the letters "sk".
pub const GROUP: u16 = 0x736b;
/// Bytes of a packet in the log: the longest headers are of 120.
pub const LENGTH: u32 = 128;

const SUBSYSTEM: u16 = 4 << 8;
const PACKET: u16 = SUBSYSTEM;
const CONFIG: u16 = SUBSYSTEM | 1;
/// Attributes of a configuration.
const COMMAND: u16 = 1;
const MODE: u16 = 2;
const THRESHOLD: u16 = 5;
/// The attribute of a message that has the packet.
const PAYLOAD: u16 = 9;
/// Lengths of netlink's header, netfilter's header, and an attribute's header.
const HEADER: usize = 16;
const FAMILY: usize = 4;
const ATTRIBUTE: usize = 4;
/// Size of the receive buffer, bytes. If it is full, SYNs are lost, and clients repeat them.
const BUFFER: usize = 1 << 20;

/// The reading end of the log.
#[derive(Debug)]
pub struct SynLog {
    socket: Socket,
    buffer: Vec<u8>,
}

impl SynLog {
    /// Subscribes to the group. Needs CAP_NET_ADMIN.
    pub fn open() -> io::Result<Self> {
        let protocol = Protocol::from(libc::NETLINK_NETFILTER);
        let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(protocol))?;
        let mut log = SynLog { socket, buffer: vec![0; 64 << 10] };
        log.configure(COMMAND, &[1])?;
        let [a, b, c, d] = LENGTH.to_be_bytes();
        log.configure(MODE, &[a, b, c, d, 2, 0])?;
        // Each packet in a message of its own, without the default's wait for a second.
        log.configure(THRESHOLD, &1_u32.to_be_bytes())?;
        let _ = log.socket.set_recv_buffer_size(BUFFER);
        log.socket.set_nonblocking(true)?;
        Ok(log)
    }

    fn configure(&mut self, attribute: u16, value: &[u8]) -> io::Result<()> {
        let padded = value.len().next_multiple_of(4);
        let len = HEADER + FAMILY + ATTRIBUTE + padded;
        let mut message = Vec::with_capacity(len);
        message.extend((len as u32).to_ne_bytes());
        message.extend(CONFIG.to_ne_bytes());
        message.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
        message.extend([0; 8]);
        message.extend([0, 0]);
        message.extend(GROUP.to_be_bytes());
        message.extend(((ATTRIBUTE + value.len()) as u16).to_ne_bytes());
        message.extend(attribute.to_ne_bytes());
        message.extend(value);
        message.resize(len, 0);
        self.socket.send(&message)?;
        loop {
            let len = (&self.socket).read(&mut self.buffer)?;
            // A SYN that is logged meanwhile is repeated by its client.
            if let Some(code) =
                messages(&self.buffer[..len]).find_map(|(kind, body)| acknowledgment(kind, body))
            {
                return if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) };
            }
        }
    }

    /// Passes on the packets of the next message. Returns false if none waits.
    pub fn read(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<bool> {
        match (&self.socket).read(&mut self.buffer) {
            Ok(len) => {
                packets(&self.buffer[..len]).for_each(&mut take);
                Ok(true)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) || e.kind() == io::ErrorKind::Interrupted => {
                Ok(true)
            }
            Err(e) => Err(e),
        }
    }
}

impl AsFd for SynLog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for SynLog {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// The packets in what the kernel has sent.
fn packets(datagram: &[u8]) -> impl Iterator<Item = &[u8]> {
    messages(datagram).filter(|(kind, _)| *kind == PACKET).filter_map(|(_, body)| {
        parts(body.get(FAMILY..)?, |head| usize::from(u16::from_ne_bytes([head[0], head[1]])), ATTRIBUTE)
            .find(|(head, _)| u16::from_ne_bytes([head[2], head[3]]) == PAYLOAD)
            .map(|(_, packet)| packet)
    })
}

/// Types and contents of netlink's messages.
fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let len = |head: &[u8]| u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
    parts(datagram, len, HEADER).map(|(head, body)| (u16::from_ne_bytes([head[4], head[5]]), body))
}

/// The error number of an acknowledgment, zero or negative.
fn acknowledgment(kind: u16, body: &[u8]) -> Option<i32> {
    let is = kind == libc::NLMSG_ERROR as u16;
    body.first_chunk().filter(|_| is).map(|code| i32::from_ne_bytes(*code))
}

/// Parts that each begin with a header, which has the length of both, padded to four bytes.
fn parts<'a>(
    mut rest: &'a [u8],
    len_in: impl Fn(&[u8]) -> usize + 'a,
    header: usize,
) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    std::iter::from_fn(move || {
        let head = rest.get(..header)?;
        let len = len_in(head);
        let body = rest.get(header..len)?;
        rest = rest.get(len.checked_next_multiple_of(4)?..).unwrap_or(&[]);
        Some((head, body))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut out = ((ATTRIBUTE + value.len()) as u16).to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut out = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend([0; 10]);
        out.extend(body);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    #[test]
    fn packets_are_found_among_messages_and_attributes() {
        let logged = |packet: &[u8]| {
            let attributes = [attribute(1, &[8, 0, 1, 0]), attribute(10, b"x\0"), attribute(PAYLOAD, packet)];
            message(PACKET, &[&[2, 0, 0x73, 0x6b], &attributes.concat()[..]].concat())
        };
        let datagram = [logged(b"first"), message(3, &[0; 4]), logged(b"second!")].concat();
        assert_eq!(packets(&datagram).collect::<Vec<_>>(), [&b"first"[..], b"second!"]);
    }

    #[test]
    fn an_acknowledgment_has_its_error() {
        let refused = message(2, &[&(-16_i32).to_ne_bytes()[..], &[0; 16]].concat());
        let codes: Vec<i32> =
            messages(&refused).filter_map(|(kind, body)| acknowledgment(kind, body)).collect();
        assert_eq!(codes, [-16]);
    }

    proptest! {
        #[test]
        fn no_datagram_makes_it_fail(mut datagram in proptest::collection::vec(any::<u8>(), 0..200), len in 0_u32..220) {
            if let Some(first) = datagram.first_chunk_mut() {
                *first = len.to_ne_bytes();
            }
            prop_assert!(packets(&datagram).map(<[u8]>::len).sum::<usize>() <= datagram.len());
        }
    }
}
