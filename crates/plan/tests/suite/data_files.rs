//! Data files: which rows requests take, how cells are written, and what is refused.

use crate::support::{again, campaign, parse};
use plan::{End, Piece, Plan, RowOrder};

const BASE: &str = "target.url = \"http://a.test/\"\n";

fn plan(text: &str) -> Plan {
    parse(&format!("{BASE}{text}")).expect("a plan")
}

fn problem(text: &str) -> String {
    parse(&format!("{BASE}{text}")).expect_err("problems")
}

/// What the columns of the first request become for its first operations.
fn sent(plan: &Plan, operations: u64) -> Vec<String> {
    let sources = plan.row_sources();
    let request = &plan.requests()[0];
    let template = request.path.as_ref().expect("a path");
    let text = |seq| {
        let mut out = Vec::new();
        for piece in &template.pieces {
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Column(column) => {
                    let row = sources[&column.file.name].row(seq, 0);
                    let cell = column.file.table.cell(row, column.index);
                    cell.put(column.escape, &mut out);
                }
                other => panic!("{other:?}"),
            }
        }
        String::from_utf8(out).expect("text")
    };
    (0..operations).map(text).collect()
}

const USERS: &str = "data.users.file = \"users.csv\"\n";
const LOAD: &str = "load = { connections = 1, requests = 3 }\n";

#[test]
fn path_has_cells_as_segment_query_or_raw() {
    let path = "request.path = \"/{users.password}?p={users.password}&{users.login|raw}\"\n";
    let plan = plan(&format!("{LOAD}{USERS}{path}"));
    assert_eq!(
        sent(&plan, 3),
        ["/a,1?p=a%2C1&ann", "/b%2F2?p=b%2F2&bob", "/a,1?p=a%2C1&ann"]
    );
    assert!(plan.notes().is_empty(), "{:?}", plan.notes());
}

#[test]
fn canonical_text_has_the_file_by_hash_and_reads_the_same() {
    let plan = plan(&format!(
        "{LOAD}data.users = {{ file = \"users.csv\", order = \"shuffled\", \
         secret = [\"password\"] }}\n\
         request = {{ method = \"POST\", headers = {{ x = \"{{users.login}}\" }}, \
         body = '{{\"a\": \"{{users.password}}\"}}' }}"
    ));
    let text = plan.canonical_text();
    let hash = plan.data()[0].file.sha256;
    let section = format!(
        "[data.users]\nfile = {{ file = \"users.csv\", sha256 = \"{hash}\" }}\nformat = \"csv\"\n\
         delimiter = \",\"\nheader = true\ncolumns = [\"login\", \"password\"]\n\
         rows = 2\norder = \"shuffled\"\nat_end = \"again\"\nsecret = [\"password\"]\n"
    );
    assert!(text.contains(&section), "{text}");
    assert!(!text.contains("ann"), "{text}");
    let read = again(&plan).unwrap();
    assert_eq!((&read, read.digest()), (&plan, plan.digest()));
    assert_eq!(read.requests(), plan.requests(), "with the same escapes");
    let saved = Plan::parse_saved(&plan.masked_text()).unwrap();
    assert_eq!(saved.data()[0].table.columns(), ["login", "password"]);
    assert_eq!(saved.data()[0].table.rows(), 2);
    assert_eq!((&saved, saved.data()), (&plan, plan.data()));
}

#[test]
fn plan_without_data_keeps_its_text() {
    let text = plan(LOAD).canonical_text();
    assert!(!text.contains("data"), "{text}");
}

