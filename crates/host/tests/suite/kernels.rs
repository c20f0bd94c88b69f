//! What is read of files of one kernel, and of files written by hand in other kernels' forms; see
//! `tests/fixtures/README.md`.

use host::{
    Conntrack, CpuBacklog, CpuTimes, Descriptors, GroupBandwidth, GroupMemory, InterfaceCounters,
    MemoryState, Sampler, SocketCounts, SoftnetCounters, StallTime, TcpCounters,
};
use std::path::Path;

const KIB: u64 = 1024;

/// A virtual machine with control groups of version 1, seen by a process in it.
fn linux_6_18() -> Sampler {
    kernel("linux-6.18")
}

/// Control groups of version 2, and a process in a container; from no machine.
fn by_hand() -> Sampler {
    kernel("by-hand").watching(4242)
}

fn kernel(name: &str) -> Sampler {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    Sampler::at(&fixtures.join(name))
}

#[test]
fn cpus_and_run_queue() {
    let new = linux_6_18().machine_times().unwrap();
    assert_eq!(
        new.total,
        CpuTimes {
            user: 336_068 + 98_553,
            niced: 98_553,
            system: 52_078,
            irq: 0,
            softirq: 1451,
            steal: 624,
            idle: 171_958 + 1978,
            waiting_for_disk: 1978,
        }
    );
    assert_eq!((new.cpus.len(), new.running, new.blocked), (2, 2, 1));
    let old = by_hand().machine_times().unwrap();
    assert_eq!(
        old.cpus.keys().collect::<Vec<_>>(),
        [&0, &2],
        "CPU 1 is off"
    );
    assert_eq!((old.total.irq, old.running, old.blocked), (7, 9, 2));
    let spent = old.since(&new);
    assert_eq!(
        (spent.total.user, spent.running),
        (0, 9),
        "a machine that began anew"
    );
    assert_eq!(
        spent.cpus.keys().collect::<Vec<_>>(),
        [&0],
        "CPU 2 was off: its ticks are those since boot"
    );
}

#[test]
fn stalls_of_the_machine() {
    let new = linux_6_18().stalls().unwrap();
    let stall = |some_us: u64, full_us: u64| {
        Some(StallTime {
            some_ns: some_us * 1000,
            full_ns: full_us * 1000,
        })
    };
    assert_eq!(new.cpu, stall(1_313_177_300, 0));
    assert_eq!(new.io, stall(30_295_677, 13_368_633));
    assert_eq!(new.memory, stall(0, 0));
    let old = by_hand().stalls().unwrap();
    assert_eq!(
        old.cpu,
        stall(1_500_000, 0),
        "before 5.13 there is no `full`"
    );
    assert_eq!((old.memory, old.io), (stall(2500, 1200), None));
    assert_eq!(old.since(&old).memory, stall(0, 0));
}

#[test]
fn memory_and_swap() {
    let new = linux_6_18().memory().unwrap();
    assert_eq!(
        (new.total_bytes, new.major_faults),
        (24_684_084 * KIB, 42_995)
    );
    let old = by_hand().memory().unwrap();
    assert_eq!(
        old,
        MemoryState {
            total_bytes: 8_000_000 * KIB,
            available_bytes: 500_000 * KIB,
            swap_total_bytes: 2_000_000 * KIB,
            swap_free_bytes: 1_500_000 * KIB,
            major_faults: 777,
            swapped_in: 120,
            swapped_out: 340,
            oom_kills: 3,
        }
    );
    let nothing = old.since(&old);
    assert_eq!(
        (nothing.major_faults, nothing.total_bytes),
        (0, 8_000_000 * KIB)
    );
}

