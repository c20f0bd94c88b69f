//! Requests that cannot be run: one clear message each, and the documented exit code.

use crate::program::command::{Folder, PLAN, assert_code, told};
use rcgen::{BasicConstraints, CertificateParams, CustomExtension, IsCa, KeyPair};
use std::net::TcpListener;

const REMOTE: &str =
    "target.url = \"http://127.0.0.1:9/\"\nload = { connections = 1, duration = \"1s\" }";

const NARROW: &str = "target.url = \"http://127.0.0.1:9/\"\nload = { rate = \"9/s\", \
                      max_connections = 3, duration = \"1s\" }";

/// More requests and addresses than can be kept apart.
fn many_cells() -> String {
    let addresses: Vec<String> = (1..=5).map(|last| format!("127.0.0.{last}")).collect();
    let requests: String = (0..1000)
        .map(|nth| format!("[[request]]\npath = \"/{nth}\"\n"))
        .collect();
    format!("target.addresses = {addresses:?}\n{REMOTE}\n{requests}")
}

#[test]
fn each_refusal_names_its_cure() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (plan, arguments, code, parts) in [
        (
            "load = 3",
            &["start", "--local", "plan.toml"][..],
            2,
            &["plan.toml:1:8: load: found", "target"][..],
        ),
        (
            PLAN,
            &["start", "plan.toml"],
            2,
            &["plan.toml: target.builtin", "--local"],
        ),
        (
            PLAN,
            &["start", "--local", "none.toml"],
            2,
            &["none.toml: no such file"],
        ),
        (
            PLAN,
            &["check", "none.toml"],
            2,
            &["none.toml: no such file"],
        ),
        (
            PLAN,
            &["start", "--local", "--listen", "127.0.0.1:1", "plan.toml"],
            2,
            &["--local", "--listen"],
        ),
        (
            PLAN,
            &["start", "--agents", "0", "plan.toml"],
            2,
            &["--agents"],
        ),
        (
            PLAN,
            &["report", "runs/none"],
            2,
            &["runs/none: no such file"],
        ),
        (
            PLAN,
            &["start", "--local", "--resume", "runs/none"],
            2,
            &["runs/none: no such folder", "the run to go on with"],
        ),
        (
            PLAN,
            &["report", "plan.toml"],
            2,
            &["plan.toml", "not a result"],
        ),
        (
            PLAN,
            &["start", "--local", "--output", "plan.toml/x", "plan.toml"],
            4,
            &["not a directory", "--output"],
        ),
        (
            REMOTE,
            &["start", "--listen", &taken, "plan.toml"],
            4,
            &[&taken, "--listen"],
        ),
        (
            REMOTE,
            &[
                "start",
                "--listen",
                "127.0.0.1:0",
                "--state",
                "plan.toml/x",
                "plan.toml",
            ],
            4,
            &["--state"],
        ),
        (
            REMOTE,
            &["start", "--agents", "2", "plan.toml"],
            2,
            &["load.connections: 1 cannot be shared by 2 agents"],
        ),
        (
            REMOTE,
            &["check", "--agents", "2", "plan.toml"],
            2,
            &["load.connections: 1", "write at least 2"],
        ),
        (
            NARROW,
            &["start", "--local", "--agents", "4", "plan.toml"],
            2,
            &["load.max_connections: 3", "use fewer agents"],
        ),
        (
            REMOTE,
            &["start", "--local", "--allow", "a/b", "plan.toml"],
            2,
            &["--allow a/b"],
        ),
        (
            &many_cells(),
            &["check", "plan.toml"],
            2,
            &["1000 requests at 5 addresses", "fewer requests"],
        ),
        (
            &many_cells(),
            &["start", "--local", "plan.toml"],
            2,
            &["12000 cells"],
        ),
        (
            REMOTE,
            &["quick", "--allow", "a/b", "http://127.0.0.1:9/"],
            2,
            &["--allow a/b"],
        ),
    ] {
        let folder = Folder::with_plan(plan);
        let output = folder.run(arguments);
        assert_code(&output, code);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            parts.iter().all(|part| said.contains(part)),
            "{arguments:?}: {said}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}: {}", told(&output));
        folder.assert_nothing_is_left();
    }
}

#[test]
fn target_outside_the_agents_policy_is_refused_by_name() {
    let plan = REMOTE
        .replace("127.0.0.1", "192.0.2.1")
        .replace("connections = 1", "connections = 2");
    let folder = Folder::with_plan(&plan);
    let output = folder.run(&["start", "--local", "--agents", "2", "plan.toml"]);
    assert_code(&output, 4);
    let said = told(&output);
    assert!(
        said.contains("agent local-1 cannot run the plan")
            && said.contains("--allow")
            && said.contains("192.0.2.1"),
        "{said}"
    );
    let run = folder.run_folder();
    let events = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert!(events.contains("\"event\":\"problem\""), "{events}");
    assert!(
        !folder.path().join("runs/latest").exists(),
        "nothing came of it"
    );
    let refusals = folder.document().run.refusals;
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    let printed = folder.run(&["report", &run.display().to_string()]);
    assert_code(&printed, 0);
    let printed = told(&printed);
    assert!(
        printed.contains("invalid — nothing was measured")
            && printed.contains("no agent began")
            && printed.contains("--allow 192.0.2.1"),
        "{printed}"
    );
}

