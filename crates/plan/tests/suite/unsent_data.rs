//! Data files that are not sent: agents have them, and know them by their hash.

use plan::{Campaign, DataPlace, Files, MappedFile, Plan, Settings, Sha256};
use std::io::Write as _;
use std::sync::Arc;

const USERS: &[u8] = b"login,password\nann,1\nbob,2\n";
const LOAD: &str = "target.url = \"http://a.test/\"\nload = { connections = 1, requests = 3 }\n";
const REQUEST: &str = "request.path = \"/{users.login}\"\n";

/// A folder in which each file has the same content and a size of its own.
struct Folder {
    content: &'static [u8],
    size: u64,
    maps: usize,
}

impl Folder {
    fn new(content: &'static [u8], size: u64) -> Folder {
        Folder {
            content,
            size,
            maps: 0,
        }
    }
}

impl Files for Folder {
    fn read(&mut self, _name: &str) -> Result<Arc<[u8]>, String> {
        Ok(self.content.into())
    }

    fn size(&mut self, _name: &str) -> Option<u64> {
        Some(self.size)
    }

    fn map(&mut self, name: &str) -> Result<MappedFile, String> {
        self.maps += 1;
        match name {
            "none.csv" => Err("no such file".to_owned()),
            _ => Ok(map(self.content)),
        }
    }
}

fn map(content: &[u8]) -> MappedFile {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(content).expect("its content");
    std::io::Seek::rewind(&mut file).expect("its beginning");
    MappedFile::map(file, u64::MAX).expect("a map")
}

fn text(data: &str) -> String {
    format!("{LOAD}{REQUEST}data.users = {{ {data} }}\n")
}

fn problem(data: &str, folder: &mut Folder) -> String {
    let parsed = Plan::parse(&text(data), folder);
    parsed.expect_err("problems").to_string()
}

#[test]
fn file_that_is_not_sent_is_in_the_canonical_text_by_its_hash_only() {
    let mut folder = Folder::new(USERS, USERS.len() as u64);
    let sent = Plan::parse(&text("file = \"d/users.csv\""), &mut folder).expect("a plan");
    assert!(
        !sent.canonical_text().contains("send"),
        "as without the field"
    );
    let stated = text("file = \"d/users.csv\", send = false");
    let plan = Plan::parse(&stated, &mut folder).expect("a plan");
    let hash = Sha256::hash(USERS);
    let section = format!(
        "[data.users]\nfile = {{ file = \"d/users.csv\", sha256 = \"{hash}\" }}\nsend = false\n\
         format = \"csv\"\n"
    );
    let canonical = plan.canonical_text();
    assert!(canonical.contains(&section), "{canonical}");
    assert_eq!((plan.files().len(), sent.files().len()), (0, 1));
    assert_ne!(plan, sent);

    let found = |name: &str, wanted: Sha256| {
        assert_eq!((name, wanted), ("d/users.csv", hash));
        Ok(map(USERS))
    };
    let again = Plan::parse_canonical_with(&canonical, &|_| None, &found).expect("a plan");
    assert_eq!((&again, again.digest()), (&plan, plan.digest()));
    assert_eq!(again.data()[0].table.rows(), 2);
    let saved = Plan::parse_saved(&plan.masked_text()).expect("a plan");
    assert_eq!((&saved, saved.data()[0].table.rows()), (&plan, 2));
    assert!(matches!(saved.data()[0].place, DataPlace::AtAgents(None)));
}

#[test]
fn file_that_is_larger_than_what_is_sent_is_mapped_without_being_asked() {
    let most = 1 << 30;
    let plan = |size, data: &str| Plan::parse(&text(data), &mut Folder::new(USERS, size));
    let small = plan(most, "file = \"users.csv\"").expect("a plan");
    assert!(small.data()[0].place.is_sent() && small.notes().is_empty());
    let large = plan(most + 1, "file = \"users.csv\"").expect("a plan");
    assert!(large.data()[0].place.mapped().is_some());
    let [note] = large.notes() else {
        panic!("{:?}", large.notes());
    };
    assert_eq!(
        note,
        "data.users: \"users.csv\" has 1073741825 bytes and is not sent; agents on other machines \
         need it in the folder that they are given (agent join --data DIR)"
    );
    let stated = plan(most + 1, "file = \"users.csv\", send = false").expect("a plan");
    assert_eq!((stated.notes().len(), &stated), (0, &large));
    let refused = plan(most + 1, "file = \"users.csv\", send = true").expect_err("too large");
    assert!(refused.to_string().contains("data.users.send"), "{refused}");
}

#[test]
fn variants_share_one_map() {
    let mut folder = Folder::new(USERS, 1);
    let text = format!(
        "{}[variants.a]\nload.requests = 4\n[variants.b]\nload.requests = 5\n",
        text("file = \"users.csv\", send = false")
    );
    let campaign = Campaign::parse_bytes(text.as_bytes(), &mut folder, Settings::NONE);
    assert_eq!(campaign.expect("a campaign").variants().len(), 2);
    assert_eq!(folder.maps, 1);
}

#[test]
fn what_is_wrong_with_a_file_that_is_not_sent_has_its_place() {
    let hash = Sha256::hash(USERS);
    for (content, data, why) in [
        (
            USERS,
            "file = \"none.csv\", send = false",
            "\"none.csv\" cannot be read: no such file",
        ),
        (
            USERS,
            "file = \"a.csv\", send = 1",
            "data.users.send: found the integer 1",
        ),
        (
            b"a,b\n1\n",
            "file = \"a.csv\", send = false",
            "has 1 cells in line 2",
        ),
        (
            b"\x1f\x8b\x08",
            "file = \"a.csv.gz\", send = false",
            "is gzip, which cannot be mapped",
        ),
        (
            USERS,
            "file = \"a.jsonl\", send = false",
            "has lines of JSON",
        ),
        (
            USERS,
            "file = \"a.csv\", send = false, rows = 9",
            "has 2 rows",
        ),
        (
            USERS,
            "file = { file = \"a.csv\", sha256 = \"00\" }, send = false",
            "is not a SHA-256",
        ),
    ] {
        let problem = problem(data, &mut Folder::new(content, 1));
        assert!(problem.contains(why), "{data}: {problem}");
    }
    let other = format!("file = {{ file = \"a.csv\", sha256 = \"{hash}\" }}, send = false");
    let problem = problem(&other, &mut Folder::new(b"login\nx\n", 1));
    assert!(problem.contains("which is not the stated one"), "{problem}");
}

#[test]
fn agent_says_why_it_has_no_such_file() {
    let mut folder = Folder::new(USERS, 1);
    let stated = text("file = \"users.csv\", send = false");
    let plan = Plan::parse(&stated, &mut folder).expect("a plan");
    let missing = |_: &str, _| Err("there is no such file in /srv".to_owned());
    let parsed = Plan::parse_canonical_with(&plan.canonical_text(), &|_| None, &missing);
    let problem = parsed.expect_err("no file").to_string();
    let why = "data.users.file: \"users.csv\" is not on this agent: there is no such file in /srv";
    assert!(problem.contains(why), "{problem}");
}
