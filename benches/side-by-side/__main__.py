"""Cannonade beside other load generators: client CPU per operation against one nginx, counted by nginx.

nginx has the first CPU of the affinity mask, one tool at a time the last. Everything is on 127.0.0.1, in a temporary
folder, and ended with the script. Tools that are not installed are named and left out.

    cargo build --release -p coordinator -p benches
    benches/side-by-side S1,S5 --rounds 3 --tools cannonade,limit,wrk,oha
"""

import sys

sys.dont_write_bytecode = True  # nothing is left in the source folder

import argparse
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import measure
import scenarios
import table
import tools
from nginx import Nginx, program


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("side-by-side: ended by a signal"))
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("side-by-side: two CPUs are needed, one for nginx and one for the tool")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    names = usable(options.tools)
    introduce(names)
    with tempfile.TemporaryDirectory(prefix="side-by-side-") as folder, Nginx(folder, cpus[0]) as nginx:
        for s in scenarios.chosen(options.scenarios):
            table.show(s, rounds(s, names, nginx, cpus[-1], options))


def arguments():
    parser = argparse.ArgumentParser(prog="side-by-side", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="?", default="all", help="such as S1,S3a; all of S1 to S9c by default")
    parser.add_argument("-r", "--rounds", type=int, default=3, help="runs of each tool; the tools take turns (default 3)")
    parser.add_argument("-t", "--tools", default=",".join(tools.TOOLS), help="such as cannonade,limit,wrk; all by default")
    parser.add_argument("--window", type=float, default=3.0, help="seconds that count, in the middle of each run (default 3)")
    parser.add_argument("--warm", type=float, default=1.5, help="seconds before them (default 1.5)")
    parser.add_argument("--raw", help="a file to which each run is appended as a line of JSON")
    parser.add_argument("--lines", action="store_true", help="print each tool's command line")
    return parser.parse_args()


def usable(words):
    names = words.split(",")
    unknown = [name for name in names if name not in tools.TOOLS]
    if unknown:
        sys.exit(f"side-by-side: no tool {', '.join(unknown)}; there are {', '.join(tools.TOOLS)}")
    missing = [name for name in names if not tools.present(name)]
    if missing:
        print(f"not installed or not built, left out: {', '.join(missing)}", file=sys.stderr)
    if any(name in missing for name in ("cannonade", "limit")):
        print("ours are built by: cargo build --release -p coordinator -p benches", file=sys.stderr)
    return [name for name in names if name not in missing]


def introduce(names):
    """The machine and the versions, for whoever reads the table later."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown CPU")
    server = subprocess.run([program(), "-v"], capture_output=True, text=True).stderr.strip()
    print(f"{os.cpu_count()} × {model}, Linux {platform.release()}, {server}")
    print("; ".join(filter(None, (tools.version(name) for name in names))), flush=True)


def rounds(s, names, nginx, cpu, options):
    rows = []
    for number in range(options.rounds):
        for name in names:
            row = one(name, s, nginx, cpu, options)
            if row is None:
                continue
            rows.append(row)
            came = f"{row['us']:.1f} µs, {row['rate']:.0f}/s, {row['errors']} errors" if "us" in row else f"failed: {row['failed']}"
            print(f"{s.key} {number + 1}/{options.rounds} {name}: {came}", file=sys.stderr, flush=True)
            if options.raw:
                with open(options.raw, "a") as raw:
                    raw.write(json.dumps(row) + "\n")
    return rows


def one(name, s, nginx, cpu, options):
    with tempfile.TemporaryDirectory(dir=nginx.folder) as scratch:
        after = 4 if s.path == "/big" else 1.5
        call = tools.Call(nginx, round(options.warm + options.window + after), Path(scratch))
        words = tools.command(name, s, call)
        if words is None:
            return None
        if options.lines:
            print(" ".join(words), file=sys.stderr)
        return measure.run(name, words, s, nginx, cpu, options.warm, options.window, Path(scratch) / "output")


if __name__ == "__main__":
    main()
