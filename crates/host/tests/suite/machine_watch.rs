//! What is observed of a machine between two moments: of files, and of this machine.

use host::{
    GroupSecond, MachineWatch, Observation, ProcessChoice, QueueSecond, SpunThread,
    WatchedProcesses,
};
use rustix::process::Signal;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Longer than anything here takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A container's nginx, whose files tests may change.
fn by_hand() -> tempfile::TempDir {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let root = tempfile::tempdir().unwrap();
    copy(&fixtures.join("by-hand"), root.path());
    root
}

fn named(name: &str) -> WatchedProcesses {
    WatchedProcesses::Chosen(vec![name.parse().unwrap()])
}

fn share(part_ns: u64, observation: &Observation) -> f32 {
    (part_ns as f64 / observation.elapsed_ns as f64) as f32
}

#[test]
fn second_of_a_container_is_the_difference_of_what_its_process_sees() {
    let root = by_hand();
    let mut watch = MachineWatch::at(root.path(), named("nginx"));
    watch.begin().unwrap();
    for (file, then, now) in [
        // CPU 0 is all that it may use: 30 user, 10 system, 20 softirq, 10 steal and 30 idle.
        (
            "stat",
            "cpu0 3000 60 1200 40000 200 4 700 50",
            "cpu0 3030 60 1210 40030 200 4 720 60",
        ),
        ("stat", "cpu2 2000 40 800 50000", "cpu2 2100 40 800 50000"),
        (
            "stat",
            "cpu  5000 100 2000 90000 300 7 800 55",
            "cpu  5130 100 2010 90030 300 7 820 65",
        ),
        ("pressure/cpu", "total=1500", "total=1501"),
        ("4242/net/netstat", "500 12 13", "500 15 17"),
        ("4242/net/dev", "eth0: 1000000", "eth0: 1000500"),
        (
            "4242/net/softnet_stat",
            "00000005 00000007",
            "00000006 00000009",
        ),
        ("4242/net/stat/nf_conntrack", "00000010 00", "00000013 00"),
        ("4242/stat", "12 0 30 20", "12 0 33 21"),
        (
            "4242/task/4243/schedstat",
            "9000000000 4000000000",
            "9030000000 4010000000",
        ),
    ] {
        let path = root.path().join("proc").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(then), "{file}: {text}");
        fs::write(path, text.replacen(then, now, 1)).unwrap();
    }
    let group = root.path().join("sys/fs/cgroup/system.slice/web.service");
    let mut stat = fs::read_to_string(group.join("memory.stat")).unwrap();
    stat += "workingset_refault_anon 1\nworkingset_refault_file 39\n";
    fs::write(group.join("memory.stat"), stat).unwrap();
    let stat = "nr_periods 156\nnr_throttled 149\nthrottled_usec 2600000\n";
    fs::write(group.join("cpu.stat"), stat).unwrap();

    let seen = watch.observe(&[]).unwrap();
    assert_eq!((seen.busiest_cpu_number, seen.cpu_busy), (0, 0.7));
    assert_eq!(
        (seen.busiest_cpu, seen.busiest_softirq, seen.worst_steal),
        (0.7, 0.2, 0.1)
    );
    assert_eq!((seen.softirq, seen.steal), (0.1, 0.05));
    assert_eq!(seen.machine_busy, 0.85, "170 of 200 ticks");
    assert_eq!(seen.running, 8, "whoever reads is one of them");
    assert!(seen.cpu_stall.unwrap() > 0.0 && seen.io_stall.is_none());
    assert_eq!((seen.tcp.listen_overflows, seen.tcp.listen_drops), (3, 4));
    assert_eq!((seen.tcp.established, seen.tcp.time_wait), (55, 1234));
    assert_eq!(seen.interfaces.len(), 1, "lo carried nothing");
    assert_eq!(
        (
            seen.interfaces[0].received_bytes,
            seen.interfaces[0].speed_mbit
        ),
        (500, Some(10_000))
    );
    assert_eq!(
        (seen.backlog_drops, seen.squeezed, seen.conntrack_drops),
        (1, 2, 3)
    );
    let limits = GroupSecond {
        quota: Some(0.5),
        throttled: 0.9,
        throttled_ns: 100_000_000,
        memory: Some(0.75),
        memory_limit_hits: 0,
        oom_kills: 0,
        refaults: 40,
    };
    assert_eq!(seen.group, Some(limits));
    let nginx = &seen.processes[0];
    assert_eq!(
        (&nginx.name[..], nginx.pid, nginx.threads),
        ("nginx", 4242, 2)
    );
    assert_eq!(nginx.cpus, share(40_000_000, &seen));
    assert_eq!(nginx.busiest_thread_share, share(30_000_000, &seen));
    assert_eq!(nginx.busiest_thread_waiting, share(10_000_000, &seen));
    assert_eq!(
        (&nginx.busiest_thread[..], nginx.busiest_thread_cpus),
        ("nginx", 1)
    );
    assert_eq!(
        (nginx.descriptors, nginx.descriptors_limit),
        (5, Some(1024))
    );
    assert_eq!(seen.ports, None, "most of a server's sockets were accepted");
    let sent = Observation {
        machine_busy: 0.0,
        ..seen.clone()
    };
    assert_eq!(Observation::decode(&seen.encode()).unwrap(), sent);
}

