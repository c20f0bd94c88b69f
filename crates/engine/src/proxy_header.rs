//! The header of the PROXY protocol, the first bytes of a connection (HAProxy's
//! proxy-protocol.txt, versions 1 and 2).

use plan::{ProxyProtocol, ProxyVersion};
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};

/// The first bytes of version 2 (§2.2).
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, for a connection that is passed on.
const PROXIED: u8 = 0x21;
/// TCP over IPv4, and over IPv6.
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;

/// Appends the header of a connection from `local` to `peer`, for virtual user `user`.
pub(crate) fn put(
    protocol: ProxyProtocol,
    user: u64,
    local: SocketAddr,
    peer: SocketAddr,
    out: &mut Vec<u8>,
) {
    let source = protocol
        .source
        .map_or(local.ip(), |network| network.client(user));
    let (source, destination) = of_one_family(source.to_canonical(), peer.ip().to_canonical());
    let (source_port, port) = (local.port(), peer.port());
    match protocol.version {
        ProxyVersion::V1 => {
            let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
            // Writing to a `Vec` cannot fail.
            let _ = write!(
                out,
                "PROXY {family} {source} {destination} {source_port} {port}\r\n"
            );
        }
        ProxyVersion::V2 => {
            out.extend_from_slice(SIGNATURE);
            let family = if source.is_ipv4() { TCP4 } else { TCP6 };
            out.extend_from_slice(&[PROXIED, family]);
            let at = out.len();
            out.extend_from_slice(&[0, 0]);
            put_ip(source, out);
            put_ip(destination, out);
            out.extend_from_slice(&source_port.to_be_bytes());
            out.extend_from_slice(&port.to_be_bytes());
            let length = (out.len() - at - 2) as u16; // at most 36
            out[at..at + 2].copy_from_slice(&length.to_be_bytes());
        }
    }
}

fn put_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
    }
}

/// A header has one family: an IPv4 address beside one of IPv6 is written as the latter.
fn of_one_family(source: IpAddr, destination: IpAddr) -> (IpAddr, IpAddr) {
    match (source, destination) {
        (IpAddr::V4(ip), IpAddr::V6(_)) => (IpAddr::V6(ip.to_ipv6_mapped()), destination),
        (IpAddr::V6(_), IpAddr::V4(ip)) => (source, IpAddr::V6(ip.to_ipv6_mapped())),
        _ => (source, destination),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: ProxyVersion, source: Option<&str>, peer: &str) -> Vec<u8> {
        let protocol = ProxyProtocol {
            version,
            source: source.map(|network| network.parse().unwrap()),
        };
        let local = SocketAddr::from(([192, 0, 2, 1], 4000));
        let mut out = b"before".to_vec();
        put(protocol, 3, local, peer.parse().unwrap(), &mut out);
        out.split_off(6)
    }

    #[test]
    fn text_has_both_addresses_and_ports() {
        let v1 = |source, peer| String::from_utf8(header(ProxyVersion::V1, source, peer)).unwrap();
        assert_eq!(
            v1(None, "198.51.100.1:443"),
            "PROXY TCP4 192.0.2.1 198.51.100.1 4000 443\r\n"
        );
        assert_eq!(
            v1(Some("10.0.0.0/8"), "198.51.100.1:443"),
            "PROXY TCP4 10.0.0.3 198.51.100.1 4000 443\r\n"
        );
        assert_eq!(
            v1(Some("10.0.0.0/8"), "[2001:db8::1]:443"),
            "PROXY TCP6 ::ffff:10.0.0.3 2001:db8::1 4000 443\r\n"
        );
    }

    #[test]
    fn binary_is_as_the_specification_has_it() {
        let v4 = header(ProxyVersion::V2, Some("10.0.0.0/8"), "198.51.100.1:443");
        let expected = [
            &SIGNATURE[..],
            &[0x21, 0x11, 0, 12, 10, 0, 0, 3, 198, 51, 100, 1],
            &[0x0f, 0xa0, 0x01, 0xbb],
        ];
        assert_eq!(v4, expected.concat());
        let v6 = header(ProxyVersion::V2, Some("2001:db8::/32"), "198.51.100.1:443");
        assert_eq!((v6.len(), &v6[12..16]), (52, &[0x21, 0x21, 0, 36][..]));
    }
}
