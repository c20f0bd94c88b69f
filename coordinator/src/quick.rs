//! `coordinator quick`: one URL without a plan file, with the flags that users of ab, hey, oha and
//! curl know. Writes the plan that the flags mean, and continues as `start --local` does.

mod flags;
mod other_tools;
mod plan_text;
mod urls;

pub(crate) use flags::in_words_of;
pub(crate) use other_tools::{with_cure, with_two_dashes};

use crate::exit::Exit;
use crate::front::{self, ResultPrinter};
use crate::job::ResultRules;
use crate::launch::{AgentSource, Hosting, RunCommands, StartRequest};
use crate::local::LocalOptions;
use crate::own_agents;
use crate::plan_file::Folder;
use crate::terminal;
use clap::Args;
use plan::{Campaign, Plan};
use report::Format;
use run_folder::RunOrigin;
use std::path::PathBuf;

/// Default concurrency.
const CONCURRENCY: u32 = 50;

/// Most connections, as in a plan.
const CONNECTIONS_MAX: u32 = 10_000_000;

/// Most requests: more would take years.
const REQUESTS_MAX: u64 = 1_000_000_000_000_000;

/// Default number of requests.
const REQUESTS: u64 = 200;

const DIFFERENCES: &str = "\
Differences from other tools:
  -q  is the total rate of the run. It makes an open loop: requests are due at
      fixed instants, however slow the answers are, and response times count
      from these instants. hey's -q is a rate for each of its -c workers, which
      wait for answers.
  -c  above -n is refused, as in ab and hey (not with -q). Its default is at most
      -n.
  -z  takes precedence over -n, as in hey. Requests that have begun by then may
      finish, and they count.
  -d  keeps the method GET, as in hey and oha. curl would send a POST; for that
      write -m POST.
  -k  checks no certificate, as in curl. ab's -k keeps connections alive, which
      happens anyway.
  Several URLs are asked for in turn; they must have one host and port.
  Redirects are not followed. A status of 400 or more is an error. Nothing is
  saved without --output. Only loopback and private addresses may be loaded;
  --allow opens more. The verdict is printed. It changes the exit code only if it
  is \"invalid\" (3). If every request failed, the exit code is 1; with
  --fail-on-error also if one did.";

