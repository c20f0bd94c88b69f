"""A small shop for shop.toml: shop.py [ADDRESS PORT [LOG]].

GET /login has a form with a hidden field, and POST /login wants that field and the session's cookie
back. GET /items is a list, POST /orders/ID takes an order of its item. The first login of a user
whose name begins with "late" is refused. GET /logins counts logins by user. Each other answer is a
line of LOG: session, method, path and status."""

import http.server
import json
import secrets
import sys
import threading
import urllib.parse

LOCK = threading.Lock()
sessions = {}  # by cookie: the hidden field, and the user once logged in
logins = {}  # by user: how often it has logged in
refused = set()  # users whose first login was refused


class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/login":
            session, hidden = secrets.token_hex(8), secrets.token_hex(8)
            with LOCK:
                sessions[session] = {"hidden": hidden, "user": None}
            form = (
                '<form method="post"><!-- <input name="csrf" value="old"> -->'
                f'<input type="hidden" name="csrf" value="{hidden}"></form>'
            )
            cookies = [f"session={session}; Path=/; HttpOnly", "step=login; Path=/login"]
            return self.answer(200, form.encode(), "text/html", cookies, session)
        if url.path == "/logins":
            with LOCK:
                return self.send(200, json.dumps(logins).encode())
        session = self.session()
        if session is None or session["user"] is None:
            return self.answer(401, b"{}")
        query = urllib.parse.parse_qs(url.query)
        items = [{"id": f"{query['q'][0]}/{nth}", "price": 3 + nth} for nth in range(3)]
        return self.answer(200, json.dumps({"items": items}).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        session = self.session()
        if self.path == "/login":
            form = urllib.parse.parse_qs(body)
            if session is None or form.get("csrf") != [session["hidden"]]:
                return self.answer(403, b"{}")
            user = form["user"][0]
            with LOCK:
                if user.startswith("late") and user not in refused:
                    refused.add(user)
                    user = None
                else:
                    logins[user] = logins.get(user, 0) + 1
            if user is None:
                return self.answer(503, b"{}")
            session["user"] = user
            return self.answer(303, b"", headers=[("location", "/items?q=new")])
        item = urllib.parse.unquote(self.path.removeprefix("/orders/"))
        if session is None or session["user"] is None or json.loads(body)["item"] != item:
            return self.answer(403, b"{}")
        return self.answer(201, json.dumps({"order": f"{session['user']}: {item}"}).encode())

    def cookies(self):
        pairs = (self.headers["cookie"] or "").split("; ")
        return dict(pair.split("=", 1) for pair in pairs if pair)

    def session(self):
        with LOCK:
            return sessions.get(self.cookies().get("session"))

    def answer(self, status, body, kind="application/json", cookies=(), session=None, headers=()):
        session = session or self.cookies().get("session", "-")
        with LOCK:
            if LOG:
                LOG.write(f"{session} {self.command} {self.path} {status}\n")
                LOG.flush()
        self.send(status, body, kind, cookies, headers)

    def send(self, status, body, kind="application/json", cookies=(), headers=()):
        head = [("content-type", kind), ("content-length", str(len(body))), *headers]
        self.send_response(status)
        for name, value in head + [("set-cookie", cookie) for cookie in cookies]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024  # of 5, as Python has it, the sixth would wait for a second

    def get_request(self):
        connection, address = super().get_request()
        connection.setsockopt(6, 1, 1)  # TCP_NODELAY: head and body are two writes
        return connection, address


address, port, *log = sys.argv[1:] or ("127.0.0.1", "8090")
LOG = open(log[0], "a") if log else None
Server((address, int(port)), Shop).serve_forever()
