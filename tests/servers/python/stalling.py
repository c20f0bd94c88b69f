"""socketserver, a thread per connection: IP PORT SEEN PATH EVERY FOR

Requests for PATH wait for the end of a stall, which takes the last FOR seconds of every EVERY. SEEN
has a line for each answer: its path, and the seconds from the end of the request's head to the answer.
"""

import socket
import socketserver
import sys
import threading
import time

IP, PORT, SEEN, PATH = sys.argv[1:5]
EVERY, FOR = (float(argument) for argument in sys.argv[5:7])
BEGAN = time.monotonic()
LOG = open(SEEN, "w", encoding="ascii", buffering=1)
LOCK = threading.Lock()


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        unread = b""
        while True:
            while b"\r\n\r\n" not in unread:
                part = self.request.recv(4096)
                if not part:
                    return
                unread += part
            head, unread = unread.split(b"\r\n\r\n", 1)
            came = time.monotonic()
            path = head.split(b" ", 2)[1].decode("ascii").split("?")[0]
            left = EVERY - (came - BEGAN) % EVERY
            if path == PATH and left < FOR:
                time.sleep(left)
            took = time.monotonic() - came
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            with LOCK:
                LOG.write(f"{path} {took:.6f}\n")


class Server(socketserver.ThreadingTCPServer):
    request_queue_size = 4096
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that has gone is no matter.
        pass


threading.stack_size(256 * 1024)
Server((IP, int(PORT)), Handler).serve_forever()