#[test]
fn threads_of_a_process() {
    let new = linux_6_18().process_times().unwrap();
    assert_eq!(
        (new.user_ns, new.system_ns, new.major_faults),
        (30_000_000, 0, 4)
    );
    let main = &new.threads[0];
    assert_eq!(
        (&main.name[..], main.cpu_ns, main.waiting_ns),
        ("python3", 43_164_688, 852_406)
    );
    assert_eq!(new.threads.len(), 3);
    let old = by_hand().process_times().unwrap();
    assert_eq!((old.rss_bytes, old.major_faults), (9000 * KIB, 12));
    let mut earlier = old.clone();
    earlier.threads.remove(0);
    earlier.threads[0].waiting_ns -= 7;
    let spent: Vec<(u64, u64)> = old
        .since(&earlier)
        .threads
        .iter()
        .map(|thread| (thread.cpu_ns, thread.waiting_ns))
        .collect();
    assert_eq!(
        spent,
        [(500_000_000, 100_000_000), (0, 7)],
        "the first is new"
    );
}

#[test]
fn limits_of_a_control_group_of_each_version() {
    let new = linux_6_18().group().unwrap();
    let bandwidth = |quota, periods, throttled_periods, throttled_ns| {
        [GroupBandwidth {
            quota,
            periods,
            throttled_periods,
            throttled_ns,
        }]
    };
    assert_eq!(new.bandwidth, bandwidth(0.25, 17, 15, 956_595_435));
    assert_eq!(
        new.memory,
        [GroupMemory {
            current_bytes: 380_928,
            idle_cache_bytes: 0,
            limit_bytes: Some(64 << 20),
            limit_hits: 8924,
            high_hits: 0,
            oom_kills: 0,
            refaults: 0,
        }]
    );
    let old = by_hand().group().unwrap();
    assert_eq!(old.bandwidth, bandwidth(0.5, 146, 140, 2_500_000_000));
    assert_eq!(
        old.memory,
        [GroupMemory {
            current_bytes: 190_000_000,
            idle_cache_bytes: 40_000_000,
            limit_bytes: Some(200_000_000),
            limit_hits: 8,
            high_hits: 7,
            oom_kills: 1,
            refaults: 0,
        }]
    );
    let stalled = old.stalls.cpu.unwrap();
    assert_eq!(
        (stalled.some_ns, stalled.full_ns),
        (3_000_000_000, 2_000_000_000)
    );
    let nothing = old.since(&old);
    assert_eq!(nothing.bandwidth, bandwidth(0.5, 0, 0, 0));
}

#[test]
fn group_without_limits_has_none() {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let sampler = Sampler::at(root.path());
    assert_eq!(sampler.group().unwrap(), Default::default(), "no groups");
    put("proc/self/cgroup", "4:memory:/\n1:cpu:/\n0::/\n");
    let memory = "sys/fs/cgroup/memory/memory";
    for (name, text) in [
        ("usage_in_bytes", "7\n"),
        ("limit_in_bytes", "9223372036854771712\n"),
        ("failcnt", "0\n"),
        (
            "oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
        ),
    ] {
        put(&format!("{memory}.{name}"), text);
    }
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    let group = sampler.group().unwrap();
    assert!(group.bandwidth.is_empty());
    let memory = group.memory.iter();
    let memory: Vec<_> = memory.map(|it| (it.limit_bytes, it.oom_kills)).collect();
    assert_eq!(memory, [(None, 2)]);
}

#[test]
fn descriptors_against_their_limit() {
    let new = linux_6_18().descriptors().unwrap();
    assert_eq!(new.map(|new| new.limit), Some(Some(20_000)));
    let five = Descriptors {
        open: 5,
        limit: Some(1024),
    };
    assert_eq!(by_hand().descriptors().unwrap(), Some(five));
    let gone = kernel("by-hand").watching(7);
    assert_eq!(gone.descriptors().unwrap(), None);
}

