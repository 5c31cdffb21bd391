//! ATM cells and AAL5: packets cut into cells of 53 bytes, and put together again.
//!
//! Follows ITU-T I.361 (the cell), I.432 (its header error control), I.363.5 (AAL5), RFC 2684 (LLC/SNAP encapsulation).
//! Differs: one virtual channel at a time; the caller demultiplexes cells by VPI and VCI.
//! Leaves out the service-specific sublayer, streaming mode, operation and maintenance cells, and correction of header errors.

use crate::Version;

/// Bytes of a cell, header included.
pub const CELL_LEN: usize = 53;
/// Bytes that a cell carries.
pub const CELL_PAYLOAD: usize = 48;
/// Bytes of the CPCS trailer: user-to-user indication, common part indicator, length and CRC-32.
pub const TRAILER_LEN: usize = 8;
/// Bytes of the LLC/SNAP header in front of a routed packet.
pub const LLC_SNAP_LEN: usize = 8;
/// Largest CPCS payload: the length field has 16 bits.
pub const MAX_PAYLOAD: usize = 65_535;

/// Number of cells of a CPCS payload of `payload` bytes.
pub const fn cells(payload: usize) -> usize {
    (payload + TRAILER_LEN).div_ceil(CELL_PAYLOAD)
}

/// Number of cells of an IP packet of `packet` bytes behind its LLC/SNAP header.
pub const fn cells_of_packet(packet: usize) -> usize {
    cells(packet + LLC_SNAP_LEN)
}

/// The LLC/SNAP header of a routed packet (RFC 2684 §5.1).
pub const fn llc_snap(version: Version) -> [u8; LLC_SNAP_LEN] {
    let [high, low] = match version {
        Version::V4 => [0x08, 0x00],
        Version::V6 => [0x86, 0xdd],
    };
    [0xaa, 0xaa, 0x03, 0, 0, 0, high, low]
}

/// A cell of user data at the user-network interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Virtual path identifier.
    pub vpi: u8,
    /// Virtual channel identifier.
    pub vci: u16,
    /// True for the last cell of a CPCS PDU: the AAL-user-to-AAL-user bit of the payload type.
    pub last: bool,
    /// True if a congested switch has set the explicit forward congestion indication.
    pub congestion: bool,
    /// Cell loss priority: true if the cell is dropped before others.
    pub low_priority: bool,
    /// The bytes that it carries.
    pub payload: [u8; CELL_PAYLOAD],
}

impl Cell {
    /// The cell as bytes.
    pub fn to_bytes(&self) -> [u8; CELL_LEN] {
        let payload_type = u8::from(self.congestion) << 1 | u8::from(self.last);
        let [vci_high, vci_low] = self.vci.to_be_bytes();
        let header = [
            self.vpi >> 4,
            self.vpi << 4 | vci_high >> 4,
            vci_high << 4 | vci_low >> 4,
            vci_low << 4 | payload_type << 1 | u8::from(self.low_priority),
        ];
        let mut bytes = [0; CELL_LEN];
        bytes[..4].copy_from_slice(&header);
        bytes[4] = header_error_control(header);
        bytes[5..].copy_from_slice(&self.payload);
        bytes
    }

    /// Reads a cell; `None` if its header is damaged, or if it is not one of user data.
    pub fn from_bytes(bytes: &[u8; CELL_LEN]) -> Option<Self> {
        let [a, b, c, d, check] = *bytes.first_chunk()?;
        let of_user = d & 0b1000 == 0;
        if check != header_error_control([a, b, c, d]) || !of_user {
            return None;
        }
        Some(Cell {
            vpi: a << 4 | b >> 4,
            vci: u16::from(b & 0xf) << 12 | u16::from(c) << 4 | u16::from(d >> 4),
            last: d & 0b10 != 0,
            congestion: d & 0b100 != 0,
            low_priority: d & 1 != 0,
            payload: *bytes.last_chunk()?,
        })
    }
}

