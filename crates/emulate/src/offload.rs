//! Offloads of a TUN device: frames that carry many packets, and their splitting and joining.
//!
//! Follows the header of virtio-net (OASIS virtio 1.2 §5.1.6) as used by Linux for TUN devices: TCP over IPv4 and IPv6, and UDP
//! segments.
//! Differs from a network card: packets are not separated. Queues and losses treat each as an index in its frame, and those that
//! leave together share one header again.
//! Leaves out UFO, tunnels inside tunnels, and frames above 65,535 bytes.

/// Size of the header before each frame, bytes.
pub const LEN: usize = 10;

/// Room for the largest headers of segments: IPv6 or IPv4 with options, TCP with options.
pub const MAX_HEADERS: usize = 128;

/// Largest number of segments in a frame: 65,535 bytes in segments of 48 bytes, TCP's minimum.
pub const MAX_SEGMENTS: u32 = 2048;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// The header before a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// True if the checksum at `checksum_start + checksum_offset` covers the pseudo-header only.
    pub needs_checksum: bool,
    /// Kind of segments; 0 for a single packet.
    pub kind: u8,
    /// Number of bytes before the payload.
    pub header_len: u16,
    /// Payload of each segment but the last.
    pub segment_size: u16,
    /// Offset of the transport header.
    pub checksum_start: u16,
    /// Offset of the checksum within the transport header.
    pub checksum_offset: u16,
}

