"""Rows of runs as one Markdown table per scenario."""

from statistics import median

HEAD = ["tool", "client CPU µs per operation (min–max)", "× limit", "operations/s", "client busy", "server busy", "errors", "remarks"]


def show(s, rows):
    by_tool = {}
    for row in rows:
        by_tool.setdefault(row["tool"], []).append(row)
    floor = of([row for row in by_tool.get("limit", []) if "us" in row], "us")
    print(f"\n### {s.key}: {s.title}\n\n| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for name, runs in sorted(by_tool.items(), key=lambda item: rank(s, item[1])):
        good = [row for row in runs if "us" in row]
        if not good:
            print(f"| {name} | failed: {runs[0]['failed']} {runs[0].get('said', '')[-120:]!r} |")
            continue
        us = [row["us"] for row in good]
        cells = [name, f"{median(us):.1f} ({min(us):.1f}–{max(us):.1f})", f"{median(us) / floor:.2f}" if floor else "–"]
        cells += [f"{of(good, 'rate'):.0f}", f"{of(good, 'client'):.0%}", f"{of(good, 'server'):.0%}", f"{of(good, 'errors'):.0f}"]
        print(f"| {' | '.join(cells)} | {', '.join(misses(s, good) + remarks(good))} |", flush=True)


def of(rows, field):
    return median(row[field] for row in rows) if rows else None


def rank(s, runs):
    """Those that do something else stand at the end."""
    good = [row for row in runs if "us" in row]
    return (not good, bool(good and misses(s, good)), of(good, "us") or 0)


def misses(s, runs):
    """What of the scenario a tool did not do, by nginx's account."""
    row, found = runs[-1], []
    if s.close and row["requests"] > 1.2 * row["connections"]:
        found.append("keeps connections")
    if not s.opens and row["connections"] > 0.05 * row["requests"]:
        found.append("does not keep connections")
    if s.resumes and row.get("reused", 1) < 0.9:
        found.append("does not resume")
    if not s.resumes and row.get("reused", 0) > 0.02:
        found.append("resumes")
    if s.tls and s.tls not in row.get("tls", s.tls):
        found.append("other TLS version")
    if s.http2 and "HTTP/2" not in row.get("http", "HTTP/2"):
        found.append("no HTTP/2")
    if s.mutual and row.get("mutual", 1) < 1:
        found.append("no client certificate")
    if row.get("ok", 1) < 1:
        found.append(f"{1 - row['ok']:.0%} not 200")
    if any(row["early"] for row in runs):
        found.append("ended before the window did")
    return found


def remarks(runs):
    stolen = of(runs, "stolen")
    return [f"{stolen:.0%} of a CPU stolen"] if stolen > 0.02 else []