#[test]
fn interfaces_of_the_process_and_their_speed() {
    let new = linux_6_18().interfaces().unwrap();
    let (ethernet, loopback) = (&new["eth0"], &new["lo"]);
    assert_eq!(
        (ethernet.received_packets, ethernet.sent_packets),
        (4035, 2180)
    );
    assert_eq!(
        (ethernet.speed_mbit, loopback.speed_mbit),
        (None, None),
        "-1, and none"
    );
    assert_eq!(loopback.sent_bytes, 1_854_186_672);
    let old = by_hand().interfaces().unwrap();
    let expected = InterfaceCounters {
        received_bytes: 1_000_000,
        received_packets: 2000,
        receive_errors: 1,
        receive_drops: 30,
        receive_missed: 28,
        sent_bytes: 5_000_000,
        sent_packets: 4000,
        send_errors: 2,
        send_drops: 3,
        speed_mbit: Some(10_000),
    };
    assert_eq!(old["eth0"], expected);
    let nothing = expected.since(&expected);
    assert_eq!(
        (nothing.receive_missed, nothing.speed_mbit),
        (0, Some(10_000))
    );
}

#[test]
fn packets_that_cpus_dropped() {
    let new = linux_6_18().softnet().unwrap().unwrap();
    assert_eq!(new.cpus.keys().collect::<Vec<_>>(), [&0, &1]);
    assert_eq!(new.cpus[&1].processed, 0x0017_903e);
    let old = by_hand().softnet().unwrap().unwrap();
    let without = SoftnetCounters::default();
    assert_eq!(new.since(&without), without, "CPUs that were off");
    let first = CpuBacklog {
        processed: 100_000,
        dropped: 5,
        squeezed: 7,
    };
    assert_eq!((old.cpus[&0], old.cpus[&1].squeezed), (first, 1));
    // Its counters begin anew after 32 bits.
    let before = CpuBacklog {
        processed: 0xffff_ffff,
        dropped: 5,
        squeezed: 6,
    };
    let since = first.since(&before);
    assert_eq!(
        (since.processed, since.dropped, since.squeezed),
        (100_001, 0, 1)
    );
}

#[test]
fn counters_of_tcp_by_name_wherever_they_stand() {
    let new = linux_6_18().tcp().unwrap();
    assert!(
        new.segments_sent > 2_000_000 && new.passive_opens > 30_000,
        "{new:?}"
    );
    let old = by_hand().tcp().unwrap();
    let expected = TcpCounters {
        established: 55,
        active_opens: 11,
        passive_opens: 22,
        failed_attempts: 3,
        segments_received: 6000,
        segments_sent: 7000,
        retransmits: 80,
        syn_retransmits: 20,
        resets_sent: 9,
        timeouts: 14,
        listen_overflows: 12,
        listen_drops: 13,
        request_queue_drops: 19,
        request_queue_cookies: 18,
        cookies_sent: 1,
        memory_pressures: 16,
        memory_aborts: 15,
        backlog_drops: 17,
    };
    assert_eq!(old, expected);
    let nothing = TcpCounters {
        established: 55,
        ..TcpCounters::default()
    };
    assert_eq!(old.since(&old), nothing);
}

#[test]
fn sockets_with_and_without_ipv6() {
    let new = linux_6_18().sockets().unwrap().unwrap();
    assert_eq!((new.in_use, new.memory_pages), (1, 389));
    let old = by_hand().sockets().unwrap();
    let expected = SocketCounts {
        in_use: 40,
        orphaned: 2,
        time_wait: 1234,
        allocated: 45,
        memory_pages: 678,
    };
    assert_eq!(old, Some(expected));
}

#[test]
fn fill_of_the_table_of_connections() {
    let new = linux_6_18().conntrack().unwrap().unwrap();
    assert_eq!((new.entries, new.most, new.drops), (0, 262_144, 0));
    let old = by_hand().conntrack().unwrap();
    let expected = Conntrack {
        entries: 0xff00,
        most: 65_536,
        drops: 0x30,
        failed_inserts: 3,
    };
    assert_eq!(old, Some(expected));
}

