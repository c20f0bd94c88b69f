//! The hidden command `target`: what a run against a built-in target starts, and ends by closing its standard input.

use crate::exit::Exit;
use crate::local::Listening;
use crate::terminal;
use clap::{Args, ValueEnum};
use plan::{Builtin, BuiltinKey};
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::time::Duration;
use target::{Answer, Config, KeyKind, Running, Tls};

/// `coordinator target`, as a run starts it.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Plain HTTP instead of HTTPS
    #[arg(long)]
    plain: bool,
    /// Kind of the server's key
    #[arg(long, value_enum, default_value_t = Key::P256)]
    key: Key,
    /// Bytes of each body
    #[arg(long, default_value_t = 356)]
    body_bytes: u64,
    /// Wait before each answer, in nanoseconds
    #[arg(long, default_value_t = 0)]
    delay_ns: u64,
    /// Threads; half of the CPUs where nothing is said
    #[arg(long)]
    threads: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Key {
    P256,
    Rsa2048,
}

/// The arguments that make the target a plan asks for.
pub(crate) fn arguments(builtin: &Builtin) -> Vec<String> {
    let key = match builtin.key {
        BuiltinKey::P256 => Key::P256,
        BuiltinKey::Rsa2048 => Key::Rsa2048,
    };
    let key = key.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let plain = (!builtin.tls).then(|| "--plain".to_owned());
    let delay = format!("--delay-ns={}", builtin.delay.as_nanos());
    let fixed = ["target".to_owned(), format!("--key={key}"), format!("--body-bytes={}", builtin.body_bytes), delay];
    fixed.into_iter().chain(plain).collect()
}

/// Serves until standard input ends.
///
/// # Errors
/// The target cannot be set up.
pub fn serve(args: &TargetArgs) -> anyhow::Result<Exit> {
    let running = Running::new(config(args))?;
    let listening = Listening { address: running.address(), ca_pem: running.ca_pem().map(str::to_owned) };
    terminal::print(&format!("{}\n", serde_json::to_string(&listening)?))?;
    let mut bytes = [0; 64];
    // Whatever comes is of no interest, and an error is an end as well.
    while matches!(std::io::stdin().read(&mut bytes), Ok(1..)) {}
    let _counts = running.stop();
    Ok(Exit::Passed)
}

fn config(args: &TargetArgs) -> Config {
    let key = match args.key {
        Key::P256 => KeyKind::P256,
        Key::Rsa2048 => KeyKind::Rsa2048,
    };
    let answer = Answer { body_bytes: args.body_bytes, delay: Duration::from_nanos(args.delay_ns), ..Answer::default() };
    let tls = (!args.plain).then(|| Tls { key, tickets: true, ..Tls::default() });
    Config { threads: args.threads.unwrap_or_else(half_of_the_cpus), tls, answer, ..Config::default() }
}

/// The other half is for the agents that load it.
fn half_of_the_cpus() -> NonZeroUsize {
    let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cpus / 2).unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser as _;

    #[test]
    fn arguments_make_the_target_that_the_plan_asks_for() {
        let builtin = Builtin { tls: true, key: BuiltinKey::Rsa2048, body_bytes: 7, delay: Duration::from_millis(3) };
        for tls in [true, false] {
            let arguments = arguments(&Builtin { tls, ..builtin.clone() });
            let cli = Cli::try_parse_from(["coordinator".to_owned()].into_iter().chain(arguments)).unwrap();
            let Command::Target(args) = cli.command else { panic!("it is a target") };
            let config = config(&args);
            assert_eq!(config.tls.map(|tls| tls.key), tls.then_some(KeyKind::Rsa2048));
            assert_eq!((config.answer.body_bytes, config.answer.delay), (7, Duration::from_millis(3)));
        }
    }
}
