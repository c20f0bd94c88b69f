//! Nothing is the limit, or nothing shows it.

use crate::right::Right;
use crate::stage::{Stage, plan, staged};
use analysis::Verdict::{ClientBound, LoadMet, Undetermined};
use interop::{Nginx, NginxOptions, NginxServer, Pki};

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn modest_load_is_met() {
    staged("a modest open loop", &Right::is(LoadMet), || {
        let stage = Stage::apart()?;
        let options = NginxOptions {
            ip: stage.server_ip(),
            ..NginxOptions::default()
        };
        let nginx = Nginx::start(&Pki::new(), &options)?;
        let load = "rate = \"100/s\", max_connections = 50, duration = \"3s\"";
        let plan = plan(&nginx.url(NginxServer::Plain, "/"), load, "");
        Some(stage.play(stage.agent_side(), &plan, |_| ()))
    });
}

#[test]
#[ignore = "takes minutes on a quiet machine"]
fn server_and_agent_on_one_machine() {
    staged(
        "server and agent on one machine",
        &Right::is(Undetermined).or(&[ClientBound]),
        || {
            let stage = Stage::together()?;
            let nginx = Nginx::start(&Pki::new(), &NginxOptions::default())?;
            let load = "connections = 64, duration = \"3s\"";
            let plan = plan(&nginx.url(NginxServer::Plain, "/"), load, "");
            Some(stage.play(stage.agent_side(), &plan, |_| ()))
        },
    );
}