#[test]
fn time_that_a_worker_only_waited_on_its_cpu_is_nobodys_work() {
    let root = by_hand();
    let proc = root.path().join("proc");
    let own = proc.join(std::process::id().to_string());
    copy(&proc.join("4242"), &own);
    copy(&proc.join("4242"), &proc.join("self"));
    let thread = |ticks: u64| {
        format!(
            "4243 (worker-0) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 500 0 0 {} 0",
            { "0 ".repeat(15) }
        )
    };
    let schedule = |ns: u64| format!("{ns} 0 9\n");
    let put = |file: &str, text: &str| fs::write(own.join(file), text).unwrap();
    put("task/4243/stat", &thread(0));
    put("task/4243/schedstat", &schedule(0));
    let is_worker = |name: &str| name.starts_with("worker");
    let mut watch = MachineWatch::at(root.path(), WatchedProcesses::Own(is_worker));
    watch.begin().unwrap();
    put("task/4243/schedstat", &schedule(800_000_000));
    put("task/4242/schedstat", &schedule(90_000_000_000));
    let stat = fs::read_to_string(own.join("stat")).unwrap();
    put("stat", &stat.replacen("12 0 30 20", "12 0 90 40", 1));
    let machine = fs::read_to_string(proc.join("stat")).unwrap();
    let machine = machine.replacen("cpu0 3000 60 1200 40000", "cpu0 3080 60 1200 40020", 1);
    let machine = machine.replacen("cpu  5000 100 2000 90000", "cpu  5080 100 2000 90120", 1);
    fs::write(proc.join("stat"), machine).unwrap();
    let spun = SpunThread {
        name: "worker-0".to_owned(),
        ns: 500_000_000,
    };
    let seen = watch.observe(&[spun]).unwrap();
    let agent = &seen.processes[0];
    assert_eq!(
        agent.busiest_thread_share,
        share(300_000_000, &seen),
        "{seen:?}"
    );
    assert_eq!(agent.cpus, share(300_000_000, &seen));
    assert_eq!(
        (seen.cpu_busy, seen.busiest_cpu),
        (0.3, 0.3),
        "80 of 100 ticks, without 50"
    );
    assert_eq!(seen.machine_busy, 0.15, "80 of 200 ticks, without 50");
}

#[test]
fn part_that_ends_within_a_second_leaves_the_second_whole() {
    let root = by_hand();
    let stat = root.path().join("proc/stat");
    let spend = |user: u32, idle: u32| {
        let text = fs::read_to_string(&stat).unwrap();
        let spent: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("cpu0"))
            .collect();
        let now = format!("cpu0 {user} 60 1200 {idle} 200 4 700 50 0 0");
        fs::write(&stat, text.replacen(spent[0], &now, 1)).unwrap();
    };
    let mut watch = MachineWatch::at(root.path(), named("nginx"));
    spend(3000, 40000);
    watch.begin().unwrap();
    spend(3030, 40030);
    assert_eq!(watch.cut(&[]).unwrap().cpu_busy, 0.5);
    spend(3060, 40030);
    assert_eq!(watch.cut(&[]).unwrap().cpu_busy, 1.0);
    assert_eq!(watch.observe(&[]).unwrap().cpu_busy, 60.0 / 90.0);
    spend(3060, 40070);
    assert_eq!(
        watch.cut(&[]).unwrap().cpu_busy,
        0.0,
        "counts from the second's end"
    );
}

