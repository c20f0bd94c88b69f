//! The PROXY protocol, by which a load balancer tells a server whom it speaks for: the clients'
//! addresses that a plan gives.

use crate::words::words;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// `connection.proxy_protocol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyProtocol {
    /// How the header is written.
    pub version: ProxyVersion,
    /// The addresses of clients; `None` for that of the connection itself.
    pub source: Option<ClientNetwork>,
}

/// A version of the PROXY protocol (HAProxy's proxy-protocol.txt).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

words!(ProxyVersion { V1 => "v1", V2 => "v2" });

/// A network whose addresses stand for clients: virtual user n has the n-th, and after the last one
/// the first again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientNetwork {
    /// Without the bits behind the prefix.
    base: IpAddr,
    prefix: u8,
}

/// Why a text is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientNetworkError {
    /// It is not an address with a length of prefix.
    #[error("is not a network; write an address and bits, such as \"10.0.0.0/8\"")]
    Syntax,
    /// Bits are set behind the prefix.
    #[error("has bits behind its prefix; write \"{0}\"")]
    HostBits(ClientNetwork),
}

impl ClientNetwork {
    /// The address of virtual user `user`.
    #[must_use]
    pub fn client(&self, user: u64) -> IpAddr {
        let (bits, base) = bits(self.base);
        let host_bits = bits - u32::from(self.prefix);
        let mask = 1_u128
            .checked_shl(host_bits)
            .map_or(u128::MAX, |size| size - 1);
        address(self.base, base | u128::from(user) & mask)
    }
}

/// How many bits the address has, and these.
fn bits(address: IpAddr) -> (u32, u128) {
    match address {
        IpAddr::V4(ip) => (Ipv4Addr::BITS, u128::from(ip.to_bits())),
        IpAddr::V6(ip) => (Ipv6Addr::BITS, ip.to_bits()),
    }
}

/// The address of these bits, in the family of `like`.
fn address(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(bits as u32)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(bits)),
    }
}

impl FromStr for ClientNetwork {
    type Err = ClientNetworkError;

    fn from_str(text: &str) -> Result<ClientNetwork, ClientNetworkError> {
        let (given, prefix) = text.split_once('/').ok_or(ClientNetworkError::Syntax)?;
        let given: IpAddr = given.parse().map_err(|_| ClientNetworkError::Syntax)?;
        let (length, set) = bits(given);
        let prefix: u8 = prefix.parse().map_err(|_| ClientNetworkError::Syntax)?;
        let host_bits = length.checked_sub(u32::from(prefix));
        let host_bits = host_bits.ok_or(ClientNetworkError::Syntax)?;
        let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
        let base = address(given, set & mask);
        let network = ClientNetwork { base, prefix };
        if base == given {
            Ok(network)
        } else {
            Err(ClientNetworkError::HostBits(network))
        }
    }
}

impl fmt::Display for ClientNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(network: &str, user: u64) -> String {
        let network: ClientNetwork = network.parse().unwrap();
        network.client(user).to_string()
    }

    #[test]
    fn users_have_the_addresses_of_a_network_in_turn() {
        assert_eq!(client("10.0.0.0/8", 0), "10.0.0.0");
        assert_eq!(client("10.0.0.0/8", 70_000), "10.1.17.112");
        assert_eq!(client("10.1.2.0/30", 5), "10.1.2.1");
        assert_eq!(client("10.1.2.3/32", 5), "10.1.2.3");
        assert_eq!(client("0.0.0.0/0", 258), "0.0.1.2");
        assert_eq!(client("2001:db8::/32", 17), "2001:db8::11");
        assert_eq!(client("::/0", 17), "::11");
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/33",
            "a/8",
            "10.0.0.0/-1",
            "::/129",
        ] {
            let error = text.parse::<ClientNetwork>();
            assert_eq!(error, Err(ClientNetworkError::Syntax), "{text}");
        }
        let error = "10.1.2.3/8".parse::<ClientNetwork>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "has bits behind its prefix; write \"10.0.0.0/8\""
        );
    }
}
