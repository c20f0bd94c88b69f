"""The tools and their command lines. To add one, add a function: it gets a scenario and a call, and returns a command line, or
None where the tool cannot do the scenario."""

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from scenarios import CONNECTIONS as C

ROOT = Path(__file__).resolve().parents[2]
CLOSE = "-H 'Connection: close' "


@dataclass(frozen=True)
class Call:
    """One run of a tool."""

    nginx: object
    seconds: int
    # A folder for what the tool needs or leaves.
    scratch: Path

    def url(self, s, port=None):
        scheme = "https" if s.tls else "http"
        return f"{scheme}://127.0.0.1:{self.nginx.ports[port or s.port]}{s.path}"

    @property
    def cert(self):
        return self.nginx.file("client.pem")

    @property
    def key(self):
        return self.nginx.file("client.key")


SUITES = '["TLS_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"]'


def plan(s, call, *, port=None, verify="once", cheap=False, waits=False):
    """Our command line; the plan goes to a file."""
    tls = [f'verify = "{verify}"', f"cipher_suites = {SUITES}", f'ca = "{call.nginx.file("ca.pem")}"']
    tls += ['groups = ["secp256r1"]', 'key_exchange = "cheap"'] if cheap else ['groups = ["X25519"]']
    tls += ['resumption = "always"'] if s.resumes else []
    tls += [f'client_certificates = [{{ cert = "{call.cert}", key = "{call.key}" }}]'] if s.mutual else []
    connection = []
    if s.handshake_only:
        connection = ["requests = 0", f"confirm = {str(waits).lower()}"]
    elif s.close:
        connection = ["requests = 1", f'close = "{"server" if waits else "fin"}"']
    elif s.http2:
        connection = ['http = "2"']
    text = f'target.url = "{call.url(s, port)}"\nconnection = {{ {", ".join(connection)} }}\n'
    text += f"tls = {{ {', '.join(tls)} }}\n" if s.tls else ""
    text += f'load = {{ connections = {C}, duration = "{call.seconds}s" }}\n'
    file = call.scratch / "plan.toml"
    file.write_text(text)
    return f"{built('coordinator')} start --local --agents 1 --quiet --output {call.scratch}/runs {file}"


def cannonade(s, call):
    return plan(s, call)


def cannonade_full(s, call):
    """Checks the certificate chain at every handshake, the default of a plan."""
    if s.opens and not s.resumes:
        return plan(s, call, verify="full")


def cannonade_none(s, call):
    """Checks nothing."""
    if s.opens and not s.resumes:
        return plan(s, call, verify="none")


def cannonade_cheap(s, call):
    """Checks nothing, and has the cheapest key exchange."""
    if s.p256_port:
        return plan(s, call, port=s.p256_port, verify="none", cheap=True)


def cannonade_waits(s, call):
    """Waits for the server's end of each connection, which for a handshake alone confirms it."""
    if s.opens:
        return plan(s, call, waits=True)


def limit(s, call, more=""):
    """About the least a client can do: benches/src/bin/limit."""
    if s.http2:
        return None
    kind = "--handshake-only " if s.handshake_only else "--close " if s.close else ""
    more += "--resume " if s.resumes else ""
    more += f"--identity {call.cert},{call.key} " if s.mutual else ""
    return f"{built('limit')} --connections {C} --seconds {call.seconds} {kind}{more}{call.url(s)}"


def limit_none(s, call):
    """As limit, without a check of the handshake's signature."""
    if s.opens and not s.resumes:
        return limit(s, call, "--check nothing ")


def wrk(s, call):
    if not (s.http2 or s.mutual or s.handshake_only):
        return f"wrk -t1 -c{C} -d{call.seconds}s {CLOSE * s.close}{call.url(s)}"


def ab(s, call):
    if not (s.http2 or s.handshake_only or s.resumes):
        tls = "-f TLS1.2 " if s.tls == "1.2" else ""
        identity = f"-E {call.nginx.file('client-both.pem')} " if s.mutual else ""
        return f"ab -q -d -S -c{C} -t{call.seconds} -n3000000 {tls}{'' if s.close else '-k '}{identity}{call.url(s)}"


def h2load(s, call):
    if not (s.mutual or s.handshake_only):
        return f"h2load -t1 -c{C} -m1 -D{call.seconds} {'' if s.http2 else '--h1 '}{CLOSE * s.close}{call.url(s)}"


