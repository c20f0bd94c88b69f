"""Pages at random, read by Python's own parser: pages.py ADDRESS PORT LOG.

GET /page?n=N is page N in pieces, with inputs called csrf among much that only looks like one. GET
/check?n=N&got=VALUE is a line of LOG: "same" if VALUE is the first one of the page, or else what it
should be and what came."""

import html.parser
import http.server
import random
import sys
import threading
import urllib.parse

LOCK = threading.Lock()
LETTERS = "kjw019-_./+= é&"


def value(rng):
    """A value as it is written."""
    text = "".join(rng.choice(LETTERS) for _ in range(rng.choice([0, 1, 8, 40, 2500, 5000])))
    return text.replace("&", rng.choice(["&amp;", "&lt;", "&quot;", "&apos;", "&#38;", "&#x26;"]))


def attribute(rng, name, text):
    name = rng.choice([name, name.upper(), name.title()])
    quote = rng.choice("\"'")
    if text and not any(c in text for c in " \"'=<>`") and rng.random() < 0.5:
        return f"{name}={text} "
    space = rng.choice(["", " ", "\n\t"])
    return f"{name}{space}={space}{quote}{text}{quote}" + rng.choice([" ", "\n", "  "])


def tag(rng, name):
    parts = [attribute(rng, "name", name), attribute(rng, "value", value(rng))]
    extras = ["disabled ", "data-value=x ", "type='hidden' ", "title=\"a > b\" ", "value=again "]
    parts += rng.sample(extras, rng.randrange(4))
    if not any(part.startswith("value=again") for part in parts) and rng.random() < 0.2:
        parts = parts[:1]  # has no value
    first = parts.pop(0)
    rng.shuffle(parts)
    return f"<{rng.choice(['input', 'INPUT', 'Input'])} {first}{''.join(parts)}>"


def page(number):
    rng = random.Random(number)
    decoy = '<input name=csrf value="decoy">'
    parts = ["<!DOCTYPE html>\n", "<p class=a>text &amp; more</p>", "a < b", "<br/>", "</p>"]
    parts += [f"<!-- {decoy} -->", "<!---->", f"<script>if (a<b) '{decoy}'</script>"]
    parts += [f"<STYLE>{decoy}</STYLE>", "<a href='?a=1&amp;b=2'>x</a>", f"<b title='{decoy}'>"]
    chosen = [rng.choice(parts) for _ in range(rng.randrange(40))]
    chosen += [tag(rng, rng.choice(["csrf", "csrf", "other", "CSRF"])) for _ in range(4)]
    rng.shuffle(chosen)
    return "".join(chosen)


class Reader(html.parser.HTMLParser):
    found = ""

    def handle_starttag(self, name, attributes):
        first = {}
        for key, text in attributes:
            first.setdefault(key, text or "")
        if name == "input" and first.get("name") == "csrf" and not self.found:
            text = first.get("value", "")
            if len(text.encode()) <= 4096:
                self.found = text


def first_value(number):
    reader = Reader()
    reader.feed(page(number))
    reader.close()
    return reader.found


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        number = int(query["n"][0])
        body = b""
        if url.path == "/page":
            body = page(number).encode()
        else:
            wanted, got = first_value(number), query["got"][0]
            with LOCK:
                LOG.write("same\n" if wanted == got else f"{number} {wanted!r} {got!r}\n")
                LOG.flush()
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        rng = random.Random(number)
        while body:
            length = min(len(body), rng.choice([1, 3, 20, 500]))
            self.wfile.write(b"%x\r\n%s\r\n" % (length, body[:length]))
            body = body[length:]
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024

    def get_request(self):
        connection, address = super().get_request()
        connection.setsockopt(6, 1, 1)  # TCP_NODELAY
        return connection, address


address, port, log = sys.argv[1:]
LOG = open(log, "a")
Server((address, int(port)), Pages).serve_forever()
