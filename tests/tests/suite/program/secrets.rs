//! Secrets of a plan are written nowhere: not into the run folder, not to the terminal, not by the
//! agents.

use crate::program::command::{Folder, PLAN, assert_code, told, wait_until};
use std::path::Path;
use std::process::Output;

/// Part of every value that is planted.
const PLANTED: &str = "planted-secret";

/// Each of the fields that hold secrets, in several of the ways that TOML allows.
const HEADERS: &str = concat!(
    r#"
[[request]]
name = "inline"
headers = { Authorization = "Bearer planted-secret-1", "#,
    r#"cookie = ["a=planted-secret-2", 'b=planted-secret-3'], x = "shown" }
[[request]]
name = "dotted"
headers.proxy-authorization = """
Basic \
planted-secret-4"""
headers."COOKIE" = "c={user}-planted-secret-5"
"#,
);

const SINGLE: &str = "
name = 'single'
target.builtin = { body_bytes = 100 }
load = { connections = 2, requests = 40 }
tls.client_certificates = [{ cert = 'client.pem', key = 'client.key' }]
";

/// A quoted path, the path of an axis, and a variant that replaces all requests.
const CAMPAIGN: &str = r#"
name = "campaign"
target.builtin = { tls = false, body_bytes = 100 }
load = { connections = 2, requests = 40 }
[variants]
one = { "request.headers.cookie" = "d=planted-secret-6" }
two = { request = [{ headers = { cookie = "e=planted-secret-7" } }] }
three.request.headers = { x = "shown", cookie = "f=planted-secret-8" }
[matrix]
"load.seed" = [1, 2]
"#;

const MATRIX: &str = r#"
name = "matrix"
target.builtin = { tls = false, body_bytes = 100 }
load = { connections = 2, requests = 40 }
[matrix]
"request.headers.authorization" = ["planted-secret-9", "planted-secret-10"]
"#;

/// An axis whose values are tables.
const TABLES: &str = r#"
name = "tables"
target.builtin = { tls = false, body_bytes = 100 }
load = { connections = 2, requests = 40 }
matrix."request.headers" = [{ cookie = "planted-secret-11" }, { cookie = "planted-secret-12" }]
"#;

const SEARCH: &str = r#"
name = "search"
target.builtin = { tls = false, body_bytes = 100, delay = "20ms" }
thresholds = { "errors.count" = "<= 0", "rate" = "<= 150/s" }
search = { connections = { from = 1, to = 4 }, hold = "300ms", settle = "1s" }
"#;

/// Variables that are secret, wherever they can be declared and can stand.
const VARIABLES: &str = r#"
name = "variables"
target.builtin = { tls = false, body_bytes = 100 }
load = { connections = 2, requests = 40 }
vars = { one = { secret = "planted-secret-13" }, "two.secret" = "planted-secret-14" }
[request]
method = "POST"
path = "/{one}?{two}"
headers = { x = "{one}", authorization = "{two}" }
body = "{one} {two}"
[variants]
a.vars.two = { secret = "planted-secret-15" }
b = { "vars.two.secret" = "planted-secret-16" }
[matrix]
"vars.one" = [{ secret = "planted-secret-17" }, { secret = "planted-secret-18" }]
"#;

/// Plans that are refused in every way that could show a value.
const WRONG: [&str; 19] = [
    "vars.k = 1\nrequest.headers.cookie = ['{planted-secret}']",
    "vars.k = 1\nrequest.headers = 'cookie: {planted-secret}'",
    "vars.k = 1\nmatrix.'vars.k' = [{ secrets = 'planted-secret' }, { x = 'planted-secret' }]",
    "vars.k = { secret = 'planted-secret' }\nname = '{k}'",
    "vars.k = { secret = 'planted-secret x' }\nrequest.path = '/{k}'",
    "vars.k = { secret = ['planted-secret'] }",
    "vars.k = { secret = 'planted-secret', planted = 'planted-secret' }",
    "vars.k.secret = { secret = 'planted-secret' }",
    "request.headers.authorization = \"planted-secret \"",
    "request.headers.authorization = \"planted-secret\\n\"",
    "request.headers.Cookie = [\"planted-secret\", \" planted-secret\"]",
    "request.headers.cookie.planted = 2024-01-01",
    "request.headers.cookie = 1.5\nrequest.headers.\"Cookie\" = \"planted-secret\"",
    "request = { headers = { cookie = \"planted-secret\" }, cookie = \"planted-secret\" }",
    "authorization = \"planted-secret\"",
    "matrix.\"request.headers.cookie\" = [\"planted-secret\", \"planted-secret\"]",
    "request.headers = \"Cookie: planted-secret\"",
    "variants.a.request.headers = \"Cookie: planted-secret\"",
    "matrix.\"request.headers\" = [\"Cookie: planted-secret\"]",
];

/// Makes a folder with `plan` as `plan.toml` and a new client certificate, and returns what must
/// not be found.
fn folder(plan: &str) -> (Folder, Vec<String>) {
    let folder = Folder::with_plan(plan);
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    std::fs::write(folder.path().join("client.pem"), certificate).unwrap();
    let pem = key.serialize_pem();
    std::fs::write(folder.path().join("client.key"), &pem).unwrap();
    let of_key = pem.lines().filter(|line| !line.starts_with("-----"));
    let planted = [PLANTED.to_owned()].into_iter();
    let planted = planted.chain(of_key.map(str::to_owned)).collect();
    (folder, planted)
}

#[track_caller]
fn assert_holds_none(planted: &[String], place: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for value in planted {
        assert!(
            !text.contains(value.as_str()),
            "{value} in {place}:\n{text}"
        );
    }
}

/// Looks through names and contents at any depth.
#[track_caller]
fn assert_folder_holds_none(planted: &[String], folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        assert_holds_none(planted, "a name", name.as_bytes());
        if path.is_dir() {
            files += assert_folder_holds_none(planted, &path);
        } else {
            assert_holds_none(planted, &name, &std::fs::read(&path).unwrap());
            files += 1;
        }
    }
    files
}

