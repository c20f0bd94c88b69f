"""Python's http.server over ssl: PORT CERT KEY [first]. Writes a line for each handshake and request.

Beside the files of html: of /bytes every byte of the answer is a TLS record of its own, and /100/N and /103/N have
N interim answers before the answer. With "first" a connection's first answer leaves before its request has come.
"""

import http.server
import ssl
import sys

PORT, CERT, KEY = sys.argv[1:4]
ANSWERS_FIRST = sys.argv[4:] == ["first"]
FILES = {"/": open("html/index.html", "rb").read(), "/big": open("html/big", "rb").read()}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The buffer would make larger records of what is written apart.
    wbufsize = 0
    disable_nagle_algorithm = True

    def setup(self):
        # In this connection's thread, so that no connection waits for another's handshake.
        self.request.do_handshake()
        self.tell(f"handshake {self.client_address[1]}")
        super().setup()
        self.has_answered = ANSWERS_FIRST
        if ANSWERS_FIRST:
            self.wfile.write(self.answer("/"))

    def answer(self, path):
        body = FILES.get(path, FILES["/"])
        return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    def do_GET(self):
        if self.path.count("/") == 2:
            status, interim = self.path.split("/")[1:]
            self.wfile.write(f"HTTP/1.1 {status} Interim\r\nLink: </style.css>\r\n\r\n".encode() * int(interim))
        if self.headers.get("Connection", "").lower() == "close":
            self.close_connection = True
        answer = b"" if self.has_answered else self.answer(self.path)
        self.has_answered = False
        for part in [bytes([byte]) for byte in answer] if self.path == "/bytes" else [answer]:
            self.wfile.write(part)
        self.tell(f"row {self.client_address[1]} {int(self.request.session_reused)} 1.1 200 {self.path}")

    def tell(self, line):
        # One write, so that no two threads' lines mix.
        sys.stdout.write(line + "\n")


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 4096

    def get_request(self):
        stream, address = super().get_request()
        return context.wrap_socket(stream, server_side=True, do_handshake_on_connect=False), address

    def shutdown_request(self, request):
        try:
            # Says close_notify, and waits for nobody's.
            request.settimeout(0.2)
            request.unwrap()
        except (OSError, ValueError):
            pass
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        print("error", sys.exc_info()[1], file=sys.stderr)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERT, KEY)
Server(("127.0.0.1", int(PORT)), Handler).serve_forever()