#[test]
fn rows_that_are_taken_once_end_the_load() {
    let unique = "data.words = { file = \"words.txt\", order = \"unique\" }\n\
                  request.path = \"/{words.line}\"\n";
    let ends = |load: &str| {
        let plan = plan(&format!("load = {{ {load} }}\n{unique}"));
        (plan.load().end, plan.notes().to_vec())
    };
    assert_eq!(ends("connections = 2"), (End::Requests(3), vec![]));
    assert_eq!(
        ends("connections = 1, requests = 2"),
        (End::Requests(2), vec![])
    );
    let note = |key, wanted| {
        format!(
            "load.{key} asks for {wanted} operations, and data.words has 3 rows: the load ends \
             after 3"
        )
    };
    assert_eq!(
        ends("connections = 1, requests = 4"),
        (End::Requests(3), vec![note("requests", 4)])
    );
    assert_eq!(
        ends("rate = \"10/s\", duration = \"1s\""),
        (End::Requests(3), vec![note("duration", 10)])
    );
    let (end, notes) = ends("rate = \"3/s\", duration = \"1s\"");
    assert_eq!(notes.len(), 0, "{end:?} has rows enough");
    assert!(matches!(end, End::Duration(_)));
    let (end, _) = ends("rate = \"100/s\", arrivals = \"poisson\", duration = \"1s\"");
    assert_eq!(end, End::Requests(3));
}

#[test]
fn rows_are_counted_among_the_operations_that_take_one() {
    let plan = plan(
        "load = { connections = 1 }\n\
         data.words = { file = \"words.txt\", order = \"unique\" }\n\
         [[request]]\npath = \"/{words.line}\"\n[[request]]\npath = \"/\"\nweight = 3\n",
    );
    let End::Requests(operations) = plan.load().end else {
        panic!("{:?}", plan.load());
    };
    let weights = [1, 3];
    let mix = plan::Mix::new(&weights, plan.load().seed);
    let taking: Vec<u64> = (0..=operations).filter(|&seq| mix.at(seq) == 0).collect();
    assert_eq!(taking.len(), 4, "the fourth has no row");
    assert_eq!(taking.last(), Some(&operations));
    let source = &plan.row_sources()["words"];
    let rows: Vec<u64> = taking[..3].iter().map(|&seq| source.row(seq, 0)).collect();
    assert_eq!(rows, [0, 1, 2]);
    assert_eq!(plan.data()[0].order, RowOrder::Unique);
}

