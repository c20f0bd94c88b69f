//! Reads the rows of nginx's logs.

use super::NginxServer;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A request that nginx has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NginxRequest {
    /// Which server.
    pub server: NginxServer,
    /// Status sent.
    pub status: u16,
    /// Method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// `TLSv1.2` or `TLSv1.3`; empty without TLS.
    pub protocol: String,
    /// Cipher suite by OpenSSL's name; empty without TLS.
    pub cipher: String,
    /// Key exchange group; empty without TLS, or if OpenSSL does not say.
    pub curve: String,
    /// Whether the connection's handshake was resumed.
    pub resumed: bool,
    /// nginx's number for the connection.
    pub connection: u64,
    /// The number of the request on its connection, from 1.
    pub nth: u64,
    /// `SUCCESS`, `NONE`, `FAILED:reason`; empty without TLS.
    pub client_verify: String,
    /// Bytes of the body sent, including chunked coding.
    pub body_bytes: u64,
    /// The client's address.
    pub client: IpAddr,
    /// Subject of the client's certificate in the format of RFC 2253; empty if there is none.
    pub client_subject: String,
    /// Whether the request arrived as early data, before the handshake was complete.
    pub is_early: bool,
    /// The name that the client sent (SNI); empty if it sent none.
    pub server_name: String,
    /// The protocol chosen by ALPN; empty if there is none.
    pub alpn: String,
    /// The name that the request asked for, in lower case and without a port.
    pub host: String,
    /// The user by HTTP's basic authentication; empty if there is none.
    pub user: String,
}

/// A finished connection to a stream server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NginxConnection {
    /// Which server.
    pub server: NginxServer,
    /// 200, or 500 if the handshake failed.
    pub status: u16,
    /// As in [`NginxRequest`].
    pub protocol: String,
    /// As in [`NginxRequest`].
    pub cipher: String,
    /// As in [`NginxRequest`].
    pub curve: String,
    /// Whether the handshake was resumed.
    pub resumed: bool,
    /// The client's address.
    pub client: IpAddr,
}

pub(super) fn requests(log: &str, ports: &BTreeMap<NginxServer, u16>) -> Vec<NginxRequest> {
    whole_lines(log)
        .map(|line| request(line, ports).unwrap_or_else(|| panic!("not a request row: {line:?}")))
        .collect()
}

pub(super) fn connections(log: &str, ports: &BTreeMap<NginxServer, u16>) -> Vec<NginxConnection> {
    whole_lines(log)
        .map(|line| {
            connection(line, ports).unwrap_or_else(|| panic!("not a connection row: {line:?}"))
        })
        .collect()
}

/// A line without a newline is still being written.
fn whole_lines(log: &str) -> impl Iterator<Item = &str> {
    log.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
}

fn request(line: &str, ports: &BTreeMap<NginxServer, u16>) -> Option<NginxRequest> {
    let mut fields = line.split('\t');
    Some(NginxRequest {
        server: server(fields.next()?, ports)?,
        status: fields.next()?.parse().ok()?,
        method: text(fields.next()?),
        path: text(fields.next()?),
        protocol: text(fields.next()?),
        cipher: text(fields.next()?),
        curve: text(fields.next()?),
        resumed: fields.next()? == "r",
        connection: fields.next()?.parse().ok()?,
        nth: fields.next()?.parse().ok()?,
        client_verify: text(fields.next()?),
        body_bytes: fields.next()?.parse().ok()?,
        client: fields.next()?.parse().ok()?,
        client_subject: text(fields.next()?),
        is_early: fields.next()? == "1",
        server_name: text(fields.next()?),
        alpn: text(fields.next()?),
        host: text(fields.next()?),
        user: text(fields.next()?),
    })
}

fn connection(line: &str, ports: &BTreeMap<NginxServer, u16>) -> Option<NginxConnection> {
    let mut fields = line.split('\t');
    Some(NginxConnection {
        server: server(fields.next()?, ports)?,
        status: fields.next()?.parse().ok()?,
        protocol: text(fields.next()?),
        cipher: text(fields.next()?),
        curve: text(fields.next()?),
        resumed: fields.next()? == "r",
        client: fields.next()?.parse().ok()?,
    })
}

fn server(field: &str, ports: &BTreeMap<NginxServer, u16>) -> Option<NginxServer> {
    let port: u16 = field.parse().ok()?;
    ports
        .iter()
        .find(|&(_, &own)| own == port)
        .map(|(&server, _)| server)
}

/// nginx writes `-` for an empty variable.
fn text(field: &str) -> String {
    if field == "-" {
        String::new()
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_field_by_field_and_an_unfinished_one_left() {
        let ports = BTreeMap::from([(NginxServer::Tls13, 9004)]);
        let row = "9004\t200\tGET\t/a?b\tTLSv1.3\tTLS_AES_256_GCM_SHA384\tX25519\tr\t7\t2\tFAILED:\
                   no such CA\t356\t127.0.0.1\tCN=a,O=b\t-\tedge.test\t-\ta.test\tann\n";
        let rows = requests(&format!("{row}9004\t20"), &ports);
        let expected = NginxRequest {
            server: NginxServer::Tls13,
            status: 200,
            method: "GET".to_owned(),
            path: "/a?b".to_owned(),
            protocol: "TLSv1.3".to_owned(),
            cipher: "TLS_AES_256_GCM_SHA384".to_owned(),
            curve: "X25519".to_owned(),
            resumed: true,
            connection: 7,
            nth: 2,
            client_verify: "FAILED:no such CA".to_owned(),
            body_bytes: 356,
            client: "127.0.0.1".parse().unwrap(),
            client_subject: "CN=a,O=b".to_owned(),
            is_early: false,
            server_name: "edge.test".to_owned(),
            alpn: String::new(),
            host: "a.test".to_owned(),
            user: "ann".to_owned(),
        };
        assert_eq!(rows, [expected]);
    }
}
