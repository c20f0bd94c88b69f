//! The address of a coordinator, as people write it.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// `HOST:PORT`. The host is a name, an IPv4 address, or an IPv6 address in brackets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CoordinatorAddress {
    host: String,
    port: u16,
}

impl CoordinatorAddress {
    /// Host name or address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, which is never 0.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for CoordinatorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

impl FromStr for CoordinatorAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<CoordinatorAddress, AddressError> {
        let error = |fault| AddressError {
            text: text.to_owned(),
            fault,
        };
        // Without its brackets, the last group of an IPv6 address would be taken for a port.
        if text.parse::<Ipv6Addr>().is_ok() {
            return Err(error("an IPv6 address needs brackets and a port"));
        }
        let (host, port) = text
            .rsplit_once(':')
            .ok_or_else(|| error("it has no port"))?;
        let port: u16 = port
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| error("its port is not one of 1 to 65535"))?;
        let bracketed = host
            .strip_prefix('[')
            .map(|host| host.strip_suffix(']').unwrap_or_default());
        match bracketed {
            Some(host) if host.parse::<Ipv6Addr>().is_err() => {
                Err(error("what stands in brackets is not an IPv6 address"))
            }
            Some(host) => Ok(CoordinatorAddress {
                host: host.to_owned(),
                port,
            }),
            None if host.is_empty() => Err(error("it has no host")),
            None if host.contains([':', '/', ' ']) => {
                Err(error("its host is neither a name nor an address"))
            }
            None => Ok(CoordinatorAddress {
                host: host.to_owned(),
                port,
            }),
        }
    }
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not where a coordinator listens: {fault}; write HOST:PORT, such as \
     coordinator.lan:7711 or [2001:db8::1]:7711"
)]
pub struct AddressError {
    text: String,
    fault: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_both_kinds_come_back_as_written() {
        for (text, host, port) in [
            ("coordinator.lan:7711", "coordinator.lan", 7711),
            ("10.0.0.1:1", "10.0.0.1", 1),
            ("[::1]:65535", "::1", 65535),
        ] {
            let address: CoordinatorAddress = text.parse().unwrap();
            assert_eq!(
                (address.host(), address.port(), address.to_string().as_str()),
                (host, port, text)
            );
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_fault() {
        for (text, fault) in [
            ("", "no port"),
            ("host", "no port"),
            (":7711", "no host"),
            ("host:", "port"),
            ("host:0", "port"),
            ("host:65536", "port"),
            ("::1", "brackets"),
            ("fe80::1:7711:x", "port"),
            ("fe80::x:7711", "neither"),
            ("[::1:7711", "brackets"),
            ("[host]:7711", "brackets"),
            ("https://host:7711", "neither"),
        ] {
            let error = text.parse::<CoordinatorAddress>().unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
