//! Control links that are slow, far away, or lose packets.

use crate::partitions::each;
use crate::partitions::field::{Field, has_event};
use interop::{LinkQuality, Tried, ensure};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use target::Config;

/// Ten requests and eight addresses: an agent's second has figures for each combination.
const REQUESTS: u64 = 10;
const ADDRESSES: u8 = 8;

/// On 64 kbit/s half a minute of figures takes two minutes to arrive.
const LONGEST: Duration = Duration::from_secs(170);

/// A link, and the number of agents that share it.
struct Narrow {
    agents: u32,
    quality: LinkQuality,
}

#[test]
fn slow_and_lossy_links_carry_everything_over_one_connection() {
    if Field::new(LinkQuality::default()).is_none() {
        return;
    }
    let slow = |kilobits: u64| LinkQuality {
        rate: Some(kilobits * 1000),
        // A home router's queue: half a second to two seconds of packets.
        packets_max: 12,
        ..LinkQuality::default()
    };
    let far = LinkQuality {
        delay: Duration::from_millis(60),
        loss: 0.05,
        reordered: 0.1,
        jitter: Duration::from_millis(5),
        ..LinkQuality::default()
    };
    let cases = [
        (1, slow(64), "64 kbit/s"),
        (2, slow(256), "256 kbit/s"),
        (2, far, "120 ms of round trip, 5 % of loss, 10 % overtaken"),
    ];
    let narrow = cases.map(|(agents, quality, name)| (name, Narrow { agents, quality }));
    each(
        &narrow,
        |(name, _)| (*name).to_owned(),
        |(_, narrow)| many_figures(narrow),
    );
}

fn many_figures(narrow: &Narrow) -> Tried {
    const SECONDS: u64 = 30;
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let target = Config {
        address: any,
        ..Config::plain()
    };
    let field = Field::with_target(narrow.quality, target).unwrap();
    let port = field.server.address().port();
    let addresses: Vec<String> = (1..=ADDRESSES)
        .map(|last| format!("127.0.0.{last}:{port}"))
        .collect();
    let requests: String = (0..REQUESTS)
        .map(|number| format!("[[request]]\nname = \"r{number}\"\npath = \"/{number}\"\n"))
        .collect();
    let plan = format!(
        "name = \"narrow\"\ntarget = {{ url = \"http://far.test:{port}/\", addresses = \
         {addresses:?} }}\nload = {{ rate = \"80/s\", max_connections = 32, duration = \
         \"{SECONDS}s\" }}\nfleet = {{ max_skew = \"1s\" }}\n{requests}"
    );
    let run = field.start(narrow.agents, &plan);
    let (finished, told) = run.finish_within(LONGEST);
    let all = || format!("{finished}\n{told}\n{:?}", field.link.counts());
    ensure(finished.code == 0, all)?;
    let (document, folder) = (finished.clean().document(), finished.run_folder().unwrap());
    ensure(
        document.measured.operations.ok == 80 * SECONDS && field.requests() == 80 * SECONDS,
        all,
    )?;
    ensure(!has_event(&folder, "gone"), all)?;
    println!(
        "{} agents, {:?}: {:?}",
        narrow.agents, narrow.quality.rate, finished.took
    );
    Ok(())
}

#[test]
fn distance_beyond_the_skew_that_the_plan_allows_is_refused_before_the_start() {
    let far = LinkQuality {
        delay: Duration::from_millis(60),
        ..LinkQuality::default()
    };
    if Field::new(far).is_none() {
        return;
    }
    each(
        &[None, Some("150ms")],
        |skew| format!("max_skew {skew:?}"),
        |skew| {
            let field = Field::new(far).unwrap();
            let more = skew
                .map(|skew| format!("fleet.max_skew = {skew:?}\n"))
                .unwrap_or_default();
            let load = "rate = \"40/s\", max_connections = 8, duration = \"3s\"";
            let (finished, told) = field.start(2, &field.plan(load, &more)).finish();
            let all = || format!("{finished}\n{told}");
            let requests = field.requests();
            let _ = finished.clean();
            if skew.is_some() {
                return ensure(finished.code == 0 && requests == 120, all);
            }
            let words = [
                "clock",
                "fleet.max_skew is 50 ms",
                "write fleet.max_skew = \"1",
            ];
            let is_told = |line: &str| words.iter().all(|word| line.contains(word));
            ensure(
                finished.code == 4 && requests == 0 && finished.stderr.lines().any(is_told),
                all,
            )
        },
    );
}
