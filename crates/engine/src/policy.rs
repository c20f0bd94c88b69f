//! The targets that this agent may fire at, whatever a coordinator asks for.

use plan::Rate;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An agent's own policy. The resolved address is checked at every connection.
///
/// The default allows only loopback and private addresses; each `--allow` adds more. A host name in
/// the list allows every address that it resolves to.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Loopback and private addresses.
    private: Vec<Network>,
    /// Those of them at which clouds serve their metadata, which are not allowed by default.
    metadata: Vec<Network>,
    /// Networks and addresses of `--allow`.
    networks: Vec<Network>,
    hosts: Vec<(String, Option<u16>)>,
    /// Most arrivals per second of this agent's own share. If set, closed loops are refused, since
    /// they have no rate.
    pub max_rate: Option<Rate>,
    /// Most connections of this agent.
    pub max_connections: Option<u32>,
    /// Longest run.
    pub max_duration: Option<std::time::Duration>,
    /// A new file for the secrets of connections, if a plan asks for them (`tls.key_log`). With
    /// `None` such a plan is refused.
    pub key_log: Option<std::path::PathBuf>,
    /// Whether workers may wait on their CPUs for a near arrival rather than sleep.
    pub spin: bool,
}

/// A CIDR block with an optional port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    base: IpAddr,
    prefix: u8,
    port: Option<u16>,
}

/// An `--allow` value that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "--allow {text}: {reason}; write a host (edge.example), an address (192.0.2.7), a network \
     (192.0.2.0/24) or any of them with :port"
)]
pub struct AllowError {
    text: String,
    reason: &'static str,
}

/// RFC 1918 and RFC 4193. Not link-local: clouds serve their metadata there.
const PRIVATE: [&str; 6] = [
    "127.0.0.0/8",
    "::1/128",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
];

/// Private addresses at which clouds serve their metadata: those of AWS, Oracle and Google.
const METADATA: [&str; 3] = [
    "fd00:ec2::/32",
    "fd00:c1::a9fe:a9fe/128",
    "fd20:ce::254/128",
];

impl Default for Policy {
    fn default() -> Policy {
        let networks = |texts: &[&str]| {
            let networks = texts.iter().map(|text| Network::parse(text, None));
            let networks = networks.collect::<Option<Vec<Network>>>();
            networks.expect("the built-in networks are well-formed")
        };
        Policy {
            private: networks(&PRIVATE),
            metadata: networks(&METADATA),
            networks: Vec::new(),
            hosts: Vec::new(),
            max_rate: None,
            max_connections: None,
            max_duration: None,
            key_log: None,
            spin: true,
        }
    }
}

impl Policy {
    /// Allows one more network, address or host; `text` is the value of `--allow`.
    ///
    /// # Errors
    /// Fails if it is none of these.
    pub fn allow(&mut self, text: &str) -> Result<(), AllowError> {
        let error = |reason| AllowError {
            text: text.to_owned(),
            reason,
        };
        let (rest, port) =
            split_port(text).ok_or_else(|| error("the port is not a number from 1 to 65535"))?;
        if rest.is_empty() {
            return Err(error("it is empty"));
        }
        if let Some(network) = Network::parse(rest, port) {
            self.networks.push(network);
        } else if rest.contains('/') {
            return Err(error("this is not an address with a prefix length"));
        } else if rest
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        {
            self.hosts.push((rest.to_ascii_lowercase(), port));
        } else {
            return Err(error("this is neither a host name nor an address"));
        }
        Ok(())
    }

    /// Whether a connection to `address`, found for the plan's `host`, may be opened.
    #[must_use]
    pub fn allows(&self, host: &str, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        let is_in = |networks: &[Network]| networks.iter().any(|it| it.holds(address, port));
        (is_in(&self.private) && !is_in(&self.metadata))
            || is_in(&self.networks)
            || self.hosts.iter().any(|(name, only)| {
                name.eq_ignore_ascii_case(host) && only.is_none_or(|only| only == port)
            })
    }
}

