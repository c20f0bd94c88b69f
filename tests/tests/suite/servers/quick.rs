//! `coordinator quick` against nginx: flags known from ab and hey have the effects that nginx
//! counts.

use interop::{BODY_BYTES, CoordinatorCommand, Nginx, NginxOptions, NginxServer, Pki};

#[test]
fn flags_of_other_tools_do_what_the_server_counts() {
    let pki = Pki::new();
    let ca = pki.ca();
    let ca = ca.to_str().unwrap();
    // (flags, server, requests, connections)
    let cases: [(&[&str], NginxServer, u64, u64); 4] = [
        (
            &["-n", "120", "-c", "6", "--ca", ca],
            NginxServer::Tls13,
            120,
            6,
        ),
        (
            &["-n", "60", "-c", "6", "--ca", ca, "--no-keepalive"],
            NginxServer::Tls12Rsa,
            60,
            60,
        ),
        (
            &[
                "-n",
                "40",
                "-c",
                "4",
                "-k",
                "-m",
                "POST",
                "-d",
                "twelve bytes",
            ],
            NginxServer::Tls13,
            40,
            4,
        ),
        (
            &["-q", "100", "-n", "50", "-H", "Accept: */*"],
            NginxServer::Plain,
            50,
            0,
        ),
    ];
    for (flags, server, requests, connections) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let url = nginx.url(server, "/");
        let arguments: Vec<&str> = ["quick"]
            .into_iter()
            .chain(flags.iter().copied())
            .chain([url.as_str()])
            .collect();
        let finished = CoordinatorCommand::new(&[&arguments[..], &["--json"]].concat()).run();
        // A busy machine can be late or stand still, and no run folder tells whether it was.
        assert!([0, 3].contains(&finished.code), "{finished}");
        let document = report::read(finished.clean().stdout.as_bytes()).unwrap();
        let measured = &document.measured;
        let rows = nginx.wait_for_requests(requests as usize);
        assert_eq!(
            (rows.len() as u64, measured.operations.ok),
            (requests, requests),
            "{flags:?}"
        );
        assert_eq!(
            nginx.status().accepted,
            measured.connections.opened,
            "{flags:?}"
        );
        assert!(
            connections == 0 || measured.connections.opened == connections,
            "{flags:?}: {:?}",
            measured.connections
        );
        assert_eq!(
            measured.bytes.payload_bytes,
            requests * BODY_BYTES as u64,
            "{flags:?}"
        );
        let method = if flags.contains(&"POST") {
            "POST"
        } else {
            "GET"
        };
        assert!(rows.iter().all(|row| row.method == method), "{flags:?}");
    }
}

#[test]
fn summary_has_what_users_of_other_tools_look_for() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let (ca, url) = (pki.ca(), nginx.url(NginxServer::Tls13, "/"));
    let arguments = [
        "quick",
        "-v",
        "-n",
        "60",
        "-c",
        "4",
        "--no-keepalive",
        "--ca",
        ca.to_str().unwrap(),
        &url,
    ];
    let finished = CoordinatorCommand::new(&arguments).run();
    assert!([0, 3].contains(&finished.code), "{finished}");
    let words = [
        "connect",
        "processing",
        "waiting",
        "total",
        "min",
        "mean",
        "sd",
        "median",
        "max",
        "50 %",
        "99 %",
        "Status codes",
        "200",
        "Errors",
        "Rate",
        "TLS 1.3",
        "TLS_AES_256_GCM_SHA384",
        "X25519",
        "ECDSA P-256",
        "first byte",
        "Response time",
        "B/s",
    ];
    let missing: Vec<_> = words
        .into_iter()
        .filter(|word| !finished.stdout.contains(word))
        .collect();
    assert!(missing.is_empty(), "{missing:?} are not in it; {finished}");
    assert_eq!(
        finished.clean().run_folder(),
        None,
        "nothing is left where nothing was asked for"
    );
}