impl Offload {
    /// Reads the header.
    pub fn read(bytes: &[u8; LEN]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            needs_checksum: bytes[0] & NEEDS_CHECKSUM != 0,
            kind: bytes[1],
            header_len: word(2),
            segment_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    /// The header as bytes.
    pub fn write(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[0] = if self.needs_checksum { NEEDS_CHECKSUM } else { 0 };
        bytes[1] = self.kind;
        let words = [self.header_len, self.segment_size, self.checksum_start, self.checksum_offset];
        for (room, word) in bytes[2..].chunks_mut(2).zip(words) {
            room.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

/// Transport of a frame of many segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OffloadTransport {
    Tcp,
    Udp,
}

/// The shape of a frame: a packet, or segments that share its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameShape {
    offload: Offload,
    /// `None` for a frame with a single packet.
    transport: Option<OffloadTransport>,
    /// Bytes of the headers of IP and transport.
    headers: u16,
    /// Payload of each segment but the last.
    segment: u16,
    /// Bytes of the frame.
    len: u32,
    count: u32,
}

impl FrameShape {
    /// The shape of `frame`; `None` if its header does not fit it.
    pub fn of(offload: Offload, frame: &[u8]) -> Option<Self> {
        let len = frame.len() as u32;
        let transport = match (offload.kind & !GSO_ECN, frame.first()? >> 4) {
            (0, _) => {
                return Some(Self { offload, transport: None, headers: 0, segment: 0, len, count: 1 });
            }
            (GSO_TCP_V4, 4) | (GSO_TCP_V6, 6) => OffloadTransport::Tcp,
            (GSO_UDP, 4 | 6) => OffloadTransport::Udp,
            _ => return None,
        };
        let start = usize::from(offload.checksum_start);
        let headers = match transport {
            OffloadTransport::Tcp => start + usize::from(*frame.get(start + 12)? >> 4) * 4,
            OffloadTransport::Udp => start + 8,
        };
        let least = if frame[0] >> 4 == 4 { 20 } else { 40 };
        let shortest = start + if transport == OffloadTransport::Tcp { 20 } else { 8 };
        let payload = frame.len().checked_sub(headers).filter(|payload| *payload > 0)? as u32;
        if start < least || headers < shortest || headers > MAX_HEADERS || offload.segment_size == 0 {
            return None;
        }
        let count = payload.div_ceil(u32::from(offload.segment_size));
        let (headers, segment) = (headers as u16, offload.segment_size);
        (count <= MAX_SEGMENTS).then_some(Self {
            offload,
            transport: Some(transport),
            headers,
            segment,
            len,
            count,
        })
    }

    /// Number of packets in it.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns true if its packets may be written in one frame with their neighbours.
    pub fn joins(&self) -> bool {
        self.transport.is_some()
    }

    /// Size of a packet with headers, bytes.
    pub fn packet_len(&self, index: u32) -> u32 {
        match self.transport {
            None => self.len,
            Some(_) => {
                let payload = self.payload(index, index);
                u32::from(self.headers) + (payload.end - payload.start) as u32
            }
        }
    }

    /// Offset of a packet's payload from that of the first, for TCP's sequence numbers.
    pub fn ahead(&self, index: u32) -> u32 {
        u32::from(self.segment) * index
    }

    /// Byte range of the payload of packets `first` to `last` in the frame.
    pub fn payload(&self, first: u32, last: u32) -> std::ops::Range<usize> {
        if self.transport.is_none() {
            return 0..self.len as usize;
        }
        let (headers, segment) = (usize::from(self.headers), usize::from(self.segment));
        let end = (headers + segment * (last as usize + 1)).min(self.len as usize);
        headers + segment * first as usize..end
    }

    /// Headers of packets `first` to `last` of `frame` for one new frame, in `room`, and the offload header. A frame with a single
    /// packet has no separate headers: it is written as it came.
    pub fn headers(
        &self,
        frame: &[u8],
        [first, last]: [u32; 2],
        room: &mut [u8; MAX_HEADERS],
    ) -> (usize, Offload) {
        let Some(transport) = self.transport else { return (0, self.offload) };
        let len = usize::from(self.headers);
        let start = usize::from(self.offload.checksum_start);
        let header = &mut room[..len];
        header.copy_from_slice(&frame[..len]);
        let payload = self.payload(first, last);
        let total = len + payload.len();
        if header[0] >> 4 == 4 {
            header[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            let id = u16::from_be_bytes([header[4], header[5]]).wrapping_add(first as u16);
            header[4..6].copy_from_slice(&id.to_be_bytes());
            header[10..12].copy_from_slice(&[0; 2]);
            let sum = !fold(sum(&header[..start]));
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            header[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes());
        }
        let behind = &mut header[start..];
        match transport {
            OffloadTransport::Tcp => {
                let seq = u32::from_be_bytes([behind[4], behind[5], behind[6], behind[7]]);
                behind[4..8].copy_from_slice(&seq.wrapping_add(self.ahead(first)).to_be_bytes());
                // FIN and PSH belong to the last segment, CWR to the first.
                behind[13] &=
                    !(if last + 1 < self.count { 0x09 } else { 0 } | if first > 0 { 0x80 } else { 0 });
            }
            OffloadTransport::Udp => behind[4..6].copy_from_slice(&((total - start) as u16).to_be_bytes()),
        }
        let pseudo = pseudo_header(header, start, total - start, transport);
        let at = start + usize::from(self.offload.checksum_offset);
        if let Some(field) = header.get_mut(at..at + 2) {
            field.copy_from_slice(&pseudo.to_be_bytes());
        }
        let several = last > first;
        let offload = Offload {
            needs_checksum: true,
            kind: if several { self.offload.kind } else { 0 },
            segment_size: if several { self.segment } else { 0 },
            header_len: self.headers,
            ..self.offload
        };
        (len, offload)
    }
}

/// Sum of 16-bit words (RFC 1071).
pub fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let all: u64 = words.by_ref().map(|w| u64::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    all + words.remainder().first().map_or(0, |last| u64::from(*last) << 8)
}

/// The sum in 16 bits.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Sum of the pseudo-header, which is in the place where the card puts the checksum.
fn pseudo_header(header: &[u8], start: usize, len: usize, transport: OffloadTransport) -> u16 {
    let addresses = if header[0] >> 4 == 4 { &header[12..20] } else { &header[8..40] };
    let protocol = if transport == OffloadTransport::Tcp { 6 } else { 17 };
    debug_assert!(start >= 20);
    fold(sum(addresses) + protocol + len as u64)
}

/// Completes a checksum that was left to the card, so that the packet can be altered or captured.
pub fn complete(offload: &Offload, packet: &mut [u8]) {
    let start = usize::from(offload.checksum_start);
    let at = start + usize::from(offload.checksum_offset);
    if !offload.needs_checksum || packet.len() < at + 2 {
        return;
    }
    // The field contains the pseudo-header's sum, so it belongs to the data summed.
    let sum = match !fold(sum(&packet[start..])) {
        // UDP has no checksum of 0 (RFC 768).
        0 if offload.checksum_offset == 6 => 0xffff,
        sum => sum,
    };
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of TCP over IPv4 or IPv6 with `payload` bytes in segments of `size`.
    fn frame(v6: bool, payload: usize, size: u16, flags: u8) -> (Offload, Vec<u8>) {
        let ip = if v6 { 40 } else { 20 };
        let mut bytes = vec![0u8; ip + 32 + payload];
        let total = bytes.len();
        if v6 {
            bytes[0] = 0x60;
            bytes[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes());
            bytes[6] = 6;
            for (at, last) in [(8, 1), (24, 2)] {
                bytes[at..at + 4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
                (bytes[at + 12], bytes[at + 15]) = (10, last);
            }
        } else {
            bytes[0] = 0x45;
            bytes[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            bytes[4..6].copy_from_slice(&0xfffeu16.to_be_bytes());
            (bytes[8], bytes[9]) = (64, 6);
            bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        }
        bytes[ip + 4..ip + 8].copy_from_slice(&0xffff_fff0u32.to_be_bytes());
        bytes[ip + 12] = 8 << 4;
        bytes[ip + 13] = flags;
        bytes[ip + 32..].iter_mut().enumerate().for_each(|(i, b)| *b = (i * 7) as u8);
        let kind = if v6 { GSO_TCP_V6 } else { GSO_TCP_V4 };
        let offload = Offload {
            needs_checksum: true,
            kind,
            header_len: (ip + 32) as u16,
            segment_size: size,
            checksum_start: ip as u16,
            checksum_offset: 16,
        };
        (offload, bytes)
    }

    fn packet(shape: &FrameShape, frame: &[u8], ends: [u32; 2]) -> (Vec<u8>, Offload) {
        let mut room = [0; MAX_HEADERS];
        let (len, offload) = shape.headers(frame, ends, &mut room);
        let mut bytes = room[..len].to_vec();
        bytes.extend_from_slice(&frame[shape.payload(ends[0], ends[1])]);
        (bytes, offload)
    }

    #[test]
    fn segments_are_packets_that_parse_with_right_checksums() {
        for v6 in [false, true] {
            let (offload, bytes) = frame(v6, 3500, 1000, 0x99);
            let shape = FrameShape::of(offload, &bytes).unwrap();
            assert_eq!(shape.count(), 4);
            let mut payload = Vec::new();
            for index in 0..4 {
                let (mut one, offload) = packet(&shape, &bytes, [index, index]);
                assert_eq!(one.len() as u32, shape.packet_len(index));
                assert_eq!(offload.kind, 0);
                complete(&offload, &mut one);
                let parsed = skyhop_wire::parse(&one).expect("checksums are right");
                let skyhop_wire::Transport::Tcp(tcp) = parsed.transport else { panic!() };
                assert_eq!(tcp.seq, 0xffff_fff0u32.wrapping_add(1000 * index));
                let flags = tcp.flags.0;
                let expected = 0x10 | if index == 0 { 0x80 } else { 0 } | if index == 3 { 0x09 } else { 0 };
                assert_eq!(flags, expected, "segment {index}");
                if !v6 {
                    assert_eq!(parsed.ip.identification, 0xfffeu16.wrapping_add(index as u16));
                }
                payload.extend_from_slice(&one[one.len() - parsed.payload_len as usize..]);
            }
            assert_eq!(payload, bytes[bytes.len() - 3500..]);
        }
    }

    #[test]
    fn a_frame_of_one_packet_is_written_as_it_came() {
        let (_, bytes) = frame(false, 100, 1000, 0x10);
        let shape = FrameShape::of(Offload::default(), &bytes).unwrap();
        assert_eq!((shape.count(), shape.packet_len(0), shape.joins()), (1, 152, false));
        assert_eq!(packet(&shape, &bytes, [0, 0]), (bytes, Offload::default()));
    }

    #[test]
    fn neighbours_share_a_header_that_stands_for_all_of_them() {
        let (offload, bytes) = frame(false, 3500, 1000, 0x19);
        let shape = FrameShape::of(offload, &bytes).unwrap();
        let (joined, offload) = packet(&shape, &bytes, [1, 2]);
        assert_eq!((joined.len(), offload.kind, offload.segment_size), (52 + 2000, GSO_TCP_V4, 1000));
        let again = FrameShape::of(offload, &joined).unwrap();
        for index in 0..2 {
            let (mut one, offload) = packet(&again, &joined, [index, index]);
            let (mut same, before) = packet(&shape, &bytes, [index + 1, index + 1]);
            complete(&offload, &mut one);
            complete(&before, &mut same);
            assert_eq!(one, same);
        }
        // The frame is the original one, except for the sum of the pseudo-header.
        let (all, offload) = packet(&shape, &bytes, [0, 3]);
        assert_eq!((all.len(), offload.kind), (bytes.len(), GSO_TCP_V4));
    }

    #[test]
    fn headers_that_do_not_fit_the_frame_are_no_shape() {
        let (offload, bytes) = frame(false, 3500, 1000, 0x10);
        let no = |offload: Offload, bytes: &[u8]| assert_eq!(FrameShape::of(offload, bytes), None);
        no(Offload { segment_size: 0, ..offload }, &bytes);
        no(Offload { checksum_start: 19, ..offload }, &bytes);
        no(Offload { checksum_start: 60_000, ..offload }, &bytes);
        no(Offload { kind: GSO_TCP_V6, ..offload }, &bytes);
        no(Offload { kind: 77, ..offload }, &bytes);
        no(Offload { segment_size: 1, ..offload }, &bytes);
        no(offload, &bytes[..52]);
        no(offload, &[]);
        let mut short = bytes.clone();
        short[20 + 12] = 0;
        no(offload, &short);
        short[20 + 12] = 0xf0;
        short.truncate(60);
        no(offload, &short);
        for len in 0..bytes.len() {
            let _ = FrameShape::of(offload, &bytes[..len]);
        }
    }
}
