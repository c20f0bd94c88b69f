//! Each rule below, at and above its bound.

use super::{MachineRemark, Severity, Undertaking};
use host::{Conntrack, MachineLimits, MachineRoute, PortLimits, PortReuse};
use plan::{Calibration, NoFiles, Plan};
use std::net::SocketAddr;
use std::time::Duration;

/// A machine with room for everything.
fn roomy() -> MachineLimits {
    MachineLimits {
        open_files: None,
        ports: PortLimits {
            number: 28_232,
            time_wait: 0,
            time_wait_max: 262_144,
            reuse: PortReuse::Loopback,
            reuse_after: Duration::from_secs(1),
        },
        memory_bytes: 1 << 40,
        cpu_quota: None,
        clock_source: "tsc".to_owned(),
        conntrack: None,
        routes: Vec::new(),
    }
}

/// What is remarked about a plan's share on such a machine.
fn remarks(
    limits: &MachineLimits,
    plan: &str,
    spins: bool,
    calibration: Option<&Calibration>,
) -> Vec<MachineRemark> {
    let text = match plan.contains("target.url") {
        true => plan.to_owned(),
        false => format!("target.url = \"http://10.0.0.9/\"\n{plan}\n"),
    };
    let plan = Plan::parse(&text, &mut NoFiles).unwrap_or_else(|all| panic!("{all}\n{text}"));
    let addresses: [SocketAddr; 1] = ["10.0.0.9:443".parse().unwrap()];
    let of = Undertaking {
        spins,
        calibration,
        ..Undertaking::new(&plan, (0, 2), &addresses, 2)
    };
    of.remarks(limits)
}

/// The only remark, if there is one.
fn said(limits: &MachineLimits, plan: &str) -> Option<(Severity, String)> {
    let mut remarks = remarks(limits, plan, true, None);
    assert!(remarks.len() < 2, "{remarks:?}");
    remarks.pop().map(|remark| (remark.severity, remark.text))
}

fn severity(limits: &MachineLimits, plan: &str) -> Option<Severity> {
    said(limits, plan).map(|(severity, _)| severity)
}

const CONCERN: Option<Severity> = Some(Severity::Concern);
const REFUSAL: Option<Severity> = Some(Severity::Refusal);

/// A load of `number` virtual users for each of two agents.
fn users(number: u32) -> String {
    format!(
        "load = {{ connections = {}, duration = \"9s\" }}",
        2 * number
    )
}

/// A load of `per_s` connections per second for each of two agents, each closed after one request.
fn opened(per_s: u32, more: &str) -> String {
    format!(
        "connection = {{ requests = 1{more} }}\nload = {{ rate = \"{}/s\", duration = \"3m\" }}",
        2 * per_s
    )
}

#[test]
fn open_files_bound_virtual_users() {
    let limits = |files| MachineLimits {
        open_files: Some(files),
        ..roomy()
    };
    for (asked, files, expected) in [
        (799, 1_128, None),
        (800, 1_128, CONCERN),
        (1_000, 1_128, CONCERN),
        (1_001, 1_128, REFUSAL),
        (1, 128, REFUSAL),
        (1, 7, REFUSAL),
        (1, 133, None),
    ] {
        assert_eq!(
            severity(&limits(files), &users(asked)),
            expected,
            "{asked} {files}"
        );
    }
    let (_, text) = said(&limits(256), &users(400)).unwrap();
    assert_eq!(
        text,
        "load.connections: this agent's share is 400, and it may open 256 files, of which it keeps \
         128 for others; raise the hard limit to 528 or more (ulimit -Hn, LimitNOFILE=) or use 8 \
         agents"
    );
    let open = "load = { rate = \"5/s\", duration = \"9s\", max_connections = 5000 }";
    assert_eq!(
        severity(&limits(256), open),
        None,
        "nobody knows how many it needs"
    );
    let sharing = |users, most| {
        format!(
            "request = [{{ name = \"a\" }}]\njourney = {{ steps = [\"a\"], connection = \"shared\" \
             }}\nload = {{ users = {users}, max_connections = {most}, duration = \"9s\" }}"
        )
    };
    assert_eq!(severity(&limits(256), &sharing(90_000, 40)), None);
    assert_eq!(severity(&limits(256), &sharing(40, 90_000)), None);
    let (_, text) = said(&limits(256), &sharing(90_000, 800)).unwrap();
    assert!(
        text.starts_with("load.max_connections: this agent's share is 400, and"),
        "{text}"
    );
}

#[test]
fn memory_bounds_virtual_users() {
    // The figures of one request at one address, on two workers.
    let asked = 11 * 1_024 * 1_001 + 16 * 1_024 * 3;
    for (bytes, expected) in [
        (asked * 10 / 8 + 1, None),
        (asked * 10 / 8, CONCERN),
        (asked, CONCERN),
        (asked - 1, REFUSAL),
        (0, REFUSAL),
    ] {
        let limits = MachineLimits {
            memory_bytes: bytes,
            ..roomy()
        };
        assert_eq!(severity(&limits, &users(1_001)), expected, "{bytes}");
    }
}

