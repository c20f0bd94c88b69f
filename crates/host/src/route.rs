//! Which interface leads to an address, asked of the kernel by rtnetlink(7): it alone knows its
//! rules and tables.

use crate::netlink;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::net::IpAddr;

/// An interface that packets to an address leave by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineRoute {
    /// The interface.
    pub interface: String,
    /// Its speed, Mbit/s; `None` where it has none, as loopback.
    pub speed_mbit: Option<u64>,
}

/// Room for an answer that tells one route.
const ANSWER_BYTES: usize = 8 << 10;

// Numbers of netlink(7) and rtnetlink(7).
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const REQUEST: u16 = 1;
const DESTINATION: u16 = 1;
const LEAVES_BY: u16 = 4;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
const HEADER_BYTES: usize = 16;
/// `struct rtmsg`.
const ROUTE_BYTES: usize = 12;
/// `struct rtattr`, before its value.
const ATTRIBUTE_BYTES: usize = 4;

/// The name of the interface; `None` where no route leads there, or the kernel does not say.
pub(crate) fn interface_to(address: IpAddr) -> Option<String> {
    let socket = netlink::routes()?;
    send(&socket, &request(address), SendFlags::empty()).ok()?;
    let mut answer = vec![0; ANSWER_BYTES];
    let (bytes, _) = recv(&socket, &mut answer[..], RecvFlags::empty()).ok()?;
    netlink::interface_name(&socket, index_in(answer.get(..bytes)?)?)
}

/// `struct nlmsghdr`, `struct rtmsg`, and the address as the only attribute.
fn request(address: IpAddr) -> Vec<u8> {
    let (family, octets) = match address {
        IpAddr::V4(ip) => (IPV4, ip.octets().to_vec()),
        IpAddr::V6(ip) => (IPV6, ip.octets().to_vec()),
    };
    let attribute = ATTRIBUTE_BYTES + octets.len();
    let bytes = (HEADER_BYTES + ROUTE_BYTES + attribute) as u32;
    let mut request = bytes.to_ne_bytes().to_vec();
    request.extend(GET_ROUTE.to_ne_bytes());
    request.extend(REQUEST.to_ne_bytes());
    // Number of the request, and of the port: the kernel knows them.
    request.extend([0; 8]);
    request.extend([family, 8 * octets.len() as u8]);
    request.extend([0; ROUTE_BYTES - 2]);
    request.extend((attribute as u16).to_ne_bytes());
    request.extend(DESTINATION.to_ne_bytes());
    request.extend(octets);
    request
}

/// The interface's number; `None` where the kernel refuses, or where it is no answer.
fn index_in(answer: &[u8]) -> Option<u32> {
    let bytes = u32::from_ne_bytes(part(answer, 0)?) as usize;
    if u16::from_ne_bytes(part(answer, 4)?) != NEW_ROUTE {
        return None;
    }
    let mut attributes = answer.get(HEADER_BYTES + ROUTE_BYTES..bytes)?;
    loop {
        let bytes = usize::from(u16::from_ne_bytes(part(attributes, 0)?));
        if u16::from_ne_bytes(part(attributes, 2)?) == LEAVES_BY {
            return Some(u32::from_ne_bytes(part(attributes, ATTRIBUTE_BYTES)?));
        }
        // A length that goes nowhere would be looked at forever.
        let next = bytes.max(ATTRIBUTE_BYTES).next_multiple_of(4);
        attributes = attributes.get(next..)?;
    }
}

fn part<const BYTES: usize>(message: &[u8], at: usize) -> Option<[u8; BYTES]> {
    message.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_leads_to_own_addresses() {
        assert_eq!(interface_to([127, 0, 0, 1].into()), Some("lo".to_owned()));
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        let Ok(()) = socket.connect("192.0.2.200:9") else {
            return println!("skipped: no route from here");
        };
        let own = socket.local_addr().unwrap().ip();
        assert_eq!(interface_to(own), Some("lo".to_owned()));
        let away = interface_to([192, 0, 2, 200].into());
        assert!(away.is_some_and(|name| name != "lo"));
    }

    #[test]
    fn anything_else_is_no_answer() {
        let header = |bytes: u32, kind: u16| {
            let mut message = bytes.to_ne_bytes().to_vec();
            message.extend(kind.to_ne_bytes());
            message.extend([0; 22]);
            message
        };
        let with = |attributes: &[u8]| {
            let bytes = (HEADER_BYTES + ROUTE_BYTES + attributes.len()) as u32;
            [header(bytes, NEW_ROUTE), attributes.to_vec()].concat()
        };
        let found = with(&[5, 0, 1, 0, 9, 0, 0, 0, 8, 0, 4, 0, 7, 0, 0, 0]);
        assert_eq!(index_in(&found), Some(7));
        for answer in [
            vec![],
            vec![0; 15],
            header(28, 2),
            with(&[]),
            with(&[0; 16]),
            with(&[255; 8]),
            with(&[8, 0, 4, 0, 7]),
            header(u32::MAX, NEW_ROUTE),
        ] {
            assert_eq!(index_in(&answer), None, "{answer:?}");
        }
    }
}
