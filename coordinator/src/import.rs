//! `coordinator import`: makes a replay of a log, or the descriptor set of a gRPC server. Opens the
//! files; `traffic` reads and writes.

mod reflecting;

use crate::exit::Exit;
use crate::terminal;
use anyhow::Context as _;
use clap::Args;
use plan::{Rate, SECRET_HEADERS};
use reflecting::GrpcServer;
use run_folder::{STANDARD_INPUT, in_words};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read};
use std::path::{Path, PathBuf};
use traffic::{
    ImportError, ImportRules, ImportSummary, LogFormat, MissingBody, Stamp, TrafficFormat,
};

/// Bytes in a mebibyte.
const MIB: usize = 1 << 20;
/// Memory in which requests are put in order, unless said otherwise.
const SORT_MEMORY_MIB: u32 = 512;

/// Written at once.
const BUFFER_BYTES: usize = 256 << 10;

const EXAMPLES: &str = "\
Examples:
  coordinator import access.log > replay.jsonl
  zcat -f access.log.2.gz access.log.1 | coordinator import - > replay.jsonl
  coordinator import --log-format \\
    '$msec $request_time \"$request\" $status $connection $connection_requests' \\
    access.log > replay.jsonl
  coordinator import grpc://127.0.0.1:50051 > api.binpb
  coordinator import --bodies skip --from 2026-11-24T12:00:00Z \\
    --to 2026-11-24T12:10:00Z session.har > replay.jsonl

The replay goes to standard output, what was read and left out to standard
error. A gRPC server that has reflection switched on gives the descriptor set
that request.grpc.descriptors names; SSL_CERT_FILE names the authority of a
private certificate. Exit codes: 0 if anything was written, 2 if the log, the
server or the command line cannot be used, 4 if the output cannot be written.";

/// `coordinator import`, as typed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// Format of the log: combined (nginx and Apache, also common), json, har, goreplay,
    /// vegeta-targets or vegeta-results [default: the one that it begins like]
    #[arg(long, value_name = "FORMAT", conflicts_with = "log_format")]
    pub format: Option<TrafficFormat>,
    /// Format of a text log: nginx's log_format or Apache's LogFormat, as the server's
    /// configuration has it
    #[arg(long, value_name = "TEXT", value_parser = LogFormat::parse)]
    pub log_format: Option<LogFormat>,
    /// What becomes of a request whose body the log does not have: refuse the log, skip the
    /// request, or send it with an empty body [default: refuse]
    #[arg(long, value_name = "refuse|skip|empty")]
    pub bodies: Option<MissingBody>,
    /// Leave out what arrived before this time, such as 2026-11-24T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = instant_ns)]
    pub from: Option<i64>,
    /// Leave out what arrived at this time or later
    #[arg(long, value_name = "TIME", value_parser = instant_ns)]
    pub to: Option<i64>,
    /// Take only requests with these methods
    #[arg(long, value_name = "METHOD,…", value_delimiter = ',')]
    pub methods: Vec<String>,
    /// Take only requests for these hosts; a host without a port stands for every port
    #[arg(long, value_name = "HOST[:PORT],…", value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// Requests per second of vegeta's targets, which have no instants, such as 100/s
    #[arg(long, value_name = "RATE", value_parser = interval_ns)]
    pub rate: Option<u64>,
    /// Refuse the log if a line cannot be parsed, instead of leaving the line out
    #[arg(long)]
    pub strict: bool,
    /// Memory in which requests are put in order of arrival, in MiB; servers log a request when it
    /// ends [default: 512]
    #[arg(
        long,
        value_name = "MIB",
        value_parser = clap::value_parser!(u32).range(1..=1_048_576),
    )]
    pub sort_memory: Option<u32>,
    /// Take only these services of a gRPC server, such as shop.v1.Carts [default: all]
    #[arg(long, value_name = "SERVICE,…", value_delimiter = ',')]
    pub services: Vec<String>,
    /// The log, also packed by gzip; - is standard input; or a gRPC server: grpc://HOST:PORT, with
    /// TLS grpcs://HOST:PORT
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
}

fn instant_ns(text: &str) -> Result<i64, &'static str> {
    let stamp = Stamp::parse(text.as_bytes()).filter(|stamp| stamp.has_zone);
    stamp.map(|stamp| stamp.since_1970_ns).ok_or(
        "write a time with its zone, such as 2026-11-24T12:00:00Z or 24/Nov/2026:12:00:00 +0000",
    )
}

