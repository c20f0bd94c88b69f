//! OpenTelemetry: a collector that follows a script, nginx as an HTTPS collector that accepts
//! nothing, and the real collector if it is installed.

use interop::{
    CoordinatorCommand, Finished, Nginx, NginxOptions, NginxServer, Pki, Process, ensure, listen,
    play_side_by_side, require_optional, wait_until,
};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Long enough for a push during the run.
const PLAN: &str = r#"
name = "pushed"
target.builtin = { body_bytes = 100 }
load = { rate = "100/s", duration = "7s" }
"#;

/// How often a run is repeated if this machine is too busy for it.
const ATTEMPTS: usize = 5;

const VERDICT: &str = "cannonade.verdict";

/// A push as received.
#[derive(Debug, Clone)]
struct Push {
    /// In lower case.
    head: String,
    body: Vec<u8>,
}

impl Push {
    /// Names appear in a message unchanged.
    fn has(&self, name: &str) -> bool {
        let windows = self.body.windows(name.len());
        windows.into_iter().any(|bytes| bytes == name.as_bytes())
    }
}

/// A collector whose answers are chosen by a function of all pushes so far, in order.
struct ScriptedCollector {
    address: SocketAddr,
    pushes: Arc<Mutex<Vec<Push>>>,
}

impl ScriptedCollector {
    fn start(answer: fn(&[Push]) -> &'static str) -> ScriptedCollector {
        let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let pushes = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&pushes);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // A client that breaks off has pushed nothing.
                let Some(push) = pushed(&stream) else {
                    continue;
                };
                let mut pushes = seen.lock().unwrap();
                pushes.push(push);
                let answer = format!("HTTP/1.1 {}\r\n\r\n", answer(&pushes));
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        ScriptedCollector { address, pushes }
    }

    fn pushes(&self) -> Vec<Push> {
        self.pushes.lock().unwrap().clone()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn pushed(stream: &TcpStream) -> Option<Push> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let (_, length) = head.split_once("content-length: ")?;
    let length = length.split("\r\n").next()?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Push { head, body })
}

fn command(url: &str) -> CoordinatorCommand {
    CoordinatorCommand::start(&["--local", "--otlp", url], PLAN)
}

/// Every file that the run has left.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![std::fs::read(path).unwrap()],
        })
        .collect()
}

/// Runs again if this machine was too busy for an answer within seconds.
fn in_time<T>(run: impl Fn() -> (T, Finished)) -> (T, Finished) {
    let is_late = |finished: &Finished| finished.stderr.contains("no answer within");
    (0..ATTEMPTS)
        .map(|_| run())
        .find(|(_, finished)| !is_late(finished))
        .expect("a machine that answers")
}

#[test]
fn collector_gets_the_verdict_last_and_headers_stay_secret() {
    let headers = "authorization=Bearer%20planted-secret";
    let (collector, finished) = in_time(|| {
        // It asks for a pause when the verdict arrives first.
        let collector = ScriptedCollector::start(|pushes| {
            let verdicts = pushes.iter().filter(|push| push.has(VERDICT));
            match (verdicts.count(), pushes.last()) {
                (1, Some(last)) if last.has(VERDICT) => {
                    "503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0"
                }
                _ => "200 OK\r\ncontent-length: 0",
            }
        });
        let command = command(&collector.url()).with(|command| {
            command.env("OTEL_EXPORTER_OTLP_HEADERS", headers);
        });
        (collector, command.run())
    });
    let pushes = collector.pushes();
    assert!(pushes.len() >= 3, "{} pushes; {finished}", pushes.len());
    for push in &pushes {
        for field in [
            "post /v1/metrics http/1.1",
            "content-type: application/x-protobuf",
            "authorization: bearer planted-secret",
        ] {
            assert!(push.head.contains(field), "{field}: {}", push.head);
        }
        assert!(push.has("cannonade.operations") && push.has("pushed"));
    }
    let verdicts: Vec<bool> = pushes.iter().map(|push| push.has(VERDICT)).collect();
    let last = verdicts.len() - 2;
    assert!(!verdicts[..last].contains(&true), "{verdicts:?}");
    assert_eq!(verdicts[last..], [true, true], "sent again after the pause");
    for file in files(finished.folder()) {
        let text = String::from_utf8_lossy(&file);
        assert!(!text.contains("planted-secret"), "{text}");
    }
}

/// Lines about the collector.
fn told(finished: &Finished) -> Vec<&str> {
    let lines = finished.stderr.lines();
    lines.filter(|line| line.contains("metrics at")).collect()
}

