//! Rows of data files, as nginx logs them: which operation took which row, however many agents
//! there are, over every protocol and loop.

use interop::{
    CoordinatorCommand, Finished, Nginx, NginxOptions, NginxServer, Pki, ensure, plan,
    play_side_by_side, require, try_up_to,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Rows of the file; not a divisor of the operations, so that the last pass is not whole.
const ROWS: u64 = 40;
const OPERATIONS: u64 = 100;

/// Cases at once, since a run mostly waits.
const AT_ONCE: usize = 3;

/// What an operation sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sent {
    seq: u64,
    user: u64,
    row: u64,
}

/// A plan's load and connections, and the server that it goes to.
#[derive(Debug, Clone, Copy)]
struct Case {
    server: NginxServer,
    load: &'static str,
    connection: &'static str,
}

const CLOSED: &str = "connections = 5";
const OPEN: &str = "rate = \"100/s\", max_connections = 6";

const ORDERS: [&str; 5] = ["sequential", "shuffled", "random", "unique", "user"];

static CASES: [Case; 6] = [
    Case {
        server: NginxServer::Plain,
        load: CLOSED,
        connection: "requests = 1",
    },
    Case {
        server: NginxServer::Plain,
        load: OPEN,
        connection: "",
    },
    Case {
        server: NginxServer::Tls13,
        load: CLOSED,
        connection: "",
    },
    Case {
        server: NginxServer::Tls13Tickets,
        load: OPEN,
        connection: "requests = 1",
    },
    Case {
        server: NginxServer::Http2,
        load: CLOSED,
        connection: "http = \"2\", streams = 3",
    },
    Case {
        server: NginxServer::Http2,
        load: OPEN,
        connection: "http = \"2\"",
    },
];

/// Rows whose cell is the row's number, from 0.
pub(crate) fn numbers(rows: u64) -> String {
    (0..rows).fold("number\n".to_owned(), |text, row| format!("{text}{row}\n"))
}

fn run(agents: u32, plan: &str, files: &[(&str, &[u8])]) -> Finished {
    let command = CoordinatorCommand::local(agents, plan);
    let with_files = files.iter().fold(command, |command, (name, content)| {
        command.file(name, content)
    });
    with_files.run().expect(0)
}

/// What nginx logged of requests for `/?seq=…&user=…&row=…`, by number of the operation.
fn sent(nginx: &Nginx, operations: u64) -> Vec<Sent> {
    let seen = nginx.wait_for_requests(operations as usize);
    assert_eq!(seen.len() as u64, operations);
    let mut sent: Vec<Sent> = seen.iter().map(|request| sent_by(&request.path)).collect();
    sent.sort_unstable();
    sent
}

fn sent_by(path: &str) -> Sent {
    let number = |name: &str| -> u64 {
        let (_, behind) = path.split_once(&format!("{name}=")).unwrap();
        behind.split('&').next().unwrap().parse().unwrap()
    };
    Sent {
        seq: number("seq"),
        user: number("user"),
        row: number("row"),
    }
}

fn rows_of(case: &Case, order: &str, agents: u32, pki: &Pki) -> Option<Vec<Sent>> {
    let nginx = Nginx::start(pki, &NginxOptions::default())?;
    let operations = if order == "unique" { ROWS } else { OPERATIONS };
    let more = format!(
        "load = {{ {}, requests = {operations} }}\nconnection = {{ {} }}\n\
         data.d = {{ file = \"d.csv\", order = {order:?} }}\n\
         request.path = \"/?seq={{seq}}&user={{user}}&row={{d.number}}\"\n",
        case.load, case.connection
    );
    let plan = plan(&nginx.url(case.server, "/"), pki, &more);
    let finished = run(agents, &plan, &[("d.csv", numbers(ROWS).as_bytes())]);
    let document = finished.clean().document();
    assert_eq!(document.measured.operations.ok, operations, "{finished}");
    let sent = sent(&nginx, operations);
    let numbers: Vec<u64> = sent.iter().map(|sent| sent.seq).collect();
    assert!(numbers.into_iter().eq(0..operations), "{case:?} {order}");
    Some(sent)
}