def oha(s, call):
    """Checks no signature."""
    if not s.handshake_only:
        identity = f"--cert {call.cert} --key {call.key} " if s.mutual else ""
        flags = "--disable-keepalive " * s.close + "--http2 " * s.http2
        return f"oha --no-tui --insecure -c {C} -z {call.seconds}s {flags}{identity}{call.url(s)}"


def hey(s, call):
    if not (s.mutual or s.handshake_only or s.resumes):
        return f"hey -z {call.seconds}s -c {C} {'-disable-keepalive ' * s.close}{'-h2 ' * s.http2}{call.url(s)}"


def fortio(s, call):
    if not (s.handshake_only or s.resumes):
        identity = f"-cert {call.cert} -key {call.key} " if s.mutual else ""
        flags = "-h2 " * s.http2 + "-connection-reuse 1:1 " * s.close
        return f"fortio load -quiet -k -c {C} -qps 0 -t {call.seconds}s {flags}-httpbufferkb 2048 {identity}{call.url(s)}"


def bombardier(s, call):
    if not (s.handshake_only or s.resumes):
        identity = f"--cert={call.cert} --key={call.key} " if s.mutual else ""
        return f"bombardier -k -c {C} -d {call.seconds}s -p r {'--http2' if s.http2 else '--fasthttp'} {CLOSE * s.close}{identity}{call.url(s)}"


def vegeta(s, call):
    if not s.handshake_only:
        words = f"-insecure -rate=0 -max-workers={C} -workers={C} -duration={call.seconds}s -output=/dev/null -max-body=0"
        words += f" -keepalive={str(not s.close).lower()} -http2={str(s.http2).lower()}" + " -session-tickets" * s.resumes
        words += f" -cert={call.cert} -key={call.key}" if s.mutual else ""
        return ["sh", "-c", f"echo GET {call.url(s)} | exec vegeta attack {words}"]


def rewrk(s, call):
    if not (s.opens or s.mutual):
        return f"rewrk -t 1 -c {C} -d {call.seconds}s {'--http2 ' * s.http2}-h {call.url(s)}"


def tls_perf(s, call):
    """Ends its connections by a reset."""
    if s.handshake_only:
        suite = "ECDHE-RSA-AES256-GCM-SHA384" if s.tls == "1.2" else "TLS_AES_256_GCM_SHA384"
        tickets = "on" if s.resumes else "off"
        return f"tls-perf -q -l {C} -t 1 -T {call.seconds} --tls {s.tls} -c {suite} --tickets {tickets} 127.0.0.1 {call.nginx.ports[s.port]}"


def s_time(s, call):
    """One connection at a time: it pays a wake-up for every message."""
    if s.handshake_only:
        kind = "-reuse" if s.resumes else "-new"
        tls = "-tls1_2" if s.tls == "1.2" else ""
        return f"openssl s_time -connect 127.0.0.1:{call.nginx.ports[s.port]} -time {call.seconds} {kind} {tls}"


FUNCTIONS = [
    limit, limit_none, cannonade, cannonade_full, cannonade_none, cannonade_cheap, cannonade_waits,
    wrk, ab, h2load, oha, hey, fortio, bombardier, vegeta, rewrk, tls_perf, s_time,
]
TOOLS = {function.__name__.replace("_", "-"): function for function in FUNCTIONS}
OWN = {"limit": "limit", "cannonade": "coordinator"}


def command(name, s, call):
    """The words of the command line, or None."""
    line = TOOLS[name](s, call)
    return shlex.split(line) if isinstance(line, str) else line


def present(name):
    """Whether the tool is installed, or built."""
    for prefix, binary in OWN.items():
        if name.split("-")[0] == prefix:
            return built(binary) is not None
    return shutil.which("openssl" if name == "s-time" else name) is not None


def built(binary):
    """Path of a binary of this repository: named by CANNONADE or LIMIT, else as cargo build --release leaves it."""
    named = os.environ.get("CANNONADE" if binary == "coordinator" else "LIMIT")
    path = Path(named) if named else target_folder() / "release" / binary
    return str(path) if path.exists() else None


def target_folder():
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def version(name):
    """What the tool says of itself, for the head of a table; nothing where it does not."""
    words = {"oha": ["oha", "--version"], "h2load": ["h2load", "--version"], "fortio": ["fortio", "version"], "ab": ["ab", "-V"],
             "wrk": ["wrk", "-v"], "rewrk": ["rewrk", "--version"]}.get(name)
    if not words:
        return None
    said = subprocess.run(words, capture_output=True, text=True, timeout=10)
    first = (said.stdout + said.stderr).strip().splitlines()
    return first[0] if first else None