#[test]
fn memory_bounds_requests_by_addresses() {
    let requests: String = (0..300)
        .map(|request| format!("[[request]]\npath = \"/{request}\"\n"))
        .collect();
    let asked = 300 * 16 * 1_024 * 3;
    let limits = |memory_bytes| MachineLimits {
        memory_bytes,
        ..roomy()
    };
    let plan = format!("{}\n{requests}", users(1));
    assert_eq!(severity(&limits(2 * asked), &plan), None);
    let (severity, text) = said(&limits(asked), &plan).unwrap();
    assert_eq!(severity, Severity::Refusal, "with a user's connection");
    assert_eq!(
        text,
        "request: figures by request and address, 300 × 1, take about 14 MiB with 2 workers, and \
         14 MiB are available; give this machine or its control group more memory or use fewer \
         requests, addresses or --workers"
    );
}

#[test]
fn ports_bound_connections_that_are_open() {
    let limits = |number| MachineLimits {
        ports: PortLimits {
            number,
            ..roomy().ports
        },
        ..roomy()
    };
    for (number, expected) in [
        (376, None),
        (375, CONCERN),
        (300, CONCERN),
        (299, REFUSAL),
        (0, REFUSAL),
    ] {
        assert_eq!(severity(&limits(number), &users(300)), expected, "{number}");
    }
    let (_, text) = said(&limits(200), &users(300)).unwrap();
    assert_eq!(
        text,
        "load.connections: this agent's share is 300, and 1 pair of a source and a target address \
         has 200 local ports; use 4 agents on machines of their own, 2 \
         connection.source_addresses, or sysctl net.ipv4.ip_local_port_range=\"1024 65535\""
    );
    let sources = "connection.source_addresses = [\"10.0.0.1\", \"10.0.0.2\", \"::1\"]\n";
    let plan = format!("{sources}{}", users(300));
    assert_eq!(severity(&limits(188), &plan), None);
    assert_eq!(
        severity(&limits(151), &plan),
        CONCERN,
        "the third is of another family"
    );
}

#[test]
fn ports_bound_connections_that_are_closed_here() {
    let limits = |number, reuse| MachineLimits {
        ports: PortLimits {
            number,
            reuse,
            ..roomy().ports
        },
        ..roomy()
    };
    let never = |number| limits(number, PortReuse::Never);
    for (number, expected) in [
        (45_001, None),
        (45_000, CONCERN),
        (36_000, CONCERN),
        (35_999, REFUSAL),
    ] {
        assert_eq!(
            severity(&never(number), &opened(600, "")),
            expected,
            "{number}"
        );
    }
    let (_, text) = said(&limits(28_232, PortReuse::Loopback), &opened(600, "")).unwrap();
    assert_eq!(
        text,
        "local ports run out after 47 s: up to 600 connections/s are closed by this agent, and \
         each keeps its port for 60 s: up to 36000 are taken at once, and 1 pair of a source and a \
         target address has 28232; use 4 agents on machines of their own, 2 \
         connection.source_addresses, connection.close = \"server\" or \"rst\", sysctl \
         net.ipv4.ip_local_port_range=\"1024 65535\", or sysctl \
         net.ipv4.tcp_tw_reuse=1"
    );
    for (more, expected) in [
        (", close = \"rst\"", None),
        (", close = \"server\"", None),
        (", close = \"fin\"", REFUSAL),
    ] {
        assert_eq!(
            severity(&never(200), &opened(600, more)),
            expected,
            "{more}"
        );
    }
    // As measured with 200 ports: 150/s went well, and 400/s did not.
    let always = limits(200, PortReuse::Always);
    assert_eq!(severity(&always, &opened(150, "")), None);
    assert_eq!(severity(&always, &opened(400, "")), REFUSAL);
    let kept_open = "load = { rate = \"1200/s\", duration = \"3m\" }";
    assert_eq!(severity(&never(200), kept_open), None);
    for more in ["", "connection.requests = 100\n"] {
        let on_new = format!(
            "{more}request = [{{ name = \"a\" }}]\n\
             journey = {{ steps = [\"a\"], connection = \"new\" }}\n{kept_open}"
        );
        assert_eq!(severity(&never(28_232), &on_new), REFUSAL, "{more}");
    }
}

