"""socketserver, a thread per connection: IP PORT lock MS, or IP PORT between MS MS.

With "lock" each answer sleeps for so long while it holds the one lock; with "between" each sleeps
for a random time.
"""

import random
import socket
import socketserver
import sys
import threading
import time

IP, PORT, HOW = sys.argv[1:4]
TIMES = [float(argument) / 1000 for argument in sys.argv[4:]]
LOCK = threading.Lock()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def work():
    if HOW == "lock":
        with LOCK:
            time.sleep(TIMES[0])
    else:
        time.sleep(random.uniform(*TIMES))


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
            unread = unread.split(b"\r\n\r\n", 1)[1]
            work()
            self.request.sendall(ANSWER)


class Server(socketserver.ThreadingTCPServer):
    request_queue_size = 4096
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that has gone is no matter.
        pass


threading.stack_size(256 * 1024)
Server((IP, int(PORT)), Handler).serve_forever()
