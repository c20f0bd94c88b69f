//! `examples/grpc.toml` against its server, which is made with Python's grpcio.

use super::statuses;
use interop::{CoordinatorCommand, PythonServer};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

const EXAMPLE: &str = include_str!("../../../../../examples/grpc.toml");
const DESCRIPTORS: &[u8] = include_bytes!("../../../../../examples/prices.binpb");

#[test]
fn example_runs_against_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let Some(server) = PythonServer::prices(IpAddr::V4(Ipv4Addr::LOCALHOST), &seen) else {
        return;
    };
    let url = server.url();
    // A busy machine may be late, which is not what is tested.
    let (plan, _) = EXAMPLE.split_once("[thresholds]").unwrap();
    let plan = plan.replace("http://127.0.0.1:50051/", &url);
    let plan = plan.replace("timeout = \"1s\"", "timeout = \"60s\"");
    let plan = plan.replace("duration = \"10s\"", "requests = 1000");
    let changes = [&*url, "60s", "requests = 1000"];
    assert!(changes.iter().all(|change| plan.contains(change)));
    let document = CoordinatorCommand::local(2, &plan)
        .file("prices.binpb", DESCRIPTORS)
        .run()
        .expect(0)
        .document();
    assert_eq!(
        statuses(&document),
        BTreeMap::from([("ok".to_owned(), 1000)])
    );
    let seen = std::fs::read_to_string(&seen).unwrap();
    let count = |method: &str| seen.lines().filter(|line| line.starts_with(method)).count();
    assert_eq!((count("Get "), count("Watch ")), (900, 100));
}