/// A process that ends with the test.
struct Running(Child);

impl Running {
    /// Under this name, which the kernel takes from the file.
    fn start(folder: &Path, name: &str) -> Running {
        let program = folder.join(name);
        // By another process: a program that another test just begins would hold a file that this
        // one writes, and what is open for writing cannot be executed.
        let copied = Command::new("cp").arg("/bin/sh").arg(&program).status();
        assert!(copied.unwrap().success());
        Running(
            Command::new(program)
                .args(["-c", "while :; do :; done"])
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn process_is_found_by_its_name_and_again_after_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let name = "burner-of-a-long-name";
    let mut watch = MachineWatch::new(named(name));
    watch.begin().unwrap();
    assert_eq!(watch.missing(), [&ProcessChoice::Name(name.to_owned())]);
    for _ in 0..2 {
        let burner = Running::start(folder.path(), name);
        let begun = Instant::now();
        let busy = loop {
            std::thread::sleep(Duration::from_millis(100));
            let seen = watch.observe(&[]).unwrap();
            let busy = seen
                .processes
                .into_iter()
                .find(|process| process.cpus > 0.0);
            if let Some(busy) = busy {
                break busy;
            }
            assert!(begun.elapsed() < PATIENCE, "it is not seen");
        };
        assert_eq!(
            (&busy.name[..], busy.pid),
            ("burner-of-a-lon", burner.0.id())
        );
        assert!(
            busy.busiest_thread_share > 0.0 && busy.busiest_thread_cpus > 0,
            "{busy:?}"
        );
        assert!(watch.missing().is_empty());
        drop(burner);
        let seen = watch.observe(&[]).unwrap();
        assert!(seen.processes.is_empty() && seen.elapsed_ns > 0, "{seen:?}");
    }
}

#[test]
fn children_of_a_chosen_process_are_watched_too() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "sleep 600 & echo; wait"]);
    let mut shell = shell.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = [0; 1];
    let mut output = shell.stdout.take().unwrap();
    std::io::Read::read_exact(&mut output, &mut line).unwrap();
    let chosen = WatchedProcesses::Chosen(vec![ProcessChoice::Pid(shell.id())]);
    let pids = MachineWatch::new(chosen).pids().unwrap();
    shell.kill().unwrap();
    shell.wait().unwrap();
    let child = *pids.last().unwrap();
    Command::new("kill")
        .arg(child.to_string())
        .status()
        .unwrap();
    assert_eq!(pids, [shell.id(), child]);
}

#[test]
fn fullest_accept_queue_of_the_chosen_process_is_kept() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let own = ProcessChoice::Pid(std::process::id());
    let mut watch = MachineWatch::new(WatchedProcesses::Chosen(vec![own]));
    watch.begin().unwrap();
    let clients = [(); 5].map(|()| TcpStream::connect(address).unwrap());
    watch.look();
    for _ in &clients {
        server.accept().unwrap();
    }
    let seen = watch.observe(&[]).unwrap().accept_queues;
    let own = |queue: &&QueueSecond| queue.address == address.to_string();
    let fullest = seen.iter().find(own).unwrap();
    assert_eq!(fullest.waiting, 5);
    assert!(fullest.most >= 5 && fullest.is_watched, "{seen:?}");
    // One of two looks saw some waiting.
    assert_eq!((fullest.waited, fullest.dropped), (0.5, Some(0)));
    let empty = watch.observe(&[]).unwrap().accept_queues;
    let empty = empty.iter().find(own).unwrap();
    assert_eq!(empty.waiting, 0, "what was told is told once");
}