/// The fifth byte of a cell's header (I.432): a CRC-8 of the other four by x^8 + x^2 + x + 1, plus 01010101.
fn header_error_control(header: [u8; 4]) -> u8 {
    let mut crc = 0u8;
    for byte in header {
        crc ^= byte;
        for _ in 0..8 {
            crc = if crc & 0x80 == 0 { crc << 1 } else { crc << 1 ^ 0x07 };
        }
    }
    crc ^ 0x55
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = (i as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc >> 31 == 0 { crc << 1 } else { crc << 1 ^ 0x04c1_1db7 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// The CRC-32 of I.363.5 over pieces of one message: most significant bit first, ones at the start, complemented.
pub fn crc32<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let mut crc = u32::MAX;
    for byte in pieces.into_iter().flatten() {
        crc = crc << 8 ^ CRC_TABLE[usize::from((crc >> 24) as u8 ^ byte)];
    }
    !crc
}

/// A CPCS payload that is longer than [`MAX_PAYLOAD`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong(pub usize);

/// The fields of a CPCS PDU that its users fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Indications {
    /// User-to-user indication.
    pub user_to_user: u8,
    /// Common part indicator; 0 but for other uses of the trailer.
    pub common_part: u8,
}

/// A CPCS PDU: payload, padding and trailer, whose length is a multiple of a cell's.
pub fn pdu(payload: &[&[u8]], indications: Indications) -> Result<Vec<u8>, TooLong> {
    let len: usize = payload.iter().map(|piece| piece.len()).sum();
    let short = u16::try_from(len).map_err(|_| TooLong(len))?;
    let mut pdu = payload.concat();
    pdu.resize(cells(len) * CELL_PAYLOAD - TRAILER_LEN, 0);
    pdu.extend([indications.user_to_user, indications.common_part]);
    pdu.extend(short.to_be_bytes());
    let crc = crc32([pdu.as_slice()]);
    pdu.extend(crc.to_be_bytes());
    Ok(pdu)
}

/// The cells of a CPCS PDU on a virtual channel.
pub fn segment(pdu: &[u8], vpi: u8, vci: u16) -> impl Iterator<Item = Cell> {
    let (payloads, _) = pdu.as_chunks::<CELL_PAYLOAD>();
    payloads.iter().enumerate().map(move |(i, payload)| Cell {
        vpi,
        vci,
        last: i + 1 == payloads.len(),
        congestion: false,
        low_priority: false,
        payload: *payload,
    })
}

/// A reason for which a CPCS PDU is discarded at reassembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// The CRC-32 is wrong.
    Crc,
    /// The length does not agree with the number of cells: cells were lost or came from another PDU.
    Length,
    /// More cells than the largest payload has: a last cell was lost.
    Oversized,
}

/// The receiving end of a virtual channel.
#[derive(Debug, Clone, Default)]
pub struct Reassembler {
    pdu: Vec<u8>,
    oversized: bool,
}

impl Reassembler {
    /// Takes the next cell of the channel. At a last cell, returns the payload of the PDU that it ends, or why there is none.
    pub fn handle_cell(&mut self, cell: &Cell) -> Option<Result<Vec<u8>, Discard>> {
        if self.pdu.len() >= cells(MAX_PAYLOAD) * CELL_PAYLOAD {
            self.oversized = true;
            self.pdu.clear();
        }
        self.pdu.extend(cell.payload);
        if !cell.last {
            return None;
        }
        let pdu = std::mem::take(&mut self.pdu);
        if std::mem::take(&mut self.oversized) {
            return Some(Err(Discard::Oversized));
        }
        Some(checked(pdu))
    }
}

/// The payload of a CPCS PDU, if length and CRC-32 are right.
fn checked(mut pdu: Vec<u8>) -> Result<Vec<u8>, Discard> {
    let Some((covered, crc)) = pdu.split_last_chunk::<4>() else { return Err(Discard::Length) };
    if u32::from_be_bytes(*crc) != crc32([covered]) {
        return Err(Discard::Crc);
    }
    let Some(len) = covered.last_chunk::<2>() else { return Err(Discard::Length) };
    let len = usize::from(u16::from_be_bytes(*len));
    // A length of 0 is an abort (I.363.5 §9.2.1.2).
    if len == 0 || cells(len) * CELL_PAYLOAD != pdu.len() {
        return Err(Discard::Length);
    }
    pdu.truncate(len);
    Ok(pdu)
}