#[track_caller]
fn assert_said_none(planted: &[String], output: &Output) {
    assert_holds_none(planted, "standard output", &output.stdout);
    assert_holds_none(planted, "standard error", &output.stderr);
}

fn runs_of(folder: &Folder) -> String {
    folder.run_folder().to_str().unwrap().to_owned()
}

#[test]
fn no_run_writes_a_secret() {
    let with_headers = |plan: &str| format!("{plan}{HEADERS}");
    let campaigns = [CAMPAIGN, MATRIX, TABLES, VARIABLES].map(str::to_owned);
    for plan in [with_headers(SINGLE), with_headers(SEARCH)]
        .into_iter()
        .chain(campaigns)
    {
        let (folder, planted) = folder(&plan);
        let check = folder.run(&["check", "plan.toml"]);
        let canonical = folder.run(&["check", "--canonical", "plan.toml"]);
        let started = folder.run(&["start", "--local", "plan.toml"]);
        let runs = runs_of(&folder);
        let report = folder.run(&["report", "--format", "json", &runs]);
        let compare = folder.run(&["compare", &runs, &runs]);
        // On a busy machine a search can end client-bound, which leaves as many files.
        let begun = started.status.code();
        assert!(matches!(begun, Some(0 | 3)), "{}", told(&started));
        for output in [&check, &canonical, &report] {
            assert_code(output, 0);
        }
        for output in [check, canonical, started, report, compare] {
            assert_said_none(&planted, &output);
        }
        let files = assert_folder_holds_none(&planted, &folder.path().join("runs"));
        assert!(files >= 4, "{files} files");
    }
}

#[test]
fn no_refusal_shows_a_secret() {
    for wrong in WRONG {
        let plan = "target.builtin = true\nload = { connections = 1, requests = 1 }\n";
        let (folder, planted) = folder(&format!("{plan}{wrong}\n"));
        for command in [
            &["check", "plan.toml"][..],
            &["start", "--local", "plan.toml"],
        ] {
            let output = folder.run(command);
            assert_code(&output, 2);
            assert_said_none(&planted, &output);
        }
    }
    let (folder, planted) = folder("");
    for line in [
        &["-H", "Authorization planted-secret", "http://127.0.0.1:9/"][..],
        &["-H", "Cookie: planted-secret\u{7}", "http://127.0.0.1:9/"],
        &["-H", "Cookie=planted-secret", "http://127.0.0.1:9/"],
        &["-a", "planted-secret", "http://127.0.0.1:9/"],
        &["http://me:planted-secret@127.0.0.1:9/"],
        &["http://me:planted-secret@127.0.0.1:9/#a@b"],
        &["//me:planted-secret@127.0.0.1:9/"],
    ] {
        let output = folder.run(&[&["quick"], line].concat());
        assert_code(&output, 2);
        assert_said_none(&planted, &output);
    }
}

/// The agent is not allowed to load the target, and reports that to the coordinator.
#[test]
fn no_failing_run_writes_a_secret() {
    let plan = SINGLE
        .replace("target.builtin", "#")
        .replace("'single'", "'fails'");
    let (folder, planted) = folder(&format!(
        "target.url = 'https://192.0.2.1/'\n{plan}{HEADERS}"
    ));
    let output = folder.run(&["start", "--local", "plan.toml"]);
    assert!(!output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("192.0.2.1"), "{}", told(&output));
    assert_said_none(&planted, &output);
    assert!(assert_folder_holds_none(&planted, &folder.path().join("runs")) >= 4);
}

