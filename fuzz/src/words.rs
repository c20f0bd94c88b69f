//! Short texts that people type: tokens, addresses, and what an agent may fire at.

use agent::link::CoordinatorAddress;
use control::Token;
use engine::Policy;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A shorter text may appear in a message by chance, and is no secret.
const SECRET_BYTES: usize = 24;

/// An address for a coordinator to listen on.
pub fn address(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match text.parse::<CoordinatorAddress>() {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(address) => {
            assert!(address.port() > 0 && !address.host().is_empty(), "{text}");
            let again = address.to_string().parse::<CoordinatorAddress>();
            assert_eq!(again.as_ref().ok(), Some(&address), "{text}");
        }
    }
}

/// A token, as in `--token` and in the environment.
pub fn token(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match text.parse::<Token>() {
        Err(error) => {
            let is_long = text.trim().len() >= SECRET_BYTES;
            let shows = error.to_string().contains(text.trim());
            assert!(!(is_long && shows), "the message shows the token");
        }
        Ok(token) => {
            assert_eq!(token.reveal(), text.trim());
            assert!(token.secret().is_proved_by(&token.secret().bearer()));
            assert!(!token.secret().is_proved_by(text));
            assert!(!format!("{token:?}").contains(token.secret().bearer().as_str()));
        }
    }
}

/// Values of `--allow`, one per line: none of them allows anything beyond what it says.
pub fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut policy = Policy::default();
    for line in text.lines().take(32) {
        if policy.allow(line).is_ok() {
            holds(line);
        }
    }
    looked_at().for_each(|(host, address, port)| {
        let _ = policy.allows(host, address, port);
    });
}

/// A single value only allows its own port, and addresses of its own kind.
fn holds(line: &str) {
    let mut policy = Policy::default();
    policy.allow(line).expect("it was allowed a moment ago");
    let default = Policy::default();
    let opened: Vec<_> = looked_at()
        .filter(|&(host, address, port)| {
            policy.allows(host, address, port) && !default.allows(host, address, port)
        })
        .collect();
    let is_named = |host: &str| line.to_ascii_lowercase().starts_with(host);
    for (host, address, port) in opened {
        if is_named(host) {
            continue;
        }
        assert_eq!(
            line.contains("::") || line.matches(':').count() > 1,
            address.is_ipv6(),
            "{line} opens {address}"
        );
        let has_port =
            line.starts_with('[') && !line.ends_with(']') || line.matches(':').count() == 1;
        assert!(
            !has_port || line.ends_with(&port.to_string()),
            "{line}: {port}"
        );
    }
}

/// Addresses that are not allowed by default.
fn looked_at() -> impl Iterator<Item = (&'static str, IpAddr, u16)> {
    let addresses = [
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)),
        IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
        IpAddr::V4(Ipv4Addr::BROADCAST),
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7)),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    ];
    let places = addresses
        .into_iter()
        .flat_map(|address| [(address, 443), (address, 8443)]);
    places.flat_map(|(address, port)| {
        ["edge.example", "other.example"].map(|host| (host, address, port))
    })
}
