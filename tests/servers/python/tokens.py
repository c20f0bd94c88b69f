"""Hands out tokens for client credentials (RFC 6749 section 4.4), and takes them as a resource
server does: tokens.py ADDRESS PORT FILE LIFE MOST. A token lasts LIFE seconds; after MOST of them
no more are given. The client is "load"; its secret is "p1anted secret+1", percent-encoded as the
standard says. Writes a line for each answer to FILE: the path, the status, and which token came
(0 for none), and for a token that is given the calendar's milliseconds at which it was asked for.
/basic and /body take the client's proof there only; /hang, /html, /big, /moved and
/spent answer as a token server should not; /tenant repeats the parameter of this name."""

import base64
import http.server
import json
import sys
import threading
import time
import urllib.parse

SEEN, LIFE, MOST = sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
CLIENT, SECRET = "load", "p1anted secret+1"
LOCK = threading.Lock()
# By token: its number, and when it ends.
tokens = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        scheme, _, token = (self.headers["authorization"] or "").partition(" ")
        number, end = tokens.get(token, (0, 0.0))
        is_good = scheme == "Bearer" and time.monotonic() < end
        self.answer(200 if is_good else 401, b"", number)

    def do_POST(self):
        self.asked_at = int(time.time() * 1000)
        length = int(self.headers["content-length"])
        form = urllib.parse.parse_qs(self.rfile.read(length).decode())
        if self.path == "/hang":
            time.sleep(60)
        elif self.path == "/html":
            self.answer(200, b"<html>log in</html>")
        elif self.path == "/big":
            self.answer(200, b'{"access_token": "' + b"x" * 10_000_000 + b'"}')
        elif self.path == "/moved":
            self.answer(302, b"", headers={"location": "http://elsewhere.test/token"})
        elif self.path == "/spent":
            self.grant("t", 0)
        elif self.path == "/tenant":
            self.refuse(400, "invalid_request", f"no {form['tenant'][0]}")
        elif form.get("grant_type") != ["client_credentials"]:
            self.refuse(400, "unsupported_grant_type", "only client_credentials")
        elif self.proof(form) != (CLIENT, SECRET):
            self.refuse(401, "invalid_client", f"not {SECRET}")
        elif form.get("scope", ["read write"]) != ["read write"]:
            self.refuse(400, "invalid_scope", "only read and write")
        else:
            with LOCK:
                number = len(tokens) + 1
                token = f"p1anted.{number:05}.{'x' * (number % 7)}/+="
                if number <= MOST:
                    tokens[token] = (number, time.monotonic() + LIFE)
            if number > MOST:
                self.refuse(503, "temporarily_unavailable", "no more")
            else:
                self.grant(token, LIFE, number)

    def proof(self, form):
        scheme, _, value = (self.headers["authorization"] or "").partition(" ")
        if self.path == "/body":
            return (form["client_id"][0], form["client_secret"][0]) if not scheme else None
        if scheme != "Basic" or "client_secret" in form:
            return None
        client, _, secret = base64.b64decode(value).decode().partition(":")
        return urllib.parse.unquote_plus(client), urllib.parse.unquote_plus(secret)

    def grant(self, token, life, number=0):
        answer = {"access_token": token, "token_type": "bearer", "expires_in": life}
        self.answer(200, json.dumps(answer).encode(), number)

    def refuse(self, status, error, description):
        answer = {"error": error, "error_description": description}
        self.answer(status, json.dumps(answer).encode())

    def answer(self, status, body, number=0, headers={}):
        with LOCK, open(SEEN, "a") as seen:
            asked_at = self.asked_at if self.command == "POST" else 0
            seen.write(f"{self.path} {status} {number} {asked_at}\n")
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024  # of 5, as Python has it, the sixth would wait for a second


Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