/// Neither side prints the token if it goes into a file.
#[test]
fn agent_and_coordinator_keep_secrets_and_the_token() {
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let url = server.url("/");
    let (folder, mut planted) = folder(&format!(
        "target.url = \"{url}\"\nload = {{ connections = 4, requests = 101 }}\n{HEADERS}"
    ));
    let address = interop::free_address().to_string();
    let file = ["--token-file", "token"];
    let started =
        folder.begin(&[&["start", "--listen", &address], &file[..], &["plan.toml"]].concat());
    let token = || std::fs::read_to_string(folder.path().join("token")).unwrap_or_default();
    wait_until("the token", || token().ends_with('\n'));
    let joined = folder.begin(&[&["agent", "join"], &file[..], &[&address]].concat());
    let output = started.end();
    assert_code(&output, 0);
    planted.push(token().trim().to_owned());
    let enrolment = std::fs::read(folder.path().join("cannonade/enrolment.json")).unwrap();
    let enrolment: serde_json::Value = serde_json::from_slice(&enrolment).unwrap();
    planted.push(enrolment["secret"].as_str().unwrap().to_owned());
    joined.signal("TERM");
    for output in [output, joined.end()] {
        assert_said_none(&planted, &output);
    }
    assert!(assert_folder_holds_none(&planted, &folder.path().join("runs")) >= 4);
}

#[test]
fn saved_plan_says_which_secret_it_misses() {
    let (folder, _) = folder(&format!("{SINGLE}{HEADERS}"));
    assert_code(&folder.run(&["start", "--local", "plan.toml"]), 0);
    let runs = runs_of(&folder);
    let saved = std::fs::read_to_string(format!("{runs}/plan.toml")).unwrap();
    assert!(
        saved.contains("x = \"shown\"") && saved.contains("'client.key'"),
        "{saved}"
    );
    let lines = |text: &str| text.lines().count();
    // A value of three lines is saved as one of one line.
    assert_eq!(lines(&saved), lines(SINGLE) + lines(HEADERS) - 2, "{saved}");
    std::fs::write(folder.path().join("again.toml"), &saved).unwrap();
    let output = folder.run(&["start", "--local", "again.toml"]);
    assert_code(&output, 2);
    let said = told(&output);
    for field in [
        "[0].headers.Authorization",
        "[0].headers.cookie",
        "[1].headers.COOKIE",
    ] {
        assert!(said.contains(&format!("request{field}: ")), "{said}");
    }
    assert!(said.contains("give the original file"), "{said}");
    assert_eq!(said.matches("(not saved)").count(), 4, "{said}");
}

/// Resuming compares the plan given now with what was saved of the first one.
#[test]
fn secret_that_changed_is_noticed_when_runs_are_resumed() {
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let elsewhere = format!("target.url = \"{}\"", server.url("/"));
    // A built-in target has another port and another CA in each run.
    for target in [elsewhere.as_str(), "target.builtin = true"] {
        let plan = |secret: &str| {
            format!(
                "{target}\nload = {{ connections = 2, requests = 40 }}\n\
                 request.headers.authorization = \"{secret}\"\nrepeat.times = 2\n",
            )
        };
        let folder = Folder::with_plan(&plan("planted-secret-1"));
        assert_code(&folder.run(&["start", "--local", "plan.toml"]), 0);
        let runs = runs_of(&folder);
        let resume = ["start", "--local", "--resume", &runs, "plan.toml"];
        assert_code(&folder.run(&resume), 0);
        std::fs::write(folder.path().join("plan.toml"), plan("planted-secret-2")).unwrap();
        let output = folder.run(&resume);
        assert_code(&output, 2);
        let said = told(&output);
        assert!(said.contains("other values of authorization"), "{said}");
        assert!(!said.contains(PLANTED), "{said}");
    }
}

/// No other part of a campaign's folder shows that a threshold was another one.
#[test]
fn value_that_was_set_is_given_again_when_runs_are_resumed() {
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let folder = Folder::with_plan(&format!(
        "vars.most = {{}}\ntarget.url = \"{}\"\nload = {{ connections = 2, requests = 40 }}\n\
         thresholds.\"errors.count\" = \"<= {{most}}\"\nrepeat.times = 2\n",
        server.url("/")
    ));
    let set = |most| ["start", "--local", "--set", most];
    let begun = folder.run(&[&set("most=3")[..], &["plan.toml"]].concat());
    assert_code(&begun, 0);
    let runs = runs_of(&folder);
    let resume = |most| folder.run(&[&set(most)[..], &["--resume", &runs, "plan.toml"]].concat());
    assert_code(&resume("most=3"), 0);
    let other = resume("most=4");
    assert_code(&other, 2);
    let said = told(&other);
    assert!(said.contains("other values of {most}"), "{said}");
    assert!(said.contains("files and --set"), "{said}");
}

#[test]
fn plan_without_secrets_is_saved_as_it_was_given() {
    let plan = PLAN
        .replace('\n', "\r\n")
        .replace("\"short\"", "'short' # why");
    let folder = Folder::with_plan(&plan);
    assert_code(&folder.run(&["start", "--local", "plan.toml"]), 0);
    let saved = std::fs::read_to_string(folder.run_folder().join("plan.toml")).unwrap();
    assert_eq!(saved, plan);
}
