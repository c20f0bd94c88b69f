//! What filling a field of a request costs: its time beside a request without it, in turns. And
//! what it takes to index a mapped file.
//!
//! Noise only adds, so the shortest of many rounds counts.

use benches::is_trial;
use data::{DataFormat, DataTable, FileLayout};
use engine::RequestRehearsal;
use plan::{Files, MappedFile, Plan};
use std::io::{Seek as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: usize = 100_000;
/// Longest time for a column of rows in the file's order, in nanoseconds. Any row costs what the
/// caches say.
const COLUMN_NS: f64 = 40.0;
/// Rows of the file that is indexed, and the longest time for that on one CPU.
const INDEXED_ROWS: usize = 10_000_000;
const INDEX_MAX: Duration = Duration::from_secs(10);

/// Name, what the plan declares, and the field.
const FIELDS: [(&str, &str, &str); 18] = [
    ("{seq}", "", "{seq}"),
    ("{random}", "", "{random}"),
    (
        "first column of four",
        "data.d.file = \"d.csv\"",
        "{d.login}",
    ),
    (
        "last column of four",
        "data.d.file = \"d.csv\"",
        "{d.token}",
    ),
    (
        "first column, any row",
        "data.d = { file = \"d.csv\", order = \"random\" }",
        "{d.login}",
    ),
    (
        "mapped, first of four",
        "data.d = { file = \"d.csv\", send = false }",
        "{d.login}",
    ),
    (
        "mapped, last of four",
        "data.d = { file = \"d.csv\", send = false }",
        "{d.token}",
    ),
    (
        "mapped, first, any row",
        "data.d = { file = \"d.csv\", send = false, order = \"random\" }",
        "{d.login}",
    ),
    ("uuid", "let.x = \"uuid\"", "{x}"),
    ("counter", "let.x = \"counter\"", "{x}"),
    ("number", "let.x = { random = [100, 999] }", "{x}"),
    (
        "number, 2 decimals",
        "let.x = { random = [0.25, 99.99] }",
        "{x}",
    ),
    (
        "16 hexadecimal digits",
        "let.x = { random = 16, alphabet = \"hex\" }",
        "{x}",
    ),
    ("one of two", "let.x = { one_of = [\"a\", \"b\"] }", "{x}"),
    (
        "timestamp, unix_ms",
        "let.x = { timestamp = \"unix_ms\" }",
        "{x}",
    ),
    (
        "timestamp, iso8601",
        "let.x = { timestamp = \"iso8601\" }",
        "{x}",
    ),
    (
        "SHA-256 of {seq}",
        "let.x = { digest = \"sha256\", of = \"{seq}\" }",
        "{x}",
    ),
    (
        "HMAC-SHA-256 of {seq}",
        "let.x = { hmac = \"sha256\", key = \"k\", of = \"{seq}\" }",
        "{x}",
    ),
];

/// A table of users.
struct Table(Vec<u8>);

impl Files for Table {
    fn read(&mut self, _name: &str) -> Result<Arc<[u8]>, String> {
        Ok(self.0.clone().into())
    }

    fn map(&mut self, _name: &str) -> Result<MappedFile, String> {
        Ok(map(&self.0))
    }

    fn list(&mut self, _folder: &str) -> Result<Vec<String>, String> {
        Err("there is none".to_owned())
    }
}

fn table(rows: usize) -> Vec<u8> {
    let row = |row| format!("user{row},pass-{row},{},token-of-user-{row}\n", row * 7);
    let rows: String = (0..rows).map(row).collect();
    format!("login,password,age,token\n{rows}").into_bytes()
}

fn map(content: &[u8]) -> MappedFile {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(content).expect("its content");
    file.rewind().expect("its beginning");
    MappedFile::map(file, u64::MAX).expect("a map")
}

/// Indexes a mapped file once, and returns what that took.
fn index(rows: usize) -> Duration {
    let mapped = map(&table(rows));
    let layout = FileLayout {
        format: DataFormat::Csv,
        delimiter: b',',
        header: true,
        columns: None,
    };
    let begun = Instant::now();
    let table = DataTable::read_mapped(&mapped, &layout).expect("a table");
    let took = begun.elapsed();
    assert_eq!(table.rows(), rows as u64);
    took
}

fn main() {
    let rows = if is_trial() { 1000 } else { INDEXED_ROWS };
    let took = index(rows);
    println!("{rows} rows indexed in {} ms", took.as_millis());
    assert!(is_trial() || took < INDEX_MAX, "at most {INDEX_MAX:?}");
    let (rounds, operations) = if is_trial() {
        (3, 1000)
    } else {
        (100, 100_000)
    };
    let mut files = Table(table(ROWS));
    let mut slow = Vec::new();
    println!("{:26}{:>10}", "field", "ns");
    for (name, declared, field) in FIELDS {
        let [without, with] = ["", field].map(|field| {
            let text = format!(
                "target.url = \"http://127.0.0.1/\"\nload = {{ connections = 1, requests = 1 }}\n\
                 {declared}\nrequest.path = \"/{{user}}{field}\"\n"
            );
            RequestRehearsal::new(&Plan::parse(&text, &mut files).expect("a plan"))
        });
        let mut shortest = [f64::INFINITY; 2];
        for _ in 0..rounds {
            for (shortest, requests) in shortest.iter_mut().zip([&without, &with]) {
                *shortest = shortest.min(time_ns(requests, operations));
            }
        }
        let field_ns = shortest[1] - shortest[0];
        println!("{name:26}{field_ns:>10.1}");
        if name.ends_with("of four") && field_ns > COLUMN_NS {
            slow.push(format!("{name}: {field_ns:.1} ns"));
        }
    }
    assert!(
        is_trial() || slow.is_empty(),
        "at most {COLUMN_NS} ns are allowed, and these took more: {slow:?}"
    );
}

/// The mean time of a request, in nanoseconds.
fn time_ns(requests: &RequestRehearsal, operations: u64) -> f64 {
    let mut out = Vec::with_capacity(4096);
    let begun = Instant::now();
    for seq in 0..operations {
        out.clear();
        requests.write(seq, &mut out);
        std::hint::black_box(&out);
    }
    begun.elapsed().as_nanos() as f64 / operations as f64
}
