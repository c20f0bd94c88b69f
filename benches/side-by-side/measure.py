"""One run of one tool: CPU of its processes and operations by nginx's account, both read in a window inside the run, so that
start-up and the printing of results do not count."""

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")

# How tools tell of errors; the number of each is added up.
ERRORS = [
    r"Socket errors: (.*)", r"Non-2xx[^:]*: *(\d+)", r"Failed requests: +(\d+)", r"(\d+) failed, (\d+) errored",
    r"others - (\d+)", r"Code +-1 : (\d+)", r"(?m)^  \[(\d+)\] (?!aborted|\d+ responses)", r"errors=(\d+)",
]


@dataclass(frozen=True)
class Look:
    at: float
    client: float
    server: float
    connections: int
    requests: int
    stolen: float


def run(name, words, s, nginx, cpu, warm, window, output):
    """Runs a tool on `cpu`; a row as a dictionary, `failed` in it where there is nothing to compare."""
    nginx.empty_sample()
    row = {"scenario": s.key, "tool": name, "command": " ".join(words)}
    pin = lambda: os.sched_setaffinity(0, {cpu})
    with open(output, "w+") as said:
        tool = subprocess.Popen(words, preexec_fn=pin, start_new_session=True, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            time.sleep(warm)
            before = look(tool.pid, nginx)
            time.sleep(window)
            after = look(tool.pid, nginx)
            row["early"] = tool.poll() is not None
            finish(tool)
        except (FileNotFoundError, ProcessLookupError):
            row["failed"] = "it ended before it was looked at"
        finally:
            end(tool)
        said.seek(0)
        text = said.read()
    if "failed" in row:
        return {**row, "said": text[-400:]}
    return {**row, **figures(s, before, after), **account(nginx.sample()), "errors": errors(text)}


def look(pid, nginx):
    # The counters first: a busy nginx lets us wait for them.
    connections, requests = nginx.counters()
    return Look(time.monotonic(), tree(pid), process(nginx.process.pid), connections, requests, stolen())


def figures(s, before, after):
    seconds = after.at - before.at
    connections, requests = after.connections - before.connections, after.requests - before.requests
    operations = connections if s.handshake_only else requests
    client = after.client - before.client
    if not operations:
        return {"failed": "no operation in the window"}
    return {
        "us": client / operations * 1e6, "rate": operations / seconds, "client": client / seconds,
        "server": (after.server - before.server) / seconds, "connections": connections, "requests": requests,
        "stolen": (after.stolen - before.stolen) / seconds,
    }


def account(sample):
    """What the tool really did, by nginx's log of one request in 50."""
    if not sample:
        return {}
    share = lambda field, value: sum(line[field] == value for line in sample) / len(sample)
    one = lambda field: "/".join(sorted({line[field] for line in sample}))
    return {"ok": share("status", "200"), "reused": share("reused", "r"), "mutual": share("client", "SUCCESS"), "tls": one("tls"), "http": one("http")}


def errors(text):
    found = [match for pattern in ERRORS for match in re.findall(pattern, text)]
    words = [word if isinstance(word, str) else " ".join(word) for word in found]
    return sum(int(number) for word in words for number in re.findall(r"\d+", word))


def process(pid):
    """User and system time of a process and of those it has waited for, seconds (proc(5): stat, 14 to 17)."""
    with open(f"/proc/{pid}/stat") as stat:
        return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:15])) / TICKS


def tree(pid):
    total = process(pid)
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as children:
            total += sum(tree(child) for child in children.read().split())
    return total


def stolen():
    """Time a hypervisor gave to others, of all CPUs, seconds."""
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[8]) / TICKS


def finish(tool):
    try:
        tool.wait(20)
    except subprocess.TimeoutExpired:
        pass


def end(tool):
    """Ends what is left of a tool: it leads a session of its own."""
    try:
        os.killpg(tool.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    tool.wait()
