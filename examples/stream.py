"""A stand-in for the gateway of a language model, for stream.toml: stream.py [ADDRESS PORT].

Each answer is a stream of server-sent events: the first after 100 ms, 19 more 20 ms apart, and
`[DONE]`."""

import http.server
import json
import sys
import time


class Gateway(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            self.answer()
        except ConnectionError:
            self.close_connection = True  # the client has left

    def answer(self):
        time.sleep(0.08)
        for nth in range(20):
            time.sleep(0.02)
            self.event(json.dumps({"choices": [{"delta": {"content": f"word {nth} "}}]}))
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, data):
        event = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024  # of 5, as Python has it, the sixth would wait for a second


address, port = sys.argv[1:] or ("127.0.0.1", "8089")
Server((address, int(port)), Gateway).serve_forever()
