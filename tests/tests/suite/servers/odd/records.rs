//! A server whose handshake arrives in TLS records of one byte each (RFC 8446, section 5.1:
//! messages may be fragmented).

use super::relay::{hear, listen, pass_on, say};
use crate::servers::{REQUESTS, assert_all_ok, run};
use interop::{Nginx, NginxOptions, NginxServer, Pki, curl, plan};
use std::net::{SocketAddr, TcpStream};

const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;

/// Type, version, length.
const HEAD_BYTES: usize = 5;

/// The server's records as they arrive; unencrypted handshake records are torn into single bytes.
#[derive(Default)]
struct Tearing {
    unread: Vec<u8>,
    encrypted: bool,
}

impl Tearing {
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.unread.extend_from_slice(bytes);
        let mut torn = Vec::new();
        while let Some(&[kind, major, minor, high, low]) = self.unread.first_chunk::<HEAD_BYTES>() {
            let length = HEAD_BYTES + usize::from(u16::from_be_bytes([high, low]));
            if self.unread.len() < length {
                break;
            }
            let record: Vec<u8> = self.unread.drain(..length).collect();
            self.encrypted |= kind == CHANGE_CIPHER_SPEC;
            if kind == HANDSHAKE && !self.encrypted {
                torn.extend(
                    record[HEAD_BYTES..]
                        .iter()
                        .flat_map(|&byte| [kind, major, minor, 0, 1, byte]),
                );
            } else {
                torn.extend(record);
            }
        }
        torn
    }
}

fn tearing(server: SocketAddr) -> SocketAddr {
    listen(move |_, client| {
        let server = TcpStream::connect(server).unwrap();
        let _ = pass_on(&client, &server);
        let mut tearing = Tearing::default();
        hear(&server, |bytes| say(&client, &tearing.take(bytes)));
    })
}

#[test]
fn handshake_in_records_of_one_byte_is_completed() {
    let pki = Pki::new();
    for server in [
        NginxServer::Tls12Rsa,
        NginxServer::Tls12Tickets,
        NginxServer::Tls13,
        NginxServer::Http2,
    ] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let url = format!("https://{}/", tearing(nginx.address(server)));
        let Some(told) = curl(&[
            "--cacert",
            pki.ca().to_str().unwrap(),
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            &url,
        ]) else {
            return;
        };
        assert_eq!(
            (told.code, told.output.as_str()),
            (0, "200"),
            "{server:?}: {}",
            told.error
        );
        let more = if server == NginxServer::Http2 {
            "connection.http = \"2\"\n"
        } else {
            "connection.requests = 1\n"
        };
        assert_all_ok(&run(&plan(&url, &pki, more)).measured);
        assert_eq!(
            nginx.wait_for_requests(1 + REQUESTS as usize).len() as u64,
            1 + REQUESTS,
            "{server:?}"
        );
    }
}