#[test]
fn text_that_no_kernel_writes_is_an_error_that_names_the_file() {
    type Read = fn(&Sampler) -> Option<host::HostError>;
    let group: Read = |sampler| sampler.group().err();
    let stalls: Read = |sampler| sampler.stalls().err();
    let softnet: Read = |sampler| sampler.softnet().err();
    let sockets: Read = |sampler| sampler.sockets().err();
    let conntrack: Read = |sampler| sampler.conntrack().err();
    let descriptors: Read = |sampler| sampler.descriptors().err();
    let interfaces: Read = |sampler| sampler.interfaces().err();
    let memory: Read = |sampler| sampler.memory().err();
    for (read, file, text) in [
        (memory, "proc/meminfo", "MemTotal: 1000 kB\n"),
        (interfaces, "proc/self/net/dev", "a\nb\nno colon\n"),
        (interfaces, "proc/self/net/dev", "a\nb\neth0: 1 2\n"),
        (stalls, "proc/pressure/io", "full avg10=0 total=1\n"),
        (stalls, "proc/pressure/io", "some avg10=0 total=\n"),
        (
            stalls,
            "proc/pressure/io",
            "some avg10=0 total=1\nfull avg10=0\n",
        ),
        (softnet, "proc/self/net/softnet_stat", "0 1\n"),
        (softnet, "proc/self/net/softnet_stat", "0 1 x\n"),
        (softnet, "proc/self/net/softnet_stat", "0 1 123456789\n"),
        (sockets, "proc/self/net/sockstat", "TCP: inuse\n"),
        (conntrack, "proc/self/net/stat/nf_conntrack", "entries\n1\n"),
        (
            conntrack,
            "proc/sys/net/netfilter/nf_conntrack_max",
            "many\n",
        ),
        (descriptors, "proc/self/limits", "Max open files few\n"),
        (group, "sys/fs/cgroup/memory.events", "max 1\nhigh 1\n"),
        (
            group,
            "sys/fs/cgroup/cpu.stat",
            "nr_periods 1\nnr_throttled 1\n",
        ),
        (group, "sys/fs/cgroup/cpu.pressure", ""),
    ] {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in [
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/fd/0", ""),
            ("proc/vmstat", ""),
            ("sys/fs/cgroup/cpu.max", "100000 100000\n"),
            ("sys/fs/cgroup/memory.current", "1\n"),
            ("sys/fs/cgroup/memory.max", "max\n"),
            ("sys/fs/cgroup/memory.events", "max 1\nhigh 1\noom_kill 1\n"),
            ("proc/sys/net/netfilter/nf_conntrack_max", "10\n"),
            (file, text),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let error = read(&Sampler::at(root.path())).map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|error| error.contains(file)),
            "{file} {text:?}: {error:?}"
        );
    }
}

#[test]
fn file_that_a_kernel_does_not_have_is_no_error() {
    let root = tempfile::tempdir().unwrap();
    let sampler = Sampler::at(root.path());
    assert_eq!(sampler.stalls().unwrap(), Default::default());
    assert_eq!(sampler.group().unwrap(), Default::default());
    assert_eq!(sampler.softnet().unwrap(), None);
    assert_eq!(sampler.sockets().unwrap(), None);
    assert_eq!(sampler.conntrack().unwrap(), None);
    assert_eq!(sampler.descriptors().unwrap(), None);
}

#[test]
fn this_machine_says_all_of_it() {
    let own = Sampler::new();
    let watched = Sampler::new().watching(std::process::id());
    for sampler in [own, watched] {
        assert!(!sampler.machine_times().unwrap().cpus.is_empty());
        assert!(sampler.process_times().unwrap().rss_bytes > 0);
        assert!(sampler.memory().unwrap().total_bytes > 0);
        assert!(sampler.descriptors().unwrap().unwrap().open > 0);
        assert!(!sampler.interfaces().unwrap().is_empty());
        sampler.tcp().unwrap();
        sampler.stalls().unwrap();
        sampler.group().unwrap();
        sampler.softnet().unwrap();
        sampler.sockets().unwrap();
        sampler.conntrack().unwrap();
    }
}
