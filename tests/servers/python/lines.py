"""Answers with lines of JSON, one chunk each, the last one without a line end: lines.py ADDRESS PORT FILE. The
request's path says how many: /LINES. Writes the number that was sent as a line of FILE."""

import http.server
import json
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        number = int(self.path[1:])
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for nth in range(number):
            end = "" if nth + 1 == number else "\n"
            self.chunk(json.dumps({"nth": nth}) + end)
            time.sleep(0.002)
        self.wfile.write(b"0\r\n\r\n")
        with open(sys.argv[3], "a") as seen:
            seen.write(f"{number}\n")

    def chunk(self, text):
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