#[test]
fn ports_are_counted_over_the_minute_that_asks_for_most() {
    let limits = |number| MachineLimits {
        ports: PortLimits {
            number,
            reuse: PortReuse::Never,
            ..roomy().ports
        },
        ..roomy()
    };
    let burst = "connection.requests = 1\n[load]\nrate = \"2/s\"\nstage = [\
                 { over = \"1h\", to = \"2/s\" }, { over = \"5s\", to = \"1000/s\" }, \
                 { over = \"5s\", to = \"2/s\" }, { over = \"1h\", to = \"2/s\" }]";
    // Half of 5,010 arrivals in ten seconds, and of 100 in the fifty seconds around them.
    assert_eq!(severity(&limits(3_300), burst), None);
    assert_eq!(severity(&limits(2_500), burst), REFUSAL);
    let short = "connection.requests = 1\nload = { rate = \"400/s\", requests = 300 }";
    assert_eq!(severity(&limits(188), short), None, "150 in all");
    assert_eq!(severity(&limits(149), short), REFUSAL);
}

#[test]
fn kernel_that_keeps_few_in_time_wait_takes_few_ports() {
    let limits = |time_wait, time_wait_max| MachineLimits {
        ports: PortLimits {
            number: 1_000,
            time_wait,
            time_wait_max,
            reuse: PortReuse::Never,
            ..roomy().ports
        },
        ..roomy()
    };
    assert_eq!(severity(&limits(0, 799), &opened(600, "")), None);
    assert_eq!(severity(&limits(0, 1_000), &opened(600, "")), CONCERN);
    assert_eq!(severity(&limits(0, 1_001), &opened(600, "")), REFUSAL);
    assert_eq!(severity(&limits(700, 9_999), &users(300)), None);
    assert_eq!(severity(&limits(701, 9_999), &users(300)), CONCERN);
    assert_eq!(severity(&limits(400, 9_999), &opened(10, "")), None);
    let (severity, text) = said(&limits(401, 9_999), &opened(10, "")).unwrap();
    assert_eq!(severity, Severity::Concern);
    assert!(
        text.contains("401 of this machine's are in TIME_WAIT already"),
        "{text}"
    );
}

#[test]
fn own_machine_takes_ports_again() {
    for (address, expected) in [("127.0.0.1:443", 0), ("[::1]:443", 0), ("10.0.0.1:443", 1)] {
        let addresses = [address.parse().unwrap()];
        let text = format!("target.url = \"http://a.test/\"\n{}", opened(600, ""));
        let plan = Plan::parse(&text, &mut NoFiles).unwrap();
        let of = Undertaking::new(&plan, (0, 2), &addresses, 2);
        assert_eq!(of.remarks(&roomy()).len(), expected, "{address}");
    }
}

#[test]
fn tracked_connections_fit_the_table() {
    let limits = |entries, most| MachineLimits {
        conntrack: Some(Conntrack {
            entries,
            most,
            ..Conntrack::default()
        }),
        ..roomy()
    };
    for (entries, most, expected) in [
        (7, 1_508, None),
        (7, 1_507, CONCERN),
        (7, 1_207, CONCERN),
        (7, 1_206, REFUSAL),
        (9, 8, REFUSAL),
        (0, 5, None),
    ] {
        let found = severity(&limits(entries, most), &opened(10, ""));
        assert_eq!(found, expected, "{entries} {most}");
    }
    let (_, text) = said(&limits(7, 1_000), &opened(10, "")).unwrap();
    assert!(
        text.contains("sysctl net.netfilter.nf_conntrack_max=1207 or use 4 agents"),
        "{text}"
    );
}

#[test]
fn link_carries_what_is_planned() {
    let limits = |speeds: &[Option<u64>]| MachineLimits {
        routes: speeds
            .iter()
            .map(|&speed_mbit| {
                Some(MachineRoute {
                    interface: format!("eth{}", speed_mbit.unwrap_or(0) % 10),
                    speed_mbit,
                })
            })
            .collect(),
        ..roomy()
    };
    // 100 answers of 1.25 MB per second for each agent.
    let plan = "request.expect = { bytes = 1250000 }\n\
                load = { rate = \"200/s\", duration = \"9s\" }";
    for (speeds, expected) in [
        (&[Some(1_251)][..], None),
        (&[Some(1_250)], CONCERN),
        (&[Some(1_000)], CONCERN),
        (&[Some(999)], REFUSAL),
        (&[None], None),
        (&[Some(626), Some(9_999)], None),
        (&[Some(499), Some(9_998)], REFUSAL),
    ] {
        assert_eq!(severity(&limits(speeds), plan), expected, "{speeds:?}");
    }
    let (_, text) = said(&limits(&[Some(100)]), plan).unwrap();
    assert!(
        text.starts_with("eth0 carries 100 Mbit/s, and this agent's share receives 1000 Mbit/s"),
        "{text}"
    );
}

