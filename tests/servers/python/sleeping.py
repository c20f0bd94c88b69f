"""socketserver, a thread per connection: IP PORT HOW NUMBER...

With "lock MS" each answer sleeps for so long while it holds the one lock; with "between MS MS" each
sleeps for a random time. With "compute MS" each computes for so much CPU time under the interpreter's
lock, whatever the CPU's speed, and sends its head by itself. With "paced BYTES BYTES" a body of the second size leaves at the first a second.
With "stall MS MS PATH SEEN" requests for PATH wait for the end of a stall, which takes the last part,
as long as the second time, of every stretch as long as the first; SEEN has a line for each answer:
its path, and the seconds from the end of the request's head to the answer.
"""

import random
import socket
import socketserver
import sys
import threading
import time

IP, PORT, HOW = sys.argv[1:4]
NUMBERS = [float(argument) for argument in sys.argv[4:6]]
PATH, SEEN = sys.argv[6:8] or (None, None)
TIMES = [number / 1000 for number in NUMBERS]
LOCK = threading.Lock()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
PART = 10000
BEGAN = time.monotonic()
LOG = SEEN and open(SEEN, "w", encoding="ascii", buffering=1)


def stall(path):
    came = time.monotonic()
    every, length = TIMES
    left = every - (came - BEGAN) % every
    if path == PATH and left < length:
        time.sleep(left)
    with LOCK:
        LOG.write(f"{path} {time.monotonic() - came:.6f}\n")


def answer(path, send):
    if HOW == "paced":
        speed, size = NUMBERS
        send(HEAD % size)
        for _ in range(int(size / PART)):
            send(b"x" * PART)
            time.sleep(PART / speed)
    elif HOW == "compute":
        end = time.thread_time() + TIMES[0]
        while time.thread_time() < end:
            sum(number * number for number in range(1000))
        send(HEAD % 1000)
        send(b"x" * 1000)
    else:
        if HOW == "lock":
            with LOCK:
                time.sleep(TIMES[0])
        elif HOW == "stall":
            stall(path)
        else:
            time.sleep(random.uniform(*TIMES))
        send(HEAD % 2 + b"ok")


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
            answer(head.split(b" ", 2)[1].decode(), self.request.sendall)


class Server(socketserver.ThreadingTCPServer):
    request_queue_size = 4096
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that has gone is no matter.
        pass


threading.stack_size(256 * 1024)
Server((IP, int(PORT)), Handler).serve_forever()