/// Broken, cut and mismatched certificates and keys: (tls.ca, client's certificate, its key, part
/// of the message).
const CERTIFICATES: [(&str, &str, &str, &str); 9] = [
    (
        "cut.pem",
        "a.pem",
        "a.key",
        "cut.pem holds no usable certificate (it ends before a section's",
    ),
    (
        "text.pem",
        "a.pem",
        "a.key",
        "text.pem holds no usable certificate (a section is not Base64",
    ),
    (
        "der.pem",
        "a.pem",
        "a.key",
        "der.pem holds no usable certificate (what is in it cannot",
    ),
    (
        "empty.pem",
        "a.pem",
        "a.key",
        "plan.toml:4:6: tls.ca: \"empty.pem\" is empty",
    ),
    (
        "a.pem",
        "cut.pem",
        "a.key",
        "cut.pem holds no usable certificate (it ends before a section's",
    ),
    (
        "a.pem",
        "der.pem",
        "a.key",
        "der.pem holds no usable certificate (what is in it cannot",
    ),
    (
        "a.pem",
        "a.pem",
        "cut.key",
        "cut.key holds no usable private key (it ends before a section's",
    ),
    (
        "a.pem",
        "a.pem",
        "flat.key",
        "flat.key holds no usable private key (a -----BEGIN line goes on",
    ),
    (
        "a.pem",
        "a.pem",
        "b.key",
        "the key b.key does not belong to the certificate a.pem",
    ),
];

#[test]
fn check_finds_the_certificates_that_no_agent_could_use() {
    let pem = |label: &str, body: &str| {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    };
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::default().self_signed(&key).unwrap();
    let (certificate, key) = (certificate.pem(), key.serialize_pem());
    let files = [
        ("a.pem", certificate.clone()),
        ("a.key", key.clone()),
        ("b.key", KeyPair::generate().unwrap().serialize_pem()),
        ("cut.pem", certificate[..200].to_owned()),
        ("cut.key", key[..100].to_owned()),
        ("flat.key", key.replace('\n', "\\n")),
        ("text.pem", pem("CERTIFICATE", "!!!!")),
        ("der.pem", pem("CERTIFICATE", "AAAA")),
        ("empty.pem", String::new()),
    ];
    for (ca, cert, key, said) in CERTIFICATES {
        let folder = Folder::with_plan(&format!(
            "target.url = \"https://127.0.0.1:9/\"\nload = {{ connections = 1, requests = 1 \
             }}\n[tls]\nca = {ca:?}\nclient_certificates = [{{ cert = {cert:?}, key = {key:?} }}]"
        ));
        for (name, content) in &files {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        for command in [
            &["check", "plan.toml"][..],
            &["start", "--local", "plan.toml"],
        ] {
            let output = folder.run(command);
            assert_code(&output, 2);
            let told = told(&output);
            // Lines of a key are as long as this.
            let tells_a_key = told
                .split([' ', '\\'])
                .any(|word| files[1].1.contains(word) && word.len() > 40);
            assert!(told.contains(said) && !tells_a_key, "{command:?}: {told}");
        }
        assert!(!folder.path().join("runs").exists(), "{said}");
    }
}

/// This failed once: our parser could not read the chain. The issuer's certificate is for the
/// server to read.
#[test]
fn chain_is_taken_whose_issuer_says_what_we_do_not_know() {
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::default().self_signed(&key).unwrap();
    let mut issuer = CertificateParams::default();
    issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // policyConstraints, critical (RFC 5280 §4.2.1.11).
    let mut policy = CustomExtension::from_oid_content(&[2, 5, 29, 36], vec![0x30, 3, 0x80, 1, 0]);
    policy.set_criticality(true);
    issuer.custom_extensions.push(policy);
    let issuer = issuer.self_signed(&KeyPair::generate().unwrap()).unwrap();
    let folder = Folder::with_plan(
        "target.url = \"https://127.0.0.1:9/\"\nload = { connections = 1, requests = 1 }\n\
         tls.client_certificates = [{ cert = \"chain.pem\", key = \"leaf.key\" }]",
    );
    let write = |name: &str, content: String| std::fs::write(folder.path().join(name), content);
    write("chain.pem", leaf.pem() + &issuer.pem()).unwrap();
    write("leaf.key", key.serialize_pem()).unwrap();
    let output = folder.run(&["check", "plan.toml"]);
    assert_code(&output, 0);
}

#[test]
fn run_whose_host_cannot_start_leaves_no_link() {
    let folder = Folder::with_plan(REMOTE);
    let start = ["start", "--listen", "127.0.0.1:0"];
    let output =
        folder.run(&[&start[..], &["--token-file", "nowhere/token", "plan.toml"]].concat());
    assert_code(&output, 4);
    assert!(!folder.path().join("runs/latest").is_symlink());
}