#[test]
fn calibrated_need_fits_the_workers_or_their_quota() {
    let rows = [("request", 1e6), ("byte", 1e-3)].map(|(work, cpu_ns)| {
        format!("{{\"work\": \"{work}\", \"cpu_ns\": {cpu_ns}, \"rate_per_worker\": 1}}")
    });
    let text = format!(
        "{{\"fingerprint\": {{\"cpu_model\": \"\", \"cpus\": 2, \"cpu_quota\": null, \
         \"kernel\": \"\", \"version\": \"\"}}, \"measured_at_s\": 1, \"rows\": [{}]}}",
        rows.join(", ")
    );
    let calibration = Calibration::decode(text.as_bytes()).unwrap();
    let found_at = |scheme: &str, per_s: u32, quota| {
        let plan = format!(
            "target.url = \"{scheme}://10.0.0.9/\"\n\
             load = {{ rate = \"{}/s\", duration = \"9s\" }}",
            2 * per_s
        );
        let limits = MachineLimits {
            cpu_quota: quota,
            ..roomy()
        };
        let all = remarks(&limits, &plan, true, Some(&calibration));
        all.into_iter()
            .find(|remark| remark.text.contains("calibrated"))
    };
    let found = |per_s, quota| found_at("https", per_s, quota);
    let plain = found_at("http", 4_000, None).unwrap();
    assert_eq!(
        plain.severity,
        Severity::Concern,
        "it was calibrated over TLS"
    );
    // A millisecond and next to nothing for its bytes each, and two workers.
    for (per_s, quota, expected) in [
        (1_599, None, None),
        (1_600, None, CONCERN),
        (1_999, None, CONCERN),
        (2_999, None, CONCERN),
        (3_001, None, REFUSAL),
        (1_999, Some(3.5), CONCERN),
        (1_000, Some(0.5), REFUSAL),
    ] {
        let severity = found(per_s, quota).map(|remark| remark.severity);
        assert_eq!(severity, expected, "{per_s} {quota:?}");
    }
    let text = found(3_000, None).unwrap().text;
    assert_eq!(
        text,
        "this agent's share needs 150 % of the 2 CPUs of its workers, as calibrated: 150 % \
         requests; use 4 agents or give its workers more CPUs"
    );
}

/// How often virtual users send depends on the answers; their think time alone gives the highest
/// rate.
#[test]
fn users_that_pause_are_not_refused_for_a_rate_that_they_may_never_reach() {
    let thinking = "target.url = \"http://10.0.0.9/\"\nconnection.requests = 1\n\
                    load = { connections = 400, think_time = \"1ms\", duration = \"3m\" }";
    assert_eq!(
        severity(&roomy(), thinking),
        CONCERN,
        "200,000 ports a second at most"
    );
    let tracked = MachineLimits {
        conntrack: Some(Conntrack {
            entries: 1,
            most: 10_000,
            ..Conntrack::default()
        }),
        ports: PortLimits {
            reuse: PortReuse::Always,
            reuse_after: Duration::ZERO,
            ..roomy().ports
        },
        ..roomy()
    };
    assert_eq!(severity(&tracked, thinking), CONCERN);
    let table_of_few = MachineLimits {
        conntrack: Some(Conntrack {
            entries: 1,
            most: 100,
            ..Conntrack::default()
        }),
        ..tracked
    };
    assert_eq!(
        severity(&table_of_few, thinking),
        REFUSAL,
        "the users alone are too many"
    );
}

#[test]
fn what_spoils_figures_is_said() {
    for clock in ["hpet", "acpi_pm", "jiffies"] {
        let limits = MachineLimits {
            clock_source: clock.to_owned(),
            ..roomy()
        };
        assert_eq!(severity(&limits, &users(3)), CONCERN, "{clock}");
    }
    for (quota, expected) in [(1.5, CONCERN), (2.0, None), (2.5, None)] {
        let limits = MachineLimits {
            cpu_quota: Some(quota),
            ..roomy()
        };
        assert_eq!(severity(&limits, &users(3)), expected, "{quota}");
    }
    let sleeps = |plan: &str| remarks(&roomy(), plan, false, None).len();
    assert_eq!(sleeps(&opened(1, "")), 1);
    assert_eq!(sleeps(&users(3)), 0, "a closed loop waits for no arrival");
}

#[test]
fn ports_of_tls_are_a_concern_since_the_server_decides() {
    for (scheme, rate, expected) in [
        ("http", 600, REFUSAL),
        ("https", 600, CONCERN),
        ("https", 3, None),
    ] {
        let text = format!("target.url = \"{scheme}://a.test/\"\n{}", opened(rate, ""));
        let plan = Plan::parse(&text, &mut NoFiles).unwrap();
        let addresses = ["10.0.0.1:443".parse().unwrap()];
        let remarks = Undertaking::new(&plan, (0, 2), &addresses, 2).remarks(&roomy());
        let found = remarks.first().map(|remark| remark.severity);
        assert_eq!(found, expected, "{scheme} {rate}: {remarks:?}");
    }
}