#[test]
fn operations_send_the_same_rows_with_any_number_of_agents() {
    let pki = Pki::new();
    let cases = CASES.iter().zip(ORDERS.into_iter().cycle());
    let name = |(case, order): &(&Case, &str)| format!("{case:?} {order}");
    play_side_by_side(cases, AT_ONCE, name, |(case, order)| {
        assert_same_rows(case, order, &pki);
        Ok(())
    });
}

/// Runs one, two and four agents.
fn assert_same_rows(case: &Case, order: &str, pki: &Pki) {
    let mut first: Option<Vec<u64>> = None;
    for agents in [1, 2, 4] {
        let Some(sent) = rows_of(case, order, agents, pki) else {
            return;
        };
        check_order(order, &sent);
        if order == "user" {
            continue; // who has an operation differs
        }
        let rows: Vec<u64> = sent.iter().map(|sent| sent.row).collect();
        let expected = first.get_or_insert_with(|| rows.clone());
        assert_eq!(*expected, rows, "{case:?} {order} {agents}");
    }
}

/// Checks what an order promises of operations that are sorted by number.
fn check_order(order: &str, sent: &[Sent]) {
    let rows: Vec<u64> = sent.iter().map(|sent| sent.row).collect();
    match order {
        "sequential" | "unique" => {
            assert!(
                sent.iter().all(|sent| sent.row == sent.seq % ROWS),
                "{sent:?}"
            );
        }
        "shuffled" => {
            let passes: Vec<BTreeSet<u64>> = rows
                .chunks(ROWS as usize)
                .map(|pass| pass.iter().copied().collect())
                .collect();
            let sizes: Vec<usize> = passes.iter().map(BTreeSet::len).collect();
            assert_eq!(sizes, [40, 40, 20], "{rows:?}");
            assert_ne!(rows[..40], rows[40..80], "passes differ");
        }
        "random" => {
            let distinct: BTreeSet<u64> = rows.iter().copied().collect();
            assert!((25..40).contains(&distinct.len()), "{rows:?}");
        }
        _ => assert!(
            sent.iter().all(|sent| sent.row == sent.user % ROWS),
            "{sent:?}"
        ),
    }
}

/// Runs two agents for each of these orders and cases.
fn check_orders(orders: impl IntoIterator<Item = (&'static str, &'static Case)>) {
    let pki = Pki::new();
    let name = |(order, case): &(&str, &Case)| format!("{case:?} {order}");
    play_side_by_side(orders, AT_ONCE, name, |(order, case)| {
        if let Some(sent) = rows_of(case, order, 2, &pki) {
            check_order(order, &sent);
        }
        Ok(())
    });
}

/// Cases alternate between the loops, so that each order meets both of them.
#[test]
fn every_order_is_kept_over_agents_in_both_loops() {
    let cases = CASES.iter().cycle();
    check_orders(ORDERS.into_iter().flat_map(|order| [order; 2]).zip(cases));
}

#[test]
#[ignore = "a minute of runs"]
fn every_order_is_kept_over_agents_and_protocols() {
    check_orders(
        ORDERS
            .into_iter()
            .flat_map(|order| CASES.iter().map(move |case| (order, case))),
    );
}

/// Python writes CSV with quotes and line feeds in cells, JSON and gzip as it does.
const PYTHON: &str = r#"
import csv, gzip, json
cells = ['plain', 'a,b', 'say "hi"', 'two\nlines', 'e\u0301 \u20ac', '', ' x ', 'q?a=1&b#c/d',
         '%41+']
