//! A host that is a device of this machine: packets that arrive on it enter the network, and the machine forwards packets that
//! leave the network.
//!
//! Follows policy routing as an operator would configure it by hand: a rule for packets that arrive on the device, a table with one
//! route, and forwarding for the two devices only. The machine's own packets, and packets for it, are not affected.
//! Differs from moving the device into a namespace: it keeps its addresses, routes and management.
//! Leaves out address translation and firewalls, which belong to the machine.

use crate::error::{Error, Tried};
use crate::namespace::{parameter, set_parameter};
use crate::netlink::Netlink;
use crate::routes::AddressPrefix;
use crate::rules::{IpVersion, Rule, VERSIONS, rules, table};
use crate::tun::Tun;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Packets that may wait in a device to be read: 30 ms at a million packets per second.
pub(crate) const QUEUE: u32 = 30_000;
/// Longest name of a device, bytes.
const LONGEST_NAME: usize = 15;

/// A device whose packets go through the network. When it is dropped, the machine's configuration is restored.
pub struct Attached {
    /// The network's device.
    pub tun: String,
    /// Addresses of the machine's device.
    pub addresses: Vec<IpAddr>,
    /// Destinations behind it, as the machine knew them at the start.
    pub behind: Vec<AddressPrefix>,
    /// Versions of IP that are not forwarded, with the reason.
    pub warnings: Vec<String>,
    rules: Vec<Rule>,
    netlink: Netlink,
}

impl Attached {
    /// Directs packets that arrive on `device` into a new device for `host`. `key` is the option or key by which the user asked for
    /// it.
    ///
    /// # Errors
    ///
    /// There is no such device, it is down or without an address, another emulation has it, or the system refuses.
    pub fn new(key: &str, host: &str, device: &str, mtu: u32, offload: bool) -> Result<(Self, Tun), Error> {
        let mut netlink = Netlink::open()?;
        let wrong = |why: String| Error::Scenario(key.to_owned(), why);
        let index = match netlink.device(device)? {
            Some((index, true)) => index,
            Some((_, false)) => {
                return Err(wrong(format!("{device} is down; take it up: ip link set {device} up")));
            }
            None => {
                let mut names: Vec<String> = netlink.devices()?.into_iter().map(|(_, name)| name).collect();
                names.retain(|name| name != "lo");
                let names = if names.is_empty() { "none but lo".into() } else { names.join(", ") };
                return Err(wrong(format!("this machine has no device \"{device}\"; it has {names}")));
            }
        };
        if device == "lo" {
            return Err(wrong("no other machine is behind lo".into()));
        }
        let addresses = netlink.addresses(index)?;
        if addresses.is_empty() {
            let how = format!("ip address add 192.168.77.1/24 dev {device}");
            return Err(wrong(format!(
                "{device} has no address, and machines behind it need one as their gateway: {how}"
            )));
        }
        let taken = || wrong(format!("{device} is the device of another emulation that runs"));
        let all = rules(&mut netlink).tried(|| "cannot ask for rules".to_owned())?;
        if all.iter().any(|rule| rule.device == device) {
            return Err(taken());
        }
        let behind = netlink.destinations(index)?;
        let behind = behind.into_iter().map(|(address, bits)| AddressPrefix::new(address, bits)).collect();
        let (tun, name) = make(&mut netlink, host, offload)?;
        let mut attached =
            Self { tun: name, addresses, behind, warnings: Vec::new(), rules: Vec::new(), netlink };
        attached.lead(device, mtu)?;
        let all = rules(&mut attached.netlink).tried(|| "cannot ask for rules".to_owned())?;
        if all.iter().any(|rule| rule.device == device && !attached.rules.contains(rule)) {
            return Err(taken());
        }
        Ok((attached, tun))
    }

