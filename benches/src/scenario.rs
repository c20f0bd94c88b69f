//! A way to use the built-in target, over and over: what benches that count per operation share.

use crate::{Served, Server, parse};
use plan::Plan;

/// One kind of operation against the built-in target.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Name, in tables and baselines.
    pub name: &'static str,
    /// HTTPS.
    pub encrypted: bool,
    /// Content of `[connection]`.
    pub connection: &'static str,
    /// Content of `[tls]`, beside the CA.
    pub tls: &'static str,
}

impl Scenario {
    /// A server for it; with one thread it is on the first CPU.
    #[must_use]
    pub fn serve(&self, threads: usize) -> Server {
        Server::start(Served {
            encrypted: self.encrypted,
            tickets: self.tls.contains("resumption"),
            threads,
            ..Served::default()
        })
    }

    /// Its plan, with this content of `[load]`.
    #[must_use]
    pub fn plan(&self, server: &Server, load: &str) -> Plan {
        let tls = if self.encrypted {
            format!("tls = {{ ca = \"bench-ca.pem\", {} }}\n", self.tls)
        } else {
            String::new()
        };
        let text = format!(
            "target.url = \"{}/\"\nconnection = {{ {} }}\n{tls}load = {{ {load} }}\n",
            server.url, self.connection
        );
        parse(&text, server.ca_pem.as_deref())
    }
}
