"""Reads forms, JSON and multipart bodies with Python's own parsers, and writes what it read as lines of
JSON: bodies.py ADDRESS PORT FILE."""

import email.parser
import email.policy
import hashlib
import http.server
import json
import sys
import urllib.parse


def part(message):
    content = message.get_payload(decode=True)
    return {
        "name": message.get_param("name", header="content-disposition"),
        "filename": message.get_filename(),
        "type": message.get_content_type() if "content-type" in message else None,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }


def read(kind, body):
    if kind == "application/x-www-form-urlencoded":
        return urllib.parse.parse_qsl(body.decode(), strict_parsing=True, keep_blank_values=True)
    if kind == "application/json":
        return json.loads(body)
    head = b"content-type: " + kind.encode() + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    assert message.is_multipart() and not message.defects, message.defects
    return [part(each) for each in message.iter_parts()]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            line, status = {"path": self.path, "read": read(self.headers["content-type"], body)}, 200
        except Exception as error:
            line, status = {"path": self.path, "error": repr(error)}, 400
        with open(sys.argv[3], "a") as seen:
            seen.write(json.dumps(line) + "\n")
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