    /// Sets up rules, routes and forwarding.
    fn lead(&mut self, device: &str, mtu: u32) -> Result<(), Error> {
        let tun = self.tun.clone();
        for (name, value) in [("addr_gen_mode", "1"), ("accept_ra", "0")] {
            let _ = set_parameter(&format!("ipv6/conf/{tun}/{name}"), value);
        }
        let to = self.netlink.index(&tun)?;
        self.netlink.set_up(to, Some(mtu), Some(QUEUE))?;
        // Senders behind the network are reached over other devices too. If all devices filter strictly, this one accepts any
        // reverse path.
        let strict = parameter("ipv4/conf/all/rp_filter").is_some_and(|value| value != "0");
        set_parameter(&format!("ipv4/conf/{tun}/rp_filter"), if strict { "2" } else { "0" })?;
        for version in VERSIONS {
            let source = match version {
                IpVersion::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                IpVersion::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            if !self.forwards_alone(version, device, mtu) {
                continue;
            }
            self.netlink.add_default_route(to, source, Some(table(to)), None)?;
            set_parameter(&version.forwarding(&tun), "1")?;
            let own = version.forwarding(device);
            let switched = parameter(&own).as_deref() == Some("0");
            let rule = Rule { version, device: device.to_owned(), to, switched };
            rule.add(&mut self.netlink).tried(|| format!("cannot add a rule for {device}"))?;
            // From here on the rule is removed however the run ends.
            self.rules.push(rule);
            if switched {
                set_parameter(&own, "1")?;
            }
        }
        Ok(())
    }

    /// Enables forwarding of a version between two devices only, so that all others of the machine are not affected. Returns true
    /// if that is possible.
    fn forwards_alone(&mut self, version: IpVersion, device: &str, mtu: u32) -> bool {
        if version == IpVersion::V4 {
            return true;
        }
        // Below the minimum MTU of IPv6 a device has no IPv6.
        if mtu < 1280 || parameter(&format!("ipv6/conf/{device}/disable_ipv6")).as_deref() != Some("0") {
            return false;
        }
        let alone = parameter(&version.forwarding(device)).is_some();
        let all = parameter("ipv6/conf/all/forwarding").is_some_and(|value| value != "0");
        if !alone && !all {
            self.warnings.push(format!(
                "{device}: IPv6 is not forwarded: before Linux 6.17 a machine forwards it for all devices or none, and then takes \
                    no routes \
                 from routers any more; if you want that: sysctl net.ipv6.conf.all.forwarding=1, and accept_ra=2 where it is on"
            ));
        }
        alone || all
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        for rule in self.rules.drain(..) {
            undo(&rule, &mut self.netlink);
        }
    }
}

/// Removes a rule, and reverts the settings made for it.
fn undo(rule: &Rule, netlink: &mut Netlink) {
    // Another process may have removed it, or the device.
    if rule.remove(netlink).is_ok() && rule.switched {
        let _ = set_parameter(&rule.version.forwarding(&rule.device), "0");
    }
}

/// Removes rules left by killed runs, whose devices are gone. Other rules are left alone.
pub fn sweep(netlink: &mut Netlink) {
    let (Ok(rules), Ok(devices)) = (rules(netlink), netlink.devices()) else { return };
    let lives = |to: u32| devices.iter().any(|(index, name)| *index == to && name.starts_with(PREFIX));
    rules.iter().filter(|rule| !lives(rule.to)).for_each(|rule| undo(rule, netlink));
}

/// Prefix of the names of the network's devices.
const PREFIX: &str = "sky-";

/// Creates the network's device for a host, with the first free name.
fn make(netlink: &mut Netlink, host: &str, offload: bool) -> Result<(Tun, String), Error> {
    let taken = netlink.devices()?;
    let mut number = 1;
    loop {
        let name = name(host, number);
        if !taken.iter().any(|(_, other)| *other == name) {
            match Tun::new(&name, offload) {
                // Another emulation took the name first.
                Err(Error::System(_, why)) if why.raw_os_error() == Some(libc::EBUSY) => {}
                made => return made.map(|tun| (tun, name)),
            }
        }
        number += 1;
    }
}

/// Name of the network's device for a host; the first one has no number.
fn name(host: &str, number: u32) -> String {
    let behind = if number == 1 { String::new() } else { format!("-{number}") };
    let host: String = host.chars().take(LONGEST_NAME - PREFIX.len() - behind.len()).collect();
    format!("{PREFIX}{host}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_enough_and_differ() {
        assert_eq!(name("user", 1), "sky-user");
        assert_eq!(name("user", 2), "sky-user-2");
        assert_eq!(name("san-francisco", 1), "sky-san-francis");
        assert_eq!(name("san-francisco", 12), "sky-san-fran-12");
    }
}