/// `coordinator quick`, as typed.
#[derive(Debug, Args)]
#[command(after_help = DIFFERENCES)]
pub struct QuickArgs {
    /// Number of requests in total [default: 200]
    #[arg(
        short = 'n',
        long,
        allow_negative_numbers = true,
        value_name = "N",
        value_parser = request_count,
    )]
    pub requests: Option<u64>,
    /// Connections that are kept busy [default: 50]; with -q: most open connections [default:
    /// 10000]
    #[arg(
        short = 'c',
        long,
        allow_negative_numbers = true,
        value_name = "N",
        value_parser = connection_count,
    )]
    pub connections: Option<u32>,
    /// How long to send, such as 30s or 5m, instead of a number of requests
    #[arg(
        short = 'z',
        long,
        value_name = "DURATION",
        allow_negative_numbers = true
    )]
    pub duration: Option<String>,
    /// Requests per second in total, at even intervals, however slow the answers are
    #[arg(
        short = 'q',
        long,
        value_name = "PER_SECOND",
        allow_negative_numbers = true
    )]
    pub rate: Option<String>,
    /// Request method
    #[arg(
        short = 'm',
        long,
        visible_short_alias = 'X',
        value_name = "METHOD",
        default_value = "GET"
    )]
    pub method: String,
    /// Header field, such as "Accept-Language: de"; can be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Request body; {seq}, {user} and {random} are replaced
    #[arg(short = 'd', long, value_name = "TEXT", conflicts_with = "body_file")]
    pub body: Option<String>,
    /// File with the request body
    #[arg(short = 'D', long, value_name = "FILE")]
    pub body_file: Option<String>,
    /// Content-Type of the body
    #[arg(short = 'T', long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// Accept header
    #[arg(short = 'A', long, value_name = "TYPES")]
    pub accept: Option<String>,
    /// User and password for basic authentication
    #[arg(
        short = 'a',
        long,
        visible_short_alias = 'u',
        value_name = "USER:PASSWORD"
    )]
    pub auth: Option<String>,
    /// Host header, if it is not the URL's host; the TLS server name stays that of the URL
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Connect to these addresses in turn, instead of resolving the URL's host
    #[arg(long, value_name = "ADDRESS[:PORT],…", value_delimiter = ',')]
    pub connect_to: Vec<String>,
    /// Time-out for each of: connect, handshake, response [default: 5s, 5s, 30s]
    #[arg(
        short = 't',
        long,
        value_name = "DURATION",
        allow_negative_numbers = true
    )]
    pub timeout: Option<String>,
    /// Open a new connection for every request
    #[arg(long, visible_alias = "disable-keepalive")]
    pub no_keepalive: bool,
    /// Do not check the server's certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// PEM file with the trusted roots [default: those of the platform]
    #[arg(long, visible_alias = "cacert", value_name = "FILE")]
    pub ca: Option<String>,
    /// PEM file with the client's certificate
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<String>,
    /// PEM file with the private key of --cert
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<String>,
    /// Offer only these TLS versions: 1.2, 1.3 [default: both]
    #[arg(long, value_name = "VERSION,…", value_delimiter = ',')]
    pub tls_version: Vec<String>,
    /// Status codes that are no errors, such as 200-299 or 404 [default: 100-399]
    #[arg(long, value_name = "STATUS,…", value_delimiter = ',')]
    pub expect: Vec<String>,
    /// Share of new connections that offer a TLS session, such as 0.5 or 50% [default: 0]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub resumption: Option<String>,
    /// Use HTTP/2: by ALPN over TLS, by prior knowledge over plain TCP
    #[arg(long, visible_alias = "h2")]
    pub http2: bool,
    /// Requests at the same time on each HTTP/2 connection [default: 1]
    #[arg(
        long,
        value_name = "N",
        requires = "http2",
        value_parser = clap::value_parser!(u32).range(1..=10_000),
    )]
    pub streams: Option<u32>,
    /// Print the result as JSON instead of the summary: the same as result.json of a run folder
    #[arg(long)]
    pub json: bool,
    /// Format of standard output: json, csv (one row per second), junit, markdown, html, brief or
    /// console
    #[arg(short = 'o', long, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<Format>,
    /// Print the whole summary: phases, histogram, TLS and agents
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// Folder in which a run folder is made [default: nothing is saved]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// Show progress on the whole screen; the result is printed when it is given back
    #[arg(long, conflicts_with = "quiet")]
    pub tui: bool,
    /// Exit with 1 if any request failed
    #[arg(long)]
    pub fail_on_error: bool,
    /// Number of agents, which share this machine's CPUs
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000),
    )]
    pub agents: u32,
    /// Load threads of each agent [default: one per CPU it gets]
    #[arg(
        long,
        alias = "cpus",
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1024),
    )]
    pub workers: Option<u32>,
    /// Also allow load on this host, address or network; otherwise only on loopback and private
    /// addresses; can be repeated
    #[arg(long, value_name = "CIDR|HOST[:PORT]", value_parser = own_agents::parse_allowed)]
    pub allow: Vec<String>,
    /// Go on where an agent's preflight would refuse the plan, and mark the run
    #[arg(long)]
    pub force: bool,
    /// File with a URL on each line, which are asked for in turn; # begins a comment
    #[arg(long, visible_alias = "urls-from-file", value_name = "FILE")]
    pub urls: Option<PathBuf>,
    /// The URLs to load.
    #[arg(
        value_name = "URL",
        required_unless_present = "urls",
        help = "URL to load, such as https://10.0.0.11/path; several are asked for in turn"
    )]
    pub url: Vec<String>,
}

