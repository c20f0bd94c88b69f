"""Verifies requests that are signed for AWS (Signature Version 4): signed.py ADDRESS PORT FILE
SERVICE. The key is "AKIDEXAMPLE" with the secret "p1anted/Key+1", the region eu-west-1. Writes a
line for each answer to FILE: the path, and 200 or 403."""

import datetime
import hashlib
import hmac
import http.server
import sys
import threading
import urllib.parse

SEEN, SERVICE = sys.argv[3], sys.argv[4]
KEY, SECRET, REGION = "AKIDEXAMPLE", b"p1anted/Key+1", "eu-west-1"
LOCK = threading.Lock()


def quote(text, safe=""):
    return urllib.parse.quote(text, safe="-_.~" + safe)


def is_signed(method, target, fields, body):
    authorization = fields["authorization"]
    kind, _, rest = authorization.partition(" ")
    parts = dict(part.split("=", 1) for part in rest.split(", "))
    names = parts["SignedHeaders"].split(";")
    if any(name.startswith("x-amz-") and name not in names for name in fields):
        return False
    path, _, query = target.partition("?")
    if SERVICE == "s3":
        path = urllib.parse.unquote_to_bytes(path)
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    decode = urllib.parse.unquote_to_bytes
    encoded = sorted((quote(decode(name)), quote(decode(value))) for name, _, value in pairs)
    query = "&".join(f"{name}={value}" for name, value in encoded)
    digest = hashlib.sha256(body).hexdigest()
    if fields.get("x-amz-content-sha256", digest) != digest:
        return False
    lines = [f"{name}:{' '.join(fields[name].split())}" for name in names]
    canonical = "\n".join([method, quote(path, "/"), query, *lines, "", ";".join(names), digest])
    date = fields["x-amz-date"]
    instant = datetime.datetime.strptime(date + "+0000", "%Y%m%dT%H%M%SZ%z")
    now = datetime.datetime.now(datetime.timezone.utc)
    if abs((now - instant).total_seconds()) > 300:
        return False
    scope = f"{date[:8]}/{REGION}/{SERVICE}/aws4_request"
    key = b"AWS4" + SECRET
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashed}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    expected = {
        "Credential": f"{KEY}/{scope}",
        "SignedHeaders": ";".join(sorted(names)),
        "Signature": signature,
    }
    return kind == "AWS4-HMAC-SHA256" and parts == expected and "host" in names


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        items = self.headers.items()
        fields = {name.lower(): value.encode("latin-1").decode() for name, value in items}
        status = 200 if is_signed(self.command, self.path, fields, body) else 403
        with LOCK, open(SEEN, "a") as seen:
            seen.write(f"{self.path} {status}\n")
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
