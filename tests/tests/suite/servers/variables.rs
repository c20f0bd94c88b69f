//! Variables: nginx logs their values, and what a run leaves behind has no secret.

use crate::servers::{REQUESTS, USERS};
use interop::{CoordinatorCommand, Finished, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::collections::BTreeSet;

const PLANTED: &str = "p1anted";

#[test]
fn server_sees_the_values_and_the_result_only_the_names() {
    let pki = Pki::new();
    for (server, http) in [(NginxServer::Tls13, "1.1"), (NginxServer::Http2, "2")] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let more = format!(
            "vars = {{ users = 1, shop = \"none\", key = \"env:INTEROP_KEY\" }}\n\
             load = {{ connections = \"{{users}}\", requests = {REQUESTS} }}\n\
             connection.http = {http:?}\n\
             request.path = \"/?shop={{shop}}&key={{key}}\"\n\
             request.headers = {{ x-key = \"{{key}}\" }}\n"
        );
        let set = [
            "--local".to_owned(),
            "--agents=2".to_owned(),
            format!("--set=users={USERS}"),
            "--set=shop=a=b".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let plan = plan(&nginx.url(server, "/"), &pki, &more);
        let finished = CoordinatorCommand::start(&set, &plan)
            .with(|command| {
                command.env("INTEROP_KEY", PLANTED);
            })
            .run()
            .expect(0);
        let seen = nginx.wait_for_requests(REQUESTS as usize);
        let paths: BTreeSet<&str> = seen.iter().map(|request| request.path.as_str()).collect();
        assert_eq!(seen.len() as u64, REQUESTS);
        assert_eq!(Vec::from_iter(paths), ["/?shop=a=b&key=p1anted"]);
        let document = finished.clean().document();
        assert_eq!(document.measured.operations.ok, REQUESTS);
        assert_unseen(&finished, PLANTED);
    }
}

/// Checks that neither the run's files nor its output have the `planted` text.
pub(crate) fn assert_unseen(finished: &Finished, planted: &str) {
    assert!(!finished.to_string().contains(planted), "{finished}");
    let folder = finished.run_folder().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read(&path).unwrap_or_default();
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains(planted), "{}", path.display());
    }
}
