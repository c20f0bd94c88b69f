//! An agent's machine with few local ports: all of them are used, and if they run out the result
//! says so, with a cure. Ports of other programs and reserved ports are left alone.

use analysis::{Document, Verdict};
use interop::{CoordinatorCommand, Namespaces, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::sync::Mutex;

const PORTS: RangeInclusive<u16> = 40_000..=40_199;

/// Ports that coordinator and agents use themselves.
const OWN_PORTS: u64 = 10;

/// An agent's machine whose local ports are [`PORTS`].
struct FewPorts(Namespaces);

impl FewPorts {
    fn new() -> Option<FewPorts> {
        let machine = FewPorts(Namespaces::new(1)?);
        machine.set(
            "ip_local_port_range",
            &format!("{} {}", PORTS.start(), PORTS.end()),
        );
        Some(machine)
    }

    /// Sets a setting of IPv4, which applies to IPv6 as well.
    fn set(&self, name: &str, value: &str) {
        self.run(&["sysctl", "-qw", &format!("net.ipv4.{name}={value}")]);
    }

    fn run(&self, arguments: &[&str]) {
        let status = self.0.command(0).args(arguments).status().unwrap();
        assert!(status.success(), "{arguments:?}: {status}");
    }

    /// Runs a plan past preflight, which would refuse it.
    fn play(&self, agents: u32, plan: &str) -> Document {
        self.play_to(0, agents, plan)
    }

    fn play_to(&self, code: i32, agents: u32, plan: &str) -> Document {
        let finished = CoordinatorCommand::local_by(self.0.command(0), plan)
            .with(|start| {
                start.args(["--force", "--agents", &agents.to_string()]);
            })
            .run()
            .expect(code);
        finished.document()
    }

    fn nginx(&self, pki: &Pki, ip: IpAddr) -> Option<Nginx> {
        let options = NginxOptions {
            ip,
            ..NginxOptions::default()
        };
        Nginx::start(pki, &options)
    }
}

const CLOSED: &str = "load = { connections = 8, duration = \"4s\" }\n";
const OPEN: &str = "load = { rate = \"400/s\", requests = 800 }\n";
const EACH_ONE_REQUEST: &str = "connection.requests = 1\n";

#[test]
fn every_port_is_used_before_they_are_said_to_have_run_out() {
    for (load, sections, agents, is_ipv6) in [
        (CLOSED, EACH_ONE_REQUEST, 1, false),
        (OPEN, EACH_ONE_REQUEST, 1, false),
        (OPEN, EACH_ONE_REQUEST, 1, true),
        (OPEN, EACH_ONE_REQUEST, 2, false),
    ] {
        let case = format!("{load}, {agents} agents, IPv6: {is_ipv6}");
        let (pki, Some(machine)) = (Pki::new(), FewPorts::new()) else {
            return;
        };
        let ip = match is_ipv6 {
            true => machine.0.bridge_address_v6().into(),
            false => machine.0.bridge_address().into(),
        };
        let Some(nginx) = machine.nginx(&pki, ip) else {
            return;
        };
        let text = load.to_owned() + &plan(&nginx.url(NginxServer::Plain, "/"), &pki, sections);
        let document = machine.play(agents, &text);
        let ok = document.measured.operations.ok;
        let served = nginx.wait_for_requests(ok as usize).len() as u64;
        assert_ran_out(&document, PORTS.len() as u64, served, &case);
    }
}

#[test]
fn each_source_address_has_ports_of_its_own() {
    let (pki, Some(machine)) = (Pki::new(), FewPorts::new()) else {
        return;
    };
    let Some(nginx) = machine.nginx(&pki, machine.0.bridge_address().into()) else {
        return;
    };
    let [first, second] = [machine.0.address(0), machine.0.address(1)];
    let more = format!("{second}/24");
    machine.run(&["ip", "addr", "add", &more, "dev", "eth0"]);
    let sections = format!(
        "connection = {{ requests = 1, source_addresses = [\"{first}\", \"{second}\"] }}\n"
    );
    let text = OPEN.to_owned() + &plan(&nginx.url(NginxServer::Plain, "/"), &pki, &sections);
    let document = machine.play(1, &text);
    let rows = nginx.wait_for_requests(document.measured.operations.ok as usize);
    assert_ran_out(
        &document,
        2 * PORTS.len() as u64,
        rows.len() as u64,
        "two sources",
    );
    for source in [first, second] {
        let served = rows.iter().filter(|row| row.client == source).count();
        assert!(served <= PORTS.len(), "{source}: {served}");
    }
}

#[test]
fn ports_do_not_run_out_where_this_side_keeps_none() {
    let load = "load = { connections = 8, requests = 800 }\n";
    for close in ["server", "rst"] {
        let (pki, Some(machine)) = (Pki::new(), FewPorts::new()) else {
            return;
        };
        let Some(nginx) = machine.nginx(&pki, machine.0.bridge_address().into()) else {
            return;
        };
        let sections = format!("connection = {{ requests = 1, close = \"{close}\" }}\n");
        let text = load.to_owned() + &plan(&nginx.url(NginxServer::Plain, "/"), &pki, &sections);
        let document = machine.play(1, &text);
        assert_eq!(document.measured.errors, [], "{close}");
        let ok = document.measured.operations.ok;
        assert_eq!(ok, 800, "{close}");
        assert_eq!(nginx.wait_for_requests(800).len(), 800, "{close}");
    }
}

#[test]
fn address_that_cannot_be_connected_to_or_from_is_not_told_as_a_lack_of_ports() {
    let Some(machine) = FewPorts::new() else {
        return;
    };
    machine.run(&["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]);
    let few = "load = { connections = 1, requests = 3 }\n";
    let document = machine.play_to(1, 1, &format!("{few}target.url = \"http://[::1]:9/\"\n"));
    let errors = &document.measured.errors;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].name, "connect.unreachable");

    let text = format!(
        "{few}target.url = \"http://127.0.0.1:9/\"\n\
         connection.source_addresses = [\"192.0.2.77\"]\n"
    );
    let refused = CoordinatorCommand::local_by(machine.0.command(0), &text).run();
    assert_eq!(refused.code, 4, "{refused}");
    let why = "connection.source_addresses: 192.0.2.77 is not an address of this machine";
    assert!(refused.stderr.contains(why), "{refused}");
}

/// Asserts that as many operations succeeded as there are ports and as the server served, that all
/// others found no port, and that the verdict says what to do about it.
fn assert_ran_out(document: &Document, ports: u64, served: u64, case: &str) {
    let measured = &document.measured;
    let ok = measured.operations.ok;
    assert_eq!(ok, served, "{case}");
    assert!((ports - OWN_PORTS..=ports).contains(&ok), "{case}: {ok}");
    let errors = measured.errors.iter();
    let mut kinds: Vec<&str> = errors.map(|error| error.name.as_str()).collect();
    // A busy machine is late, and leaves arrivals behind.
    kinds.retain(|&kind| kind != "load.not_sent");
    assert_eq!(kinds, ["connect.ports_exhausted"], "{case}");
    let record = &document.verdict;
    assert_eq!(record.verdict, Verdict::ClientBound, "{case}: {record:?}");
    let told = record.evidence.join("\n");
    for part in [
        "local ports",
        "connection.source_addresses",
        "connection.close = \"server\" or \"rst\"",
        "agents on other machines",
    ] {
        assert!(told.contains(part), "{case}: {part}: {told}");
    }
    let rows = document.machines.iter().flat_map(|machine| &machine.rows);
    let most = rows.filter_map(|row| row.ports).fold(0.0, f64::max);
    assert!(most > 0.9, "{case}: ports in use: {most}");
}

/// A server that records the ports of its clients.
struct PortNotes {
    listener: TcpListener,
    noted: Mutex<Vec<u16>>,
}

impl PortNotes {
    /// Answers connections with one request each, until one sends nothing.
    fn serve(&self) {
        loop {
            let (mut stream, peer) = self.listener.accept().unwrap();
            if stream.read(&mut [0; 4096]).unwrap() == 0 {
                return;
            }
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .unwrap();
            self.noted.lock().unwrap().push(peer.port());
            // The client closes first, and keeps its port.
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        }
    }
}

#[test]
fn ports_of_every_parity_serve_but_those_of_others() {
    let Some(machine) = FewPorts::new() else {
        return;
    };
    machine.set("ip_local_reserved_ports", "40010-40019,40150");
    let reserved = (40_010..=40_019).chain([40_150]);
    let ip = IpAddr::V4(machine.0.bridge_address());
    let server = PortNotes {
        listener: TcpListener::bind(SocketAddr::new(ip, 0)).unwrap(),
        noted: Mutex::default(),
    };
    let address = server.listener.local_addr().unwrap();
    let inside = machine.0.namespace(0);
    // Listeners of another program, on all addresses and on one.
    let held = [40_030, 40_031].map(|port| {
        let anywhere = IpAddr::from([0, 0, 0, 0]);
        let here = IpAddr::V4(machine.0.address(0));
        let ip = if port % 2 == 0 { anywhere } else { here };
        inside.enter(|| TcpListener::bind(SocketAddr::new(ip, port)).unwrap())
    });
    let requests = 90;
    let load = format!("load = {{ connections = 1, requests = {requests} }}\n");
    let text = format!("{load}target.url = \"http://{address}/\"\n{EACH_ONE_REQUEST}");
    let document = std::thread::scope(|scope| {
        scope.spawn(|| server.serve());
        let document = machine.play(1, &text);
        // Sends nothing, which ends the server.
        drop(inside.enter(|| TcpStream::connect(address).unwrap()));
        document
    });
    assert_eq!(document.measured.operations.ok, requests);
    let noted = server.noted.into_inner().unwrap();
    let ports: BTreeSet<u16> = noted.iter().copied().collect();
    assert_eq!(ports.len() as u64, requests, "none twice: {noted:?}");
    assert!(
        ports.iter().all(|port| PORTS.contains(port)),
        "only of the machine's range: {noted:?}"
    );
    let of_others: BTreeSet<u16> = reserved.chain([40_030, 40_031]).collect();
    assert!(ports.is_disjoint(&of_others), "{noted:?}");
    // By default, ports of one parity come first, and searching the others later is expensive.
    let even = noted.iter().filter(|&port| port % 2 == 0).count();
    assert!((20..=70).contains(&even), "{noted:?}");
    drop(held);
}
