//! Ranges of addresses, and those to which a gateway does not connect by default.
//!
//! Follows RFC 4632 for the notation and RFC 6890 for special-purpose addresses.
//! Leaves out lists of addresses that are looked up.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// Returns true if it is a range of IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// The range of the first `bits` of an address.
    pub fn of(address: IpAddr, bits: u8) -> Self {
        let address = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Prefix { address, bits }
    }

    /// The number of bits that its addresses have in common.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The address, if it is a single one.
    pub fn only(&self) -> Option<IpAddr> {
        (self.bits == if self.is_ipv4() { 32 } else { 128 }).then_some(self.address)
    }

    /// Returns true if it contains all of another range.
    pub fn has(&self, other: &Prefix) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }

    /// Returns true if it contains the address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, plain(address)) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                same(own.to_bits().into(), other.to_bits().into(), 32 - self.bits)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => same(own.to_bits(), other.to_bits(), 128 - self.bits),
            _ => false,
        }
    }
}

/// Returns true if two addresses differ at most in their last bits.
fn same(a: u128, b: u128, last: u8) -> bool {
    (a ^ b).checked_shr(u32::from(last)).unwrap_or(0) == 0
}

/// The address, with an IPv4-mapped IPv6 address converted to IPv4.
pub fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no range of addresses; \"192.0.2.0/24\" and \"2001:db8::/32\" are");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.trim().parse().map_err(|_| wrong()))?;
        if bits > most {
            return Err(format!("\"{text}\": at most {most} bits"));
        }
        let whole = match address {
            IpAddr::V4(v4) => v4.to_bits().checked_shl(u32::from(bits)).unwrap_or(0) == 0,
            IpAddr::V6(v6) => v6.to_bits().checked_shl(u32::from(bits)).unwrap_or(0) == 0,
        };
        if !whole {
            return Err(format!("\"{text}\" has bits behind the first {bits}"));
        }
        Ok(Prefix { address, bits })
    }
}

/// Ranges to which no connection is opened unless the file names them: this host, this network, multicast, unassigned.
pub const SPECIAL: [&str; 12] = [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "192.0.0.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/128",
    "::1/128",
    "64:ff9b:1::/48",
    "100::/64",
    "fe80::/10",
    "ff00::/8",
];

/// Returns true if an address has a special purpose.
pub fn is_special(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            matches!(a, 0 | 127) || a >= 224 || (a, b) == (169, 254) || (a, b, c) == (192, 0, 0)
        }
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            v6 == Ipv6Addr::UNSPECIFIED
                || v6 == Ipv6Addr::LOCALHOST
                || a & 0xffc0 == 0xfe80
                || a & 0xff00 == 0xff00
                || [a, b, c, d] == [0x100, 0, 0, 0]
                || [a, b, c] == [0x64, 0xff9b, 1]
                || embedded(v6).is_some_and(|v4| is_special(v4.into()))
        }
    }
}

/// The IPv4 address embedded in an address of 6to4 or NAT64.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let o = v6.octets();
    if o[..2] == [0x20, 0x02] {
        Some(Ipv4Addr::new(o[2], o[3], o[4], o[5]))
    } else if o[..12] == [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0] {
        Some(Ipv4Addr::new(o[12], o[13], o[14], o[15]))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_what_they_say() {
        let prefix: Prefix = "10.1.0.0/16".parse().unwrap();
        assert!(prefix.contains("10.1.255.255".parse().unwrap()));
        assert!(prefix.contains("::ffff:10.1.0.1".parse().unwrap()));
        assert!(!prefix.contains("10.2.0.0".parse().unwrap()));
        assert!(!prefix.contains("2001:db8::".parse().unwrap()));
        let all: Prefix = "::/0".parse().unwrap();
        assert!(all.contains("2001:db8::1".parse().unwrap()) && !all.contains("10.0.0.1".parse().unwrap()));
        assert_eq!("192.0.2.7".parse::<Prefix>().unwrap().to_string(), "192.0.2.7/32");
        for wrong in ["", "10.0.0.0/33", "10.0.0.1/24", "ten/8", "10.0.0.0/x"] {
            assert!(wrong.parse::<Prefix>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_list_and_the_test_of_special_addresses_agree() {
        let special: Vec<Prefix> = SPECIAL.iter().map(|text| text.parse().unwrap()).collect();
        let addresses = [
            "0.1.2.3",
            "127.0.0.1",
            "128.0.0.1",
            "169.254.9.9",
            "169.253.0.1",
            "192.0.0.9",
            "192.0.2.1",
            "223.255.255.255",
            "224.0.0.1",
            "255.255.255.255",
            "8.8.8.8",
            "::",
            "::1",
            "::2",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "64:ff9b:1::1",
            "100::1",
            "100:0:0:1::",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
        ];
        for text in addresses {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(is_special(address), special.iter().any(|prefix| prefix.contains(address)), "{text}");
        }
        // Addresses that embed an IPv4 address.
        assert!(
            is_special("64:ff9b::7f00:1".parse().unwrap())
                && !is_special("64:ff9b::808:808".parse().unwrap())
        );
        assert!(
            is_special("2002:7f00:1::1".parse().unwrap()) && !is_special("2002:808:808::1".parse().unwrap())
        );
    }
}