#[test]
fn collector_that_fails_is_told_once_and_once_more_when_it_is_well() {
    let run = |_| {
        let collector = ScriptedCollector::start(|pushes| match pushes.last() {
            Some(last) if last.has(VERDICT) => "200 OK\r\ncontent-length: 0",
            _ => "401 Unauthorized\r\ncontent-length: 0",
        });
        let finished = command(&collector.url()).run();
        assert!(collector.pushes().len() >= 2, "{finished}");
        assert!(told(&finished).len() <= 2, "{finished}");
        finished
    };
    // If the machine is too busy to answer the last one, the run ends with a complaint.
    let finished = (0..ATTEMPTS).map(run).find(|run| told(run).len() == 2);
    let finished = finished.expect("a machine that answers");
    let told = told(&finished);
    assert!(told[0].contains("401") && told[0].contains("OTEL_EXPORTER_OTLP_HEADERS"));
    assert!(told[1].ends_with("again"), "{told:?}");
}

#[test]
fn nobody_at_the_address_costs_a_line_and_no_exit_code() {
    // A listener that never accepts, and a port where no program listens. A port of this test's own
    // that it has closed may be another test's listener by now.
    let silent = listen(LOOPBACK);
    let closed = SocketAddr::new(LOOPBACK, 9);
    let cases = [
        (silent.local_addr().unwrap(), "no answer within"),
        (closed, "refused"),
    ];
    let why = |&(_, why): &(SocketAddr, &str)| why.to_owned();
    play_side_by_side(cases, 2, why, |&(address, why)| {
        let finished = command(&format!("http://{address}")).run();
        let told = told(&finished);
        let is_told = |line: &str| line.contains(why) && line.contains("4318");
        // 3 is a machine that was too busy for the load.
        let is_right =
            [0, 3].contains(&finished.code) && matches!(&told[..], [line] if is_told(line));
        ensure(is_right, || finished.to_string())
    });
}

#[test]
fn https_is_spoken_to_those_whom_the_machine_trusts() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let url = nginx.url(NginxServer::Tls13, "");
    let stranger = Pki::new();
    let cases = [
        (pki.ca(), &["it answers 40"][..]),
        (stranger.ca(), &["TLS", "certificate"]),
    ];
    let roots = |(roots, _): &(PathBuf, &[&str])| roots.display().to_string();
    play_side_by_side(cases, 2, roots, |(roots, words)| {
        let finished = command(&url).with(|command| {
            command.env("SSL_CERT_FILE", roots);
        });
        let told = told(&finished.run()).concat();
        ensure(words.iter().all(|word| told.contains(word)), || told)
    });
}

/// What the real collector prints about a metric's points, in its last report.
fn printed<'o>(output: &'o str, metric: &str) -> &'o str {
    let (_, rest) = output.rsplit_once(&format!("-> Name: {metric}\n")).unwrap();
    rest.split("Descriptor:").next().unwrap()
}

fn values(points: &str, name: &str) -> Vec<u64> {
    let values = points.lines().filter_map(|line| line.strip_prefix(name));
    values.map(|value| value.parse().unwrap()).collect()
}

#[test]
fn real_collector_has_the_figures_of_the_result() {
    let Some(program) = require_optional("otelcol") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let config = format!(
        "receivers: {{otlp: {{protocols: {{http: {{endpoint: \"{address}\"}}}}}}}}\n\
         exporters: {{debug: {{verbosity: detailed}}}}\n\
         service:\n  telemetry: {{metrics: {{level: none}}}}\n  \
         pipelines: {{metrics: {{receivers: [otlp], exporters: [debug]}}}}\n"
    );
    let path = folder.path().join("config.yaml");
    std::fs::write(&path, config).unwrap();
    let mut command = Command::new(program);
    command.arg("--config").arg(path);
    let collector = Process::start(&mut command, &folder.path().join("output"));
    wait_until("the collector", || TcpStream::connect(address).ok());

    let url = format!("http://{address}");
    let ((), finished) = in_time(|| ((), self::command(&url).run()));
    assert!(told(&finished).is_empty(), "{finished}");
    let document = finished.document();
    let output = wait_until("the verdict", || {
        let output = collector.output();
        let (_, of_run) = output.split_once(&document.run.id)?;
        of_run.contains(VERDICT).then_some(output)
    });
    let measured = &document.measured;
    let operations = values(printed(&output, "cannonade.operations"), "Value: ");
    assert_eq!(operations.iter().sum::<u64>(), measured.operations.ended);
    let times = printed(&output, "cannonade.response_time");
    assert_eq!(
        values(times, "Count: "),
        [measured.times["response_time"].count]
    );
}