fn interval_ns(text: &str) -> Result<u64, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    let interval_ns = 1e9 / rate.as_per_second();
    if interval_ns.is_finite() {
        return Ok(interval_ns as u64);
    }
    Err("0 is not a rate; write a value above 0, such as 100/s".to_owned())
}

/// Reads a log, and prints a replay; or asks a server, and prints its descriptor set.
///
/// # Errors
/// Standard output cannot be written.
pub fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    let server = args.log.to_str().filter(|log| GrpcServer::is_meant_by(log));
    match server.map(str::parse::<GrpcServer>) {
        Some(Ok(server)) => {
            if let Some(flag) = flag_of_logs(args) {
                terminal::say(format_args!(
                    "{flag} is for logs, and {} is a server; remove it",
                    args.log.display()
                ));
                return Ok(Exit::Usage);
            }
            return reflecting::reflect(&server, &args.services);
        }
        Some(Err(why)) => {
            terminal::say(why);
            return Ok(Exit::Usage);
        }
        None => {}
    }
    if !args.services.is_empty() {
        terminal::say(
            "--services are those of a gRPC server, and this is a log; remove them, or write \
             grpc://HOST:PORT",
        );
        return Ok(Exit::Usage);
    }
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        terminal::say("--from is not before --to, so that nothing is left; exchange them");
        return Ok(Exit::Usage);
    }
    let (name, input) = match open(&args.log) {
        Ok(opened) => opened,
        Err(why) => {
            terminal::say(why);
            return Ok(Exit::Usage);
        }
    };
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock());
    match traffic::import(input, &rules(args), &mut output) {
        Ok(summary) => Ok(conclude(&name, &summary)),
        // The reader has seen enough.
        Err(ImportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Passed),
        Err(error @ ImportError::Write(_)) => Err(error).context(name),
        Err(error) => {
            terminal::say(format_args!("{name}: {error}"));
            Ok(Exit::Usage)
        }
    }
}

/// The first flag that only means something for a log, if one is given.
fn flag_of_logs(args: &ImportArgs) -> Option<&'static str> {
    let flags = [
        ("--format", args.format.is_some()),
        ("--log-format", args.log_format.is_some()),
        ("--bodies", args.bodies.is_some()),
        ("--sort-memory", args.sort_memory.is_some()),
        ("--from", args.from.is_some()),
        ("--to", args.to.is_some()),
        ("--methods", !args.methods.is_empty()),
        ("--hosts", !args.hosts.is_empty()),
        ("--rate", args.rate.is_some()),
        ("--strict", args.strict),
    ];
    let is_given = |(flag, is_given)| bool::then_some(is_given, flag);
    flags.into_iter().find_map(is_given)
}

fn rules(args: &ImportArgs) -> ImportRules {
    ImportRules {
        format: args.format,
        log_format: args.log_format.clone(),
        bodies: args.bodies.unwrap_or(MissingBody::Refuse),
        from_ns: args.from,
        to_ns: args.to,
        methods: args.methods.clone(),
        hosts: args.hosts.clone(),
        is_strict: args.strict,
        interval_ns: args.rate,
        sort_bytes: (args.sort_memory.unwrap_or(SORT_MEMORY_MIB) as usize).saturating_mul(MIB),
        secret_headers: &SECRET_HEADERS,
    }
}

/// The log's name in messages, and its bytes.
fn open(path: &Path) -> Result<(String, Box<dyn Read>), String> {
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(("standard input".to_owned(), Box::new(io::stdin().lock())));
    }
    let name = path.display().to_string();
    let unreadable = |error: io::Error| {
        let why = in_words(&error);
        format!("{name}: {why}; write the path of a log, such as /var/log/nginx/access.log")
    };
    let file = File::open(path).map_err(unreadable)?;
    let is_folder = file.metadata().map_err(unreadable)?.is_dir();
    if is_folder {
        return Err(unreadable(io::Error::from(ErrorKind::IsADirectory)));
    }
    Ok((name, Box::new(file)))
}

fn conclude(name: &str, summary: &ImportSummary) -> Exit {
    terminal::say(summary);
    if summary.written > 0 {
        return Exit::Passed;
    }
    terminal::say(format_args!(
        "{name}: no request is left; the reasons above say which flags or which --log-format to \
         change"
    ));
    Exit::Usage
}