/// Splits off a trailing `:port`; IPv6 addresses need brackets to carry one. `None` if the port is
/// not a port number.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(digits) => Some((inside, Some(port(digits)?))),
            None => after.is_empty().then_some((inside, None)),
        };
    }
    match text.split_once(':') {
        // A second colon makes it an IPv6 address without a port.
        Some((rest, digits)) if !digits.contains(':') => Some((rest, Some(port(digits)?))),
        _ => Some((text, None)),
    }
}

fn port(digits: &str) -> Option<u16> {
    digits.parse().ok().filter(|&port| port > 0)
}

impl Network {
    fn parse(text: &str, port: Option<u16>) -> Option<Network> {
        let (address, digits) = match text.split_once('/') {
            Some((address, digits)) => (address, Some(digits)),
            None => (text, None),
        };
        let base = IpAddr::from_str(address).ok()?;
        let bits = if base.is_ipv4() { 32 } else { 128 };
        // Without a prefix length the network is this one address.
        let prefix = match digits {
            Some(digits) => digits.parse().ok().filter(|&prefix| prefix <= bits)?,
            None => bits,
        };
        Some(Network { base, prefix, port })
    }

    fn holds(&self, address: IpAddr, port: u16) -> bool {
        let same = match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                leading_bits_match(v4_bits(base), v4_bits(address), self.prefix)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                leading_bits_match(v6_bits(base), v6_bits(address), self.prefix)
            }
            _ => false,
        };
        same && self.port.is_none_or(|only| only == port)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

fn v4_bits(address: Ipv4Addr) -> u128 {
    u128::from(u32::from(address)) << 96
}

fn v6_bits(address: Ipv6Addr) -> u128 {
    u128::from(address)
}

fn leading_bits_match(a: u128, b: u128, prefix: u8) -> bool {
    prefix == 0 || (a ^ b) >> (128 - u32::from(prefix)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(policy: &Policy, address: &str, port: u16) -> bool {
        policy.allows("edge.example", address.parse().expect("an address"), port)
    }

    #[test]
    fn default_allows_loopback_and_private_only() {
        let policy = Policy::default();
        for inside in [
            "127.0.0.1",
            "127.8.9.1",
            "::1",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.7.7",
            "fd00::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(allows(&policy, inside, 443), "{inside}");
        }
        for outside in [
            "192.0.2.1",
            "172.32.0.1",
            "8.8.8.8",
            "169.254.169.254",
            "fe80::1",
            "2001:db8::1",
            "::ffff:8.8.8.8",
            "0.0.0.0",
            "fd00:ec2::254",
            "fd00:c1::a9fe:a9fe",
            "fd20:ce::254",
        ] {
            assert!(!allows(&policy, outside, 443), "{outside}");
        }
    }

    #[test]
    fn allow_opens_what_it_says_and_no_more() {
        let mut policy = Policy::default();
        policy.allow("192.0.2.0/25").expect("a network");
        policy
            .allow("198.51.100.7:8443")
            .expect("an address with a port");
        policy
            .allow("[2001:db8::]/32")
            .expect_err("a prefix belongs inside the brackets");
        policy.allow("2001:db8::/32").expect("an IPv6 network");
        assert!(allows(&policy, "192.0.2.127", 1) && !allows(&policy, "192.0.2.128", 1));
        assert!(allows(&policy, "198.51.100.7", 8443) && !allows(&policy, "198.51.100.7", 443));
        assert!(allows(&policy, "2001:db8:1::1", 443) && !allows(&policy, "2001:db9::1", 443));
    }

    #[test]
    fn allowed_host_covers_its_addresses() {
        let mut policy = Policy::default();
        policy.allow("EDGE.example:443").expect("a host");
        assert!(allows(&policy, "203.0.113.9", 443) && !allows(&policy, "203.0.113.9", 80));
        assert!(!policy.allows(
            "other.example",
            "203.0.113.9".parse().expect("an address"),
            443
        ));
    }

    #[test]
    fn bad_allow_names_the_cure() {
        for bad in ["", "192.0.2.0/33", "host:0", "host:x", "a b", "host/24"] {
            let message = Policy::default().allow(bad).expect_err(bad).to_string();
            assert!(message.contains("write a host"), "{message}");
        }
    }
}