rows = [{'id': number, 'text': cell} for number, cell in enumerate(cells)]
with open('d.csv', 'w', newline='', encoding='utf-8') as out:
    writer = csv.DictWriter(out, ['id', 'text'])
    writer.writeheader()
    writer.writerows(rows)
with open('d.jsonl', 'w', encoding='utf-8') as out:
    for row in rows:
        out.write(json.dumps(row) + '\n')
for name in ['d.csv', 'd.jsonl']:
    with open(name, 'rb') as plain, gzip.open(name + '.gz', 'wb') as out:
        out.write(plain.read())
from urllib.parse import quote
print('\n'.join(quote(cell, safe='-._~') for cell in cells))
"#;

#[test]
fn files_that_python_wrote_arrive_as_python_would_quote_them() {
    let (pki, Some(python)) = (Pki::new(), require("python3")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new(python)
        .args(["-c", PYTHON])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let quoted = String::from_utf8(made.stdout).unwrap();
    let expected: Vec<String> = (0..)
        .zip(quoted.strip_suffix('\n').unwrap().split('\n'))
        .map(|(id, text)| format!("/?id={id}&text={text}"))
        .collect();
    for name in ["d.csv", "d.jsonl", "d.csv.gz", "d.jsonl.gz"] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let more = format!(
            "load.connections = 1\ndata.d = {{ file = {name:?}, order = \"unique\" }}\n\
             request.path = \"/?id={{d.id}}&text={{d.text}}\"\n"
        );
        let content = std::fs::read(folder.path().join(name)).unwrap();
        let plan = plan(&nginx.url(NginxServer::Plain, "/"), &pki, &more);
        let finished = run(1, &plan, &[(name, &content)]);
        let seen = nginx.wait_for_requests(expected.len());
        let paths: Vec<&str> = seen.iter().map(|request| request.path.as_str()).collect();
        assert_eq!(paths, expected, "{name}\n{finished}");
    }
}

/// Requests of a connection that the server answers.
const ANSWERED: usize = 6;

/// Answers the first requests of each connection, and closes it when another one has come. Returns
/// its address and the paths of all requests.
fn fickle_server() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (paths, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let paths = paths.clone();
            std::thread::spawn(move || serve_first(&stream, &paths));
        }
    });
    (address, seen)
}

fn serve_first(mut stream: &TcpStream, paths: &Sender<String>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    for number in 0..=ANSWERED {
        let Some(first) = lines.next() else {
            return;
        };
        lines.find(String::is_empty);
        let _ = paths.send(first.split(' ').nth(1).unwrap_or_default().to_owned());
        if number < ANSWERED {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    }
}

#[test]
fn request_that_is_sent_again_keeps_its_row() {
    // One whose connection ends more than a few milliseconds later fails and is not sent again, so
    // a server that has to wait for its CPU repeats the trial. Its rows are right all the same.
    try_up_to(10, || {
        let (address, seen) = fickle_server();
        let plan = format!(
            "name = \"interop\"\ntarget.url = \"http://{address}/\"\nload.connections = 4\n\
             data.d = {{ file = \"d.csv\", order = \"unique\" }}\n\
             request.path = \"/?seq={{seq}}&user={{user}}&row={{d.number}}\"\n"
        );
        let finished = run(2, &plan, &[("d.csv", numbers(ROWS).as_bytes())]);
        let document = finished.clean().document();
        let mut all: Vec<Sent> = seen.try_iter().map(|path| sent_by(&path)).collect();
        let again = document.measured.connections.reused_closed;
        let ok = document.measured.operations.ok;
        assert!(again > 0 || ok < ROWS, "{finished}");
        assert_eq!(all.len() as u64, ROWS + again, "{finished}");
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len() as u64, ROWS, "{all:?}");
        check_order("unique", &all);
        ensure(ok == ROWS, || format!("{ok} of {ROWS} are ok"))
    })
    .unwrap();
}

