"""Takes a bearer token a given number of times, as if it ran out then: expiring.py ADDRESS PORT
FILE TOKEN TIMES. Writes the status of each answer, 200 or 401, as a line of FILE."""

import http.server
import sys
import threading

SEEN, TOKEN, TIMES = sys.argv[3], sys.argv[4], int(sys.argv[5])
LOCK = threading.Lock()
taken = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        global taken
        with LOCK:
            is_good = self.headers["authorization"] == f"Bearer {TOKEN}" and taken < TIMES
            taken += is_good
            status = 200 if is_good else 401
            with open(SEEN, "a") as seen:
                seen.write(f"{status}\n")
        self.send_response(status)
        if not is_good:
            self.send_header("www-authenticate", 'Bearer error="invalid_token"')
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
