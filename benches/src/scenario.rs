//! A way to use the built-in target repeatedly, shared by benches that count per operation.

use crate::{Served, Server, parse};
use plan::Plan;

/// One kind of operation against the built-in target.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// The name in tables and baselines.
    pub name: &'static str,
    /// Whether it uses HTTPS.
    pub encrypted: bool,
    /// Content of the plan's `[connection]`.
    pub connection: &'static str,
    /// Content of the plan's `[tls]`, without the CA.
    pub tls: &'static str,
}

impl Scenario {
    /// Starts a server for it; a server with one thread is on the first CPU.
    #[must_use]
    pub fn serve(&self, threads: usize) -> Server {
        Server::start(Served {
            encrypted: self.encrypted,
            tickets: self.tls.contains("resumption"),
            threads,
            ..Served::default()
        })
    }

    /// A plan for it, with `load` as the content of `[load]`.
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