fn request_count(text: &str) -> Result<u64, String> {
    let count = text.parse().ok();
    let count = count.filter(|count| (1..=REQUESTS_MAX).contains(count));
    count.ok_or_else(|| format!("write a whole number from 1 to {REQUESTS_MAX}"))
}

fn connection_count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok();
    let count = count.filter(|count| (1..=CONNECTIONS_MAX).contains(count));
    count.ok_or_else(|| format!("write a whole number from 1 to {CONNECTIONS_MAX}"))
}

/// Runs what the flags ask for.
///
/// # Errors
/// See [`front::run`].
pub fn quick(args: QuickArgs) -> anyhow::Result<Exit> {
    let (plan, text) = match plan_of(&args) {
        Ok(planned) => planned,
        Err(problems) => {
            problems.iter().for_each(terminal::say);
            return Ok(Exit::Usage);
        }
    };
    let campaign = Campaign::from_plan(plan.clone());
    if let Some(lack) = own_agents::lack(&campaign, true) {
        terminal::say(lack);
        return Ok(Exit::Usage);
    }
    let of_requests = plan
        .notes()
        .iter()
        .filter_map(|note| flags::note_of_request(note));
    remarks(&args)
        .into_iter()
        .chain(of_requests)
        .for_each(|remark| terminal::say(format_args!("note: {remark}")));
    let request = StartRequest {
        campaign,
        plan_text: text,
        origin: RunOrigin::default(),
        hosting: Hosting {
            agents: args.agents,
            source: AgentSource::Local(LocalOptions {
                workers: args.workers,
                allow: args.allow,
                ..LocalOptions::default()
            }),
            histograms_by_agent: false,
            metrics: None,
            otlp: None,
            dashboard: None,
            commands: RunCommands::none(),
        },
        output: args.output,
        run_name: None,
        resume: None,
        force: args.force,
        rules: ResultRules {
            strict: false,
            fail_on_error: args.fail_on_error,
        },
    };
    let view = match args.verbose {
        true => Format::Console,
        false => Format::Brief,
    };
    let format = args.json.then_some(Format::Json).or(args.format);
    let printer = ResultPrinter::new(format, view, args.quiet, None)?;
    front::run(&request, printer, args.tui)
}

/// Returns the plan that the flags mean, and its text for the record; or every problem, by flag.
fn plan_of(args: &QuickArgs) -> Result<(Plan, String), Vec<String>> {
    let urls = urls::of_flags(args).map_err(|problem| vec![problem])?;
    let (text, mut problems) = plan_text::write(args, &urls);
    let plan = Plan::parse(&text, &mut Folder(PathBuf::new()));
    problems.extend(plan.as_ref().err().into_iter().flat_map(flags::problems));
    match plan {
        Ok(plan) if problems.is_empty() => Ok((plan, plan::mask_secrets(&text))),
        _ => Err(problems),
    }
}

/// Notes on what a user of another tool might not expect of these flags.
fn remarks(args: &QuickArgs) -> Vec<String> {
    let mut remarks = Vec::new();
    if let (Some(requests), Some(_)) = (args.requests, &args.duration) {
        remarks.push(format!("-n {requests} is ignored because of -z"));
    }
    if let Some(body) = &args.body {
        remarks.extend(other_meaning(body));
    }
    let has_tls = |url: &String| !url.starts_with("http:");
    if args.insecure && args.urls.is_none() && !args.url.iter().any(has_tls) {
        remarks.push("-k is ignored: it is about certificates, and http:// has none".to_owned());
    }
    if args.method == "GET" && (args.body.is_some() || args.body_file.is_some()) {
        remarks.push("the body is sent with GET; for a POST write -m POST".to_owned());
    }
    remarks
}