#[test]
fn requests_without_a_column_take_no_row() {
    let (pki, Some(nginx)) = (
        Pki::new(),
        Nginx::start(&Pki::new(), &NginxOptions::default()),
    ) else {
        return;
    };
    let more = "load.connections = 4\ndata.d = { file = \"d.csv\", order = \"unique\" }\n\
                [[request]]\npath = \"/?seq={seq}&user={user}&row={d.number}\"\n\
                [[request]]\nname = \"plain\"\npath = \"/204\"\nweight = 3\n\
                expect.status = [204]\n";
    let plan = plan(&nginx.url(NginxServer::Plain, "/"), &pki, more);
    let finished = run(4, &plan, &[("d.csv", numbers(ROWS).as_bytes())]);
    let document = finished.clean().document();
    let seen = nginx.wait_for_requests(document.measured.operations.ok as usize);
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    for request in &seen {
        let row = request.path.split("row=").nth(1).unwrap_or("");
        *times.entry(row).or_default() += 1;
    }
    let plain = times.remove("").unwrap();
    assert_eq!(times.len() as u64, ROWS, "{finished}");
    assert!(times.values().all(|&number| number == 1), "{times:?}");
    assert!((80..200).contains(&plain), "{plain} without a row");
}

/// Rows 3, 6, 9 … lead to no page. The first line of the file is its header.
fn words(rows: u64) -> String {
    (1..=rows).fold("word,key\n".to_owned(), |text, row| {
        let word = if row % 3 == 0 {
            format!("no-{row}")
        } else {
            String::new()
        };
        format!("{text}{word},p1anted{row}\n")
    })
}

#[test]
fn result_says_which_rows_were_taken_and_which_failed() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let more = "load = { connections = 4, requests = 200, warm_up = \"500ms\" }\n\
                data.w = { file = \"w.csv\", order = \"shuffled\", secret = [\"key\"] }\n\
                request = { path = \"/{w.word}?{seq}\", headers.x-key = \"{w.key}\" }\n";
    let plan = plan(&nginx.url(NginxServer::Tls13, "/"), &pki, more);
    let finished = run(2, &plan, &[("w.csv", words(150).as_bytes())]);
    let document = finished.clean().document();
    let [data] = &document.data[..] else {
        panic!("{finished}");
    };
    assert_eq!((data.name.as_str(), data.file.as_str()), ("w", "w.csv"));
    assert_eq!(
        (data.rows, data.taken, data.distinct),
        (150, 200, Some(150))
    );
    let measured = |path: &str| !path.contains("?9000000000000");
    let mut failed: BTreeMap<u64, u64> = BTreeMap::new();
    for request in nginx
        .requests()
        .iter()
        .filter(|request| measured(&request.path))
    {
        let word = request.path.split('?').next().unwrap_or_default();
        if let Some(row) = word.strip_prefix("/no-") {
            assert_eq!(request.status, 404);
            *failed.entry(row.parse().unwrap()).or_default() += 1;
        }
    }
    assert_eq!(failed.values().sum::<u64>(), data.failed, "{finished}");
    let first: Vec<(u64, u64, u64)> = failed
        .into_iter()
        .take(20)
        .map(|(row, times)| (row, row + 1, times))
        .collect();
    let told: Vec<(u64, u64, u64)> = data
        .failed_rows
        .iter()
        .map(|row| (row.row, row.line, row.failures["http.status.404"]))
        .collect();
    assert_eq!(told, first, "{finished}");
    assert!(finished.stdout.contains("Data files"), "{finished}");
    check_folder(&finished);
}

/// Checks that what a run left tells the same when it is made again, and has no secret cell.
fn check_folder(finished: &Finished) {
    let folder = finished.run_folder().unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read(&path).unwrap_or_default();
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains("p1anted"), "{}", path.display());
    }
    let before = finished.document();
    let folder = folder.to_str().unwrap();
    let again = CoordinatorCommand::new(&["report", "--remake", folder]).run();
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(finished.document().data, before.data, "{again}");
}