#[test]
fn what_cannot_be_is_refused_with_its_cure() {
    let words = |more: &str| format!("data.words = {{ file = \"words.txt\"{more} }}\n");
    let once = words(", order = \"unique\"") + "request.path = \"/{words.line}\"\n";
    for (text, expected) in [
        (
            format!("{LOAD}{USERS}request.path = \"/{{users.name}}\"\n"),
            "names the column \"name\" of data.users, which has login, password",
        ),
        (
            format!("{LOAD}{USERS}request.path = \"/{{user.name}}\"\n"),
            "{user.name} is none of {users.COLUMN}, {user}, {seq}, {random}; declare it",
        ),
        (
            format!("{LOAD}{USERS}name = \"a-{{users.login}}\"\n"),
            "has the column {users.login}, which can stand in request.path, headers and body, \
             and in tls.server_name",
        ),
        (
            format!(
                "{LOAD}{}request.path = \"/{{words.line|raw}}\"\n",
                words("")
            ),
            "{words.line|raw} has a cell that cannot stand in a path as it is: row 2 of \
             \"words.txt\", in line 2; leave out |raw",
        ),
        (
            format!(
                "{LOAD}{}request.path = \"{{words.line|raw}}?x\"\n",
                words("")
            ),
            "{words.line|raw} has a cell that is no path: row 1 of \"words.txt\", in line 1; begin \
             each with \"/\"",
        ),
        (
            format!("{LOAD}{}request.path = \"{{words.line}}\"\n", words("")),
            "is not a path: it begins with \"/\"",
        ),
        (
            format!("{LOAD}{}request.body = '[{{words.line}}]'\n", words("")),
            "{words.line} has a cell that is no JSON value, and stands outside of a string: row 1 \
             of \"words.txt\", in line 1; put quotes around it here",
        ),
        (
            format!("load = {{ connections = 1, duration = \"1s\" }}\n{once}"),
            "leaves open how many operations virtual users begin, and data.words has 3 rows, \
             which are to be taken once; write requests = 3 (without",
        ),
        (
            format!("load = {{ connections = 1, requests = 3, warm_up = \"1s\" }}\n{once}"),
            "would take rows that the measured part takes again",
        ),
        (
            "load = { connections = 1, requests = 2, warm_up = \"1s\" }\ndata.users = { file = \
             \"users.csv\", at_end = \"stop\" }\ndata.words = { file = \"words.txt\", order = \
             \"unique\" }\nrequest.path = \"/{users.login}/{words.line}\"\n"
                .to_owned(),
            "would take rows that the measured part takes again, and each row of data.words",
        ),
        (
            format!(
                "{LOAD}{}request.path = \"/{{words.line}}\"\n",
                words(", at_end = \"fail\"")
            )
            .replace("requests = 3", "requests = 4"),
            "asks for 4 operations, and data.words has 3 rows, enough for 3; ask for fewer",
        ),
        (
            format!(
                "load = {{ connections = 4, requests = 9 }}\n{}request.path = \"/{{words.line}}\"",
                words(", order = \"user\", at_end = \"fail\"")
            ),
            "has 4 virtual users or connections, but data.words has only 3 rows; use fewer",
        ),
        (
            format!(
                "{LOAD}{}",
                words(", order = \"unique\", at_end = \"again\"")
            ),
            "\"again\" would take rows twice",
        ),
        (
            format!("{LOAD}{}", words(", header = true")),
            "is for CSV and TSV; remove it",
        ),
        (
            format!("{LOAD}{}", words(", rows = 4")),
            "\"words.txt\" has 3 rows; remove this, or give the file it is about",
        ),
        (
            format!("{LOAD}{}", words(", secret = [\"word\"]")),
            "\"word\" is not one of the 1 columns that the file's first line names; if that line",
        ),
        (
            format!("{LOAD}data.words.file = \"README\"\n").replace("README", "clients/README"),
            "has a name that says no format; write format = ",
        ),
        (
            format!("{LOAD}data.a_name_that_is_too_long.file = \"words.txt\"\n"),
            "is not the name of a data file; write at most 20 letters",
        ),
    ] {
        let said = problem(&text);
        assert!(said.contains(expected), "{text}\n{said}\n{expected}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let path = "request.path = \"/{words.line}\"\n";
    for (order, search) in [
        (
            "order = \"unique\"",
            "rate = { from = \"1/s\", to = \"9/s\" }",
        ),
        ("order = \"unique\"", "agents = [1, 2]"),
        ("at_end = \"stop\"", "agents = [1, 2]"),
        (
            "order = \"user\", at_end = \"fail\"",
            "connections = { from = 1, to = 9 }",
        ),
    ] {
        let data = format!("data.words = {{ file = \"words.txt\", {order} }}\n{path}");
        let load = if search.starts_with("agents") {
            LOAD
        } else {
            ""
        };
        let said = campaign(&format!("{BASE}{load}{data}search.{search}\n")).unwrap_err();
        assert!(
            said.contains("makes runs of several loads"),
            "{order}: {said}"
        );
    }
}

#[test]
fn file_that_nothing_takes_a_row_of_is_noted() {
    let plan = plan(&format!("{LOAD}{USERS}"));
    assert_eq!(
        plan.notes(),
        ["data.users: no request has a column of it, such as {users.login}"]
    );
}

#[test]
fn rows_that_several_runs_send_are_noted() {
    let once = "data.words = { file = \"words.txt\", order = \"unique\" }\n\
                request.path = \"/{words.line}\"\nload.connections = 1\n";
    let notes = |more: &str| {
        let campaign = campaign(&format!("{BASE}{once}{more}")).expect("a campaign");
        campaign.notes().to_vec()
    };
    assert_eq!(notes(""), [""; 0]);
    let said = "data.words: each of the 3 runs begins with its first row again; write --before to \
                put back what the rows change at the server";
    assert_eq!(notes("repeat.times = 3\n"), [said]);
}