/// Says what another tool would have taken the text of -d for.
fn other_meaning(body: &str) -> Option<String> {
    if let Some(file) = body.strip_prefix('@') {
        return Some(format!(
            "the body is the text {body:?}; for the content of the file write -D {file}"
        ));
    }
    plan::parse_duration(body)
        .is_ok()
        .then(|| format!("the body is the text {body:?}; to load for so long write -z {body}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use plan::{Arrivals, End, Shape};

    fn typed(line: &[&str]) -> Result<Cli, clap::Error> {
        let line = ["coordinator", "quick"].iter().chain(line);
        Cli::from_words(line.map(Into::into).collect())
    }

    fn args(line: &[&str]) -> QuickArgs {
        let cli = typed(line).unwrap_or_else(|error| panic!("{error}"));
        let Command::Quick(args) = cli.command else {
            panic!("{line:?} is quick")
        };
        *args
    }

    fn planned(line: &[&str]) -> Plan {
        plan_of(&args(line))
            .unwrap_or_else(|problems| panic!("{line:?}: {problems:?}"))
            .0
    }

    fn refused(line: &[&str]) -> Vec<String> {
        plan_of(&args(line)).expect_err("it is to be refused")
    }

    const URL: &str = "https://10.0.0.1/a?b=c";

    #[test]
    fn amounts_follow_the_other_tools() {
        let closed = |connections| Shape::Closed {
            connections,
            max_connections: None,
            think_time: None,
        };
        let open = |rate: &str, max_connections| Shape::Open {
            rate: rate.parse().unwrap(),
            arrivals: Arrivals::Even,
            max_connections,
            users: None,
        };
        let seconds = |seconds| End::Duration(std::time::Duration::from_secs(seconds));
        for (line, shape, end) in [
            (&[URL][..], closed(50), End::Requests(200)),
            (
                &["-n", "1000", "-c", "7", URL],
                closed(7),
                End::Requests(1000),
            ),
            (&["-n", "10", URL], closed(10), End::Requests(10)),
            (&["-z", "10s", "-n", "5", URL], closed(50), seconds(10)),
            (&["-z", "90", URL], closed(50), seconds(90)),
            (&["-z", "1m30s", "-c", "3", URL], closed(3), seconds(90)),
            (
                &["-q", "100", "-z", "2s", URL],
                open("100/s", 10_000),
                seconds(2),
            ),
            (
                &["-q", "0.5", "-n", "4", "-c", "9", URL],
                open("0.5/s", 9),
                End::Requests(4),
            ),
            (
                &["-q", "100/m", URL],
                open("100/m", 10_000),
                End::Requests(200),
            ),
        ] {
            let plan = planned(line);
            assert_eq!(
                (&plan.load().shape, plan.load().end),
                (&shape, end),
                "{line:?}"
            );
        }
    }

    #[test]
    fn request_is_what_the_flags_say() {
        let body = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(body.path(), "from a file").unwrap();
        let path = body.path().to_str().unwrap();
        let plan = planned(&[
            "-X",
            "PUT",
            "-H",
            "X-A: one",
            "-H",
            "x-a:two",
            "-H",
            "Empty:",
            "-T",
            "text/plain",
            "-A",
            "*/*",
            "-a",
            "me:se:cret",
            "--host",
            "other.test",
            "-D",
            path,
            "--connect-to",
            "10.0.0.2,10.0.0.3:444",
            "--no-keepalive",
            "-t",
            "3",
            URL,
        ]);
        let request = &plan.requests()[0];
        let headers: Vec<String> = request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.reveal()))
            .collect();
        assert_eq!(
            headers,
            [
                "host: other.test",
                "accept: */*",
                "content-type: text/plain",
                "authorization: Basic bWU6c2U6Y3JldA==",
                "X-A: one",
                "X-A: two",
                "Empty: "
            ]
        );
        assert_eq!(request.method, "PUT");
        assert!(matches!(
            &request.body,
            Some(plan::Body::File(file)) if file.content[..] == *b"from a file"
        ));
        assert_eq!(plan.target().addresses.len(), 2);
        assert_eq!(
            plan.connection().requests,
            plan::RequestsPerConnection::Limited(std::num::NonZeroU32::MIN)
        );
        assert_eq!(
            plan.connection().timeouts.longest(),
            std::time::Duration::from_secs(12)
        );
    }

    #[test]
    fn tls_is_checked_unless_told_otherwise() {
        let verify = |line: &[&str]| {
            planned(line)
                .tls()
                .map(|tls| (tls.verify, tls.versions.len()))
        };
        assert_eq!(verify(&[URL]), Some((plan::Verify::Full, 2)));
        assert_eq!(
            verify(&["-k", "--tls-version", "1.2", URL]),
            Some((plan::Verify::None, 1))
        );
        assert_eq!(verify(&["-k", "http://10.0.0.1/"]), None);
    }

    #[test]
    fn sessions_are_offered_by_the_share_asked_for() {
        let resumption = |share: &str| {
            let plan = planned(&["--resumption", share, URL]);
            plan.tls().map(|tls| tls.resumption)
        };
        let offered = |share| {
            Some(plan::Resumption::Share {
                share,
                kind: plan::ResumptionKind::Any,
            })
        };
        assert_eq!(resumption("0.5"), offered(0.5));
        assert_eq!(resumption("25%"), offered(0.25));
        assert_eq!(resumption("1"), offered(1.0));
        assert_eq!(resumption("0"), Some(plan::Resumption::Never));
    }

    #[test]
    fn refusals_of_the_command_line_name_a_cure() {
        for (line, cure) in [
            (
                &["-c", "-1", URL][..],
                "write a whole number from 1 to 10000000",
            ),
            (&["-n", "10k", URL], "write a whole number from 1 to "),
            (&["-w", "5", URL], "--workers N for load threads"),
            (&["-w"], "--workers N for load threads"),
            (&["-L", URL], "follows no redirects"),
            (&["-disable-compression", URL], "nothing is compressed"),
            (&["-C", "a=b", URL], "-H \"Cookie: NAME=VALUE\""),
            (&["--latency", URL], "percentiles are printed anyway"),
            (&["--output-format", "json", URL], "write -o FORMAT"),
            (&["--data", "x", URL], "write -d TEXT"),
            (&["-keepalive=false", URL], "--no-keepalive opens one"),
            (&["--iterations", "5", URL], "write -n N"),
        ] {
            let error = typed(line).unwrap_err().to_string();
            assert!(error.contains(cure), "{line:?}: {error}");
        }
    }

    #[test]
    fn words_of_hey_with_one_dash_are_not_taken_for_letters() {
        let line = ["-h2", "-host", "a.test", "-cpus", "1", "-disable-keepalive"];
        let args = args(&[&line[..], &[URL]].concat());
        assert!(args.http2 && args.no_keepalive && args.body.is_none());
        assert_eq!(
            (args.host.as_deref(), args.workers),
            (Some("a.test"), Some(1))
        );
    }

    #[test]
    fn words_of_vegeta_with_one_dash_are_flags_too() {
        let line = [
            "-rate=10",
            "-duration",
            "2s",
            "-timeout=3s",
            "-insecure",
            "-header",
            "A: b",
        ];
        let args = args(&[&line[..], &[URL]].concat());
        assert_eq!(
            (
                args.rate.as_deref(),
                args.duration.as_deref(),
                args.timeout.as_deref()
            ),
            (Some("10"), Some("2s"), Some("3s"))
        );
        assert!(args.insecure && args.headers == ["A: b"] && args.body.is_none());
    }

    #[test]
    fn several_urls_are_requests_of_one_target() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "# two pages\nhttps://10.0.0.1/a\n\n https://10.0.0.1/a?b=c # slow\n",
        )
        .unwrap();
        let path = file.path().to_str().unwrap();
        let plan = planned(&["-m", "HEAD", "--urls", path, URL]);
        let requests = plan.requests().iter();
        let requests: Vec<_> = requests
            .map(|request| (request.name.as_str(), request.weight))
            .collect();
        assert_eq!(requests, [("HEAD /a", 2), ("HEAD /a (2)", 1)]);
        let paths = plan.canonical_text().matches("path = \"/a?b=c\"").count();
        assert_eq!(paths, 1, "{}", plan.canonical_text());
        assert_eq!(plan.target().url.to_string(), URL);
        let found = refused(&[URL, "https://10.0.0.2/"]);
        assert!(found[0].contains("has another host than"), "{found:?}");
        let found = refused(&["--urls", "/none/such"]);
        assert!(
            found[0].starts_with("--urls: \"/none/such\": no such"),
            "{found:?}"
        );
    }

    #[test]
    fn a_body_that_means_something_else_elsewhere_is_remarked() {
        for (body, cure) in [("@file", "write -D file"), ("30s", "write -z 30s")] {
            let remarks = remarks(&args(&["-m", "POST", "-d", body, URL]));
            assert!(
                remarks.iter().any(|remark| remark.contains(cure)),
                "{remarks:?}"
            );
        }
        assert!(remarks(&args(&["-m", "POST", "-d", "text", URL])).is_empty());
    }

    #[test]
    fn problems_name_the_flag() {
        for (line, problems) in [
            (
                &["--resumption", "half", "--expect", "fine", URL][..],
                &[
                    "--resumption: \"half\" is not a share; write such as 0.5 or 50%",
                    "--expect: \"fine\" is not",
                ][..],
            ),
            (
                &["--resumption", "-1", URL],
                &["--resumption: \"-1\" is not a share"],
            ),
            (&["-z", "-5", URL], &["-z: \"-5\" is negative"]),
            (
                &["10.0.0.1"][..],
                &["URL: \"10.0.0.1\" has no scheme; write \"https://10.0.0.1\""][..],
            ),
            (
                &["-n", "5", "-c", "6", URL],
                &[
                    "-c: 6 is more than -n 5: the rest would have nothing to do; write -c 5, or \
                     leave it out",
                ],
            ),
            (&["-z", "soon", URL], &["-z: \"soon\" is not a duration"]),
            (
                &["-q", "fast", "-t", "0", URL],
                &["-t: \"0s\" is out of range", "-q: \"fast\" is not a rate"],
            ),
            (&["-m", "get", URL], &["-m: \"get\" is not GET"]),
            (
                &[
                    "-H",
                    "nothing",
                    "-H",
                    "a b: c",
                    "-H",
                    "Connection: close",
                    URL,
                ],
                &[
                    "-H: \"nothing\" has no colon; write it as \"name: value\"",
                    "-H a b: is not a header name",
                    "-H Connection: follows from",
                ],
            ),
            (
                &["-H", "accept: a", "-A", "b", URL],
                &["-A: given beside -H accept; keep one of them"],
            ),
            (
                &["-a", "me", URL],
                &["-a: has no colon; write it as USER:PASSWORD"],
            ),
            (
                &["-D", "/none/such", URL],
                &["-D: \"/none/such\" cannot be read: no such file or folder"],
            ),
            (
                &["--ca", "/none/such", URL],
                &["--ca: \"/none/such\" cannot be read: no such file or folder"],
            ),
            (
                &["--cert", "/none/c", "--key", "/none/k", URL],
                &[
                    "--cert: \"/none/c\" cannot be read",
                    "--key: \"/none/k\" cannot be read",
                ],
            ),
            (
                &["--connect-to", "there", URL],
                &["--connect-to: \"there\" is not an address"],
            ),
            (
                &["--tls-version", "1.1", URL],
                &["--tls-version: \"1.1\" is deprecated"],
            ),
        ] {
            let found = refused(line);
            assert_eq!(found.len(), problems.len(), "{line:?}: {found:?}");
            for (found, problem) in found.iter().zip(problems) {
                assert!(
                    found.starts_with(problem),
                    "{line:?}: {found:?} does not begin with {problem:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_saved_holds_no_password() {
        let line = [
            "-a",
            "me:secret",
            "-H",
            "Cookie: session=secret",
            "-H",
            "X: shown",
            URL,
        ];
        let (plan, text) = plan_of(&args(&line)).unwrap();
        assert!(plan.canonical_text().contains("session=secret"));
        assert!(
            !text.contains("secret") && !text.contains("bWU6") && text.contains("shown"),
            "{text}"
        );
    }
}
