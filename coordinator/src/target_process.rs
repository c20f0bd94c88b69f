//! The hidden command `target`. A run against the built-in target starts it, and ends it by closing
//! its standard input.

use crate::exit::Exit;
use crate::local::TargetAddress;
use crate::terminal;
use clap::{Args, ValueEnum};
use std::io::Read as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;
use target::{Config, KeyKind, Pace, RunningTarget, ServerTls, TargetAnswer};

/// `coordinator target`, as a run starts it.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Serve plain HTTP instead of HTTPS
    #[arg(long)]
    plain: bool,
    /// Kind of the server's key
    #[arg(long, value_enum, default_value_t = Key::P256)]
    key: Key,
    /// Bytes of each response's body
    #[arg(long, default_value_t = 356)]
    body_bytes: u64,
    /// Wait before each answer, in nanoseconds
    #[arg(long, default_value_t = 0)]
    delay_ns: u64,
    /// Nanoseconds from the start of one stall to the start of the next
    #[arg(long, requires_all = ["stall_for_ns", "stall_first_ns"], conflicts_with = "servers")]
    stall_every_ns: Option<u64>,
    /// Nanoseconds that a stall lasts
    #[arg(long, requires = "stall_every_ns")]
    stall_for_ns: Option<u64>,
    /// Nanoseconds from the first request to the first stall
    #[arg(long, requires = "stall_every_ns")]
    stall_first_ns: Option<u64>,
    /// Requests that are served at the same time
    #[arg(long, requires = "service_time_ns")]
    servers: Option<NonZeroU32>,
    /// Nanoseconds to serve a request
    #[arg(long, requires = "servers")]
    service_time_ns: Option<u64>,
    /// Threads [default: half of the CPUs]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Key {
    P256,
    Rsa2048,
}

/// Serves until standard input ends.
///
/// # Errors
/// The target cannot be set up.
pub fn serve(args: &TargetArgs) -> anyhow::Result<Exit> {
    let running = RunningTarget::new(config(args))?;
    let address = TargetAddress {
        address: running.address(),
        ca_pem: running.ca_pem().map(str::to_owned),
    };
    terminal::print(&format!("{}\n", serde_json::to_string(&address)?))?;
    let mut bytes = [0; 64];
    // The content does not matter, and an error is an end as well.
    while matches!(std::io::stdin().read(&mut bytes), Ok(1..)) {}
    let _counts = running.stop();
    Ok(Exit::Passed)
}

fn config(args: &TargetArgs) -> Config {
    let key = match args.key {
        Key::P256 => KeyKind::P256,
        Key::Rsa2048 => KeyKind::Rsa2048,
    };
    let delay = Duration::from_nanos(args.delay_ns);
    let answer = TargetAnswer {
        body_bytes: args.body_bytes,
        delay,
        pace: pace(args),
        ..TargetAnswer::default()
    };
    let tls = (!args.plain).then(|| ServerTls {
        key,
        tickets: true,
        ..ServerTls::default()
    });
    Config {
        threads: args.threads.unwrap_or_else(half_of_the_cpus),
        tls,
        answer,
        ..Config::default()
    }
}

fn pace(args: &TargetArgs) -> Pace {
    let of = Duration::from_nanos;
    match (
        args.stall_every_ns,
        args.stall_for_ns,
        args.stall_first_ns,
        args.servers,
        args.service_time_ns,
    ) {
        (Some(every), Some(lasts), Some(first), ..) => Pace::Stall {
            every: of(every),
            lasts: of(lasts),
            first: of(first),
        },
        (.., Some(count), Some(service)) => Pace::Servers {
            count,
            service_time: of(service),
        },
        _ => Pace::AtOnce,
    }
}

/// Leaves the other half to the agents that load the target.
fn half_of_the_cpus() -> NonZeroUsize {
    let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cpus / 2).unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::local::target_arguments;
    use clap::Parser as _;
    use plan::{Builtin, BuiltinKey, BuiltinPace};

    fn config_of(builtin: &Builtin) -> Config {
        let cli = Cli::try_parse_from(
            ["coordinator".to_owned()]
                .into_iter()
                .chain(target_arguments(builtin)),
        )
        .unwrap();
        let Command::Target(args) = cli.command else {
            panic!("it is a target")
        };
        config(&args)
    }

    #[test]
    fn arguments_make_the_target_that_the_plan_asks_for() {
        let ms = Duration::from_millis;
        let count = NonZeroU32::new(3).unwrap();
        let paces = [
            (BuiltinPace::AtOnce, Pace::AtOnce),
            (
                BuiltinPace::Stall {
                    every: ms(9),
                    lasts: ms(2),
                    first: ms(5),
                },
                Pace::Stall {
                    every: ms(9),
                    lasts: ms(2),
                    first: ms(5),
                },
            ),
            (
                BuiltinPace::Servers {
                    count,
                    service_time: ms(7),
                },
                Pace::Servers {
                    count,
                    service_time: ms(7),
                },
            ),
        ];
        for (pace, made) in paces {
            for tls in [true, false] {
                let config = config_of(&Builtin {
                    tls,
                    key: BuiltinKey::Rsa2048,
                    body_bytes: 7,
                    delay: ms(3),
                    pace,
                });
                assert_eq!(
                    config.tls.map(|tls| tls.key),
                    tls.then_some(KeyKind::Rsa2048)
                );
                assert_eq!(
                    (
                        config.answer.body_bytes,
                        config.answer.delay,
                        config.answer.pace
                    ),
                    (7, ms(3), made)
                );
            }
        }
    }
}