/// Connects as often as that, without waiting for an answer.
fn knock(address: std::net::SocketAddr, times: usize) -> Vec<std::os::fd::OwnedFd> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
    let knock = |_| {
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        assert!(connect(&socket, &address).is_err(), "it would wait");
        socket
    };
    (0..times).map(knock).collect()
}

#[test]
fn dropped_connections_are_told_by_the_queue_that_dropped_them() {
    let [watched, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    rustix::net::listen(&other, 0).unwrap();
    let (here, there) = (watched.local_addr().unwrap(), other.local_addr().unwrap());
    let own = ProcessChoice::Pid(std::process::id());
    // This process holds both: all of its queues, first the one that dropped.
    let mut of_both = MachineWatch::new(WatchedProcesses::Chosen(vec![own]));
    let mut of_all = MachineWatch::new(WatchedProcesses::Chosen(Vec::new()));
    of_both.begin().unwrap();
    of_all.begin().unwrap();
    let _clients = knock(there, 9);
    // The kernel handles them beside this thread.
    std::thread::sleep(Duration::from_millis(100));
    let seen = of_both.observe(&[]).unwrap().accept_queues;
    assert_eq!(seen[0].address, there.to_string(), "{seen:?}");
    assert!(seen[0].dropped > Some(0), "{seen:?}");
    let quiet = seen.iter().find(|queue| queue.address == here.to_string());
    assert_eq!(quiet.and_then(|queue| queue.dropped), Some(0), "{seen:?}");
    // Other tests of this process may have a queue that is full.
    let seen = of_all.observe(&[]).unwrap().accept_queues;
    let named = seen.iter().find(|queue| queue.address == there.to_string());
    let named = named.unwrap();
    assert!(!named.is_watched && named.dropped > Some(0), "{seen:?}");
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    assert_eq!(named.holder, name.trim(), "{seen:?}");
    let later = of_all.observe(&[]).unwrap().accept_queues;
    let named = later
        .iter()
        .find(|queue| queue.address == there.to_string());
    assert!(
        named.is_some_and(|queue| queue.dropped <= Some(9)),
        "{later:?}"
    );
}

#[test]
fn work_of_a_lower_priority_is_told_apart_unless_it_is_that_of_a_watched_process() {
    let root = by_hand();
    let proc = root.path().join("proc");
    for (who, expected) in [("nothing", 0.4), ("nginx", 0.1)] {
        let stat = fs::read_to_string(proc.join("4242/stat")).unwrap();
        let machine = fs::read_to_string(proc.join("stat")).unwrap();
        // nginx runs at nice 5, and had 300 ms of the 400 ms.
        let niced = stat.replacen("30 20 0 0 20 0", "30 20 0 0 25 5", 1);
        assert_ne!(niced, stat, "the priority stands there");
        fs::write(proc.join("4242/stat"), &niced).unwrap();
        if who == "nothing" {
            copy(&proc.join("4242"), &proc.join("self"));
        }
        let mut watch = MachineWatch::at(root.path(), named(who));
        watch.begin().unwrap();
        let later = machine.replacen(
            "cpu0 3000 60 1200 40000 200",
            "cpu0 3010 100 1200 40040 210",
            1,
        );
        assert_ne!(later, machine);
        fs::write(proc.join("stat"), later).unwrap();
        fs::write(
            proc.join("4242/stat"),
            niced.replacen("12 0 30 20", "15 0 60 20", 1),
        )
        .unwrap();
        let seen = watch.observe(&[]).unwrap();
        assert_eq!((seen.cpus, seen.cpu_busy), (1, 0.5), "{who}");
        assert_eq!(
            (seen.cpu_niced, seen.cpu_waiting_for_disk),
            (expected, 0.1),
            "{who}"
        );
        if who == "nginx" {
            assert_eq!(seen.processes[0].major_faults, 3);
        }
        fs::write(proc.join("4242/stat"), stat).unwrap();
        fs::write(proc.join("stat"), machine).unwrap();
    }
}

#[test]
fn looks_tell_how_often_a_thread_waited_for_a_disk() {
    let root = by_hand();
    let mut watch = MachineWatch::at(root.path(), named("nginx"));
    watch.begin().unwrap();
    let path = root.path().join("proc/4242/task/4243/stat");
    let stat = fs::read_to_string(&path).unwrap();
    let blocked = stat.replacen(") R ", ") D ", 1);
    assert_ne!(stat, blocked);
    watch.look();
    watch.look();
    fs::write(&path, blocked).unwrap();
    watch.look();
    assert_eq!(watch.observe(&[]).unwrap().processes[0].blocked, 0.5);
    fs::write(&path, stat).unwrap();
    assert_eq!(watch.observe(&[]).unwrap().processes[0].blocked, 0.0);
}

#[test]
fn what_was_done_before_the_load_is_no_part_of_the_first_second() {
    let root = by_hand();
    let mut watch = MachineWatch::at(root.path(), named("nginx"));
    watch.begin().unwrap();
    let path = root.path().join("proc/4242/task/4243/schedstat");
    fs::write(&path, "9030000000 4000000000 1\n").unwrap();
    let before = watch.observe_before_load(&[]).unwrap();
    assert_eq!(before.processes[0].pid, 4242);
    assert!(before.processes[0].busiest_thread_share > 0.0, "{before:?}");
    let first = watch.observe(&[]).unwrap();
    assert_eq!(first.processes[0].busiest_thread_share, 0.0);
}

#[test]
fn group_is_chosen_by_its_folder() {
    let root = by_hand();
    let watch = || MachineWatch::at(root.path(), named("nothing"));
    copy(
        &root.path().join("proc/4242"),
        &root.path().join("proc/self"),
    );
    fs::write(root.path().join("proc/self/cgroup"), "0::/\n").unwrap();
    for folder in [
        "/sys/fs/cgroup/system.slice/web.service",
        "/system.slice/web.service/",
    ] {
        let mut watch = watch().with_group(folder.to_owned());
        watch.begin().unwrap();
        assert_eq!(watch.missing_group(), None);
        let group = watch.observe(&[]).unwrap().group;
        assert_eq!(group.and_then(|group| group.quota), Some(0.5), "{folder}");
    }
    let other = "/system.slice/other.service";
    let mut missing = watch().with_group(other.to_owned());
    missing.begin().unwrap();
    assert_eq!(missing.missing_group(), Some(other));
    assert_eq!(missing.observe(&[]).unwrap().group, None);
    // It comes, and has been stopped before.
    let groups = root.path().join("sys/fs/cgroup/system.slice");
    copy(&groups.join("web.service"), &groups.join("other.service"));
    let come = missing.observe(&[]).unwrap().group.unwrap();
    assert_eq!((come.quota, come.throttled), (Some(0.5), 0.0));
    let mut whole = watch();
    whole.begin().unwrap();
    assert_eq!(whole.observe(&[]).unwrap().group, None);
}

#[test]
fn limits_of_the_groups_around_it_hold_too() {
    let root = by_hand();
    let groups = root.path().join("sys/fs/cgroup/system.slice");
    let put = |file: &str, text: &str| fs::write(groups.join(file), text).unwrap();
    let stat = |file: &str, periods: u32, throttled: u32| {
        let counters = format!("nr_periods {periods}\nnr_throttled {throttled}\n");
        put(file, &format!("{counters}throttled_usec {throttled}000\n"));
    };
    let events = |limit_hits: u32| format!("low 0\nhigh 0\nmax {limit_hits}\noom_kill 0\n");
    put("cpu.max", "200000 100000\n");
    stat("cpu.stat", 100, 10);
    stat("web.service/cpu.stat", 146, 140);
    put("memory.current", "900\n");
    put("memory.max", "1000\n");
    put("memory.events", &events(500));
    put("memory.events.local", &events(3));
    let mut watch = MachineWatch::at(root.path(), named("nginx"));
    watch.begin().unwrap();
    stat("cpu.stat", 110, 18);
    stat("web.service/cpu.stat", 156, 141);
    put("memory.events", &events(900));
    put("memory.events.local", &events(7));
    let limits = GroupSecond {
        quota: Some(2.0),
        throttled: 0.8,
        throttled_ns: 8_000_000,
        memory: Some(0.9),
        memory_limit_hits: 4,
        ..GroupSecond::default()
    };
    assert_eq!(watch.observe(&[]).unwrap().group, Some(limits));
    // Without a stop the smallest quota counts.
    let nothing_new = GroupSecond {
        quota: Some(0.5),
        memory: Some(0.9),
        ..GroupSecond::default()
    };
    assert_eq!(watch.observe(&[]).unwrap().group, Some(nothing_new));
}

#[test]
fn kill_in_a_group_without_limits_is_seen() {
    let root = by_hand();
    let group = root.path().join("sys/fs/cgroup/system.slice/web.service");
    let put = |file: &str, text: &str| fs::write(group.join(file), text).unwrap();
    put("cpu.max", "max 100000\n");
    put("memory.max", "max\n");
    let mut watch = MachineWatch::at(root.path(), named("nginx"));
    watch.begin().unwrap();
    assert_eq!(watch.observe(&[]).unwrap().group, None);
    put("memory.events", "low 0\nhigh 7\nmax 8\noom 2\noom_kill 2\n");
    let killed = GroupSecond {
        oom_kills: 1,
        ..GroupSecond::default()
    };
    assert_eq!(watch.observe(&[]).unwrap().group, Some(killed));
}

/// nginx alone in a network namespace, as in a container; `None` if this process may not make one.
fn nginx_in_a_namespace(folder: &Path) -> Option<Running> {
    let config = format!(
        "daemon off; master_process off; error_log {folder}/error.log; pid {folder}/pid;\n\
         events {{}}\n\
         http {{ access_log off; server {{ listen 127.0.0.1:8080 backlog=8; }} }}\n",
        folder = folder.display()
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, config).unwrap();
    let start = "ip link set lo up && exec nginx -c \"$0\"";
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", start]).arg(file);
    let mut server = Running(command.spawn().ok()?);
    let begun = Instant::now();
    while !folder.join("pid").exists() {
        if let Some(status) = server.0.try_wait().unwrap() {
            let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!is_ci, "nginx in a namespace: {status}");
            eprintln!("skipped: nginx in a namespace of its own needs root, unshare, ip and nginx");
            std::mem::forget(server);
            return None;
        }
        assert!(begun.elapsed() < PATIENCE, "nginx does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    Some(server)
}

/// Connections made within the namespace of that process.
fn connect_beside(pid: u32, count: usize) -> Vec<TcpStream> {
    let namespace = fs::File::open(format!("/proc/{pid}/ns/net")).unwrap();
    let connect = move || {
        let kind = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(namespace.as_fd(), kind).unwrap();
        let connect = |_| TcpStream::connect("127.0.0.1:8080").unwrap();
        (0..count).map(connect).collect()
    };
    std::thread::spawn(connect).join().unwrap()
}

#[test]
fn container_is_watched_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = nginx_in_a_namespace(folder.path()) else {
        return;
    };
    let pid = server.0.id();
    let mut watch = MachineWatch::new(WatchedProcesses::Chosen(vec![ProcessChoice::Pid(pid)]));
    watch.begin().unwrap();
    // It accepts nothing any more, so that its queue fills.
    let pid_of_it = rustix::process::Pid::from_child(&server.0);
    rustix::process::kill_process(pid_of_it, Signal::STOP).unwrap();
    let clients = connect_beside(pid, 5);
    let seen = watch.observe(&[]).unwrap();
    assert_eq!(
        (seen.tcp.passive_opens, seen.tcp.established),
        (5, 10),
        "{seen:?}"
    );
    let names: Vec<&str> = seen
        .interfaces
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["lo"]);
    let queue = QueueSecond {
        address: "127.0.0.1:8080".to_owned(),
        waiting: 5,
        most: 8,
        waited: 1.0,
        dropped: Some(0),
        is_watched: true,
        holder: String::new(),
    };
    assert_eq!(seen.accept_queues, [queue]);
    drop((clients, server));
    // What is seen then is the namespace of the watching process, and not since when.
    let seen = watch.observe(&[]).unwrap();
    assert!(
        seen.processes.is_empty() && seen.interfaces.is_empty(),
        "{seen:?}"
    );
    assert_eq!((seen.tcp.segments_sent, seen.tcp.passive_opens), (0, 0));
}
