"""WebSockets by the library `websockets`: each message is answered after a while.

Counts what it sees, and writes it as JSON to a file whenever a socket has ended. The path says how
a socket behaves: /echo, /push (three messages before the first answer), /close (code 1011 after two
messages), /silent (no answer), /stops (three answers, then none), /swap (each pair of answers in
the wrong order), /ping (a ping before each answer, which waits for the pong), /deaf (no pong).
"""

import asyncio
import json
import os
import sys

from websockets.exceptions import ConnectionClosed

from websockets.legacy.server import WebSocketServerProtocol, serve

seen = {"opened": 0, "received": 0, "sent": 0, "pings": 0, "codes": {}}


class Socket(WebSocketServerProtocol):
    async def pong(self, data=b""):
        seen["pings"] += 1
        if self.path != "/deaf":
            await super().pong(data)


async def handle(socket):
    kind = socket.path.split("?")[0]
    seen["opened"] += 1
    held, number = [], 0

    async def send(text):
        await socket.send(text)
        seen["sent"] += 1

    try:
        if kind == "/push":
            for number in range(3):
                await send(f"push {number}")
        async for message in socket:
            seen["received"] += 1
            number += 1
            await asyncio.sleep(DELAY)
            if kind == "/close" and number == 2:
                await socket.close(1011, "as the path says")
            elif kind == "/silent" or (kind == "/stops" and number > 3):
                continue
            elif kind == "/swap":
                held.append(message)
                if len(held) == 2:
                    for text in reversed(held):
                        await send(text)
                    held.clear()
            else:
                if kind == "/ping":
                    await (await socket.ping())
                await send(message)
    except ConnectionClosed:
        pass
    await socket.wait_closed()
    # A client that sends no code is 1005, one that goes without a close frame 1006.
    code = str(socket.close_code)
    seen["codes"][code] = seen["codes"].get(code, 0) + 1
    with open(SEEN + ".new", "w") as file:
        json.dump(seen, file)
    os.replace(SEEN + ".new", SEEN)


async def main():
    async with serve(
        handle,
        HOST,
        PORT,
        create_protocol=Socket,
        subprotocols=PROTOCOLS,
        ping_interval=None,
        compression=None,
    ):
        await asyncio.get_running_loop().create_future()


HOST, PORT, SEEN = sys.argv[1], int(sys.argv[2]), sys.argv[3]
DELAY = float(sys.argv[4]) if len(sys.argv) > 4 else 0
PROTOCOLS = sys.argv[5:] or None
asyncio.run(main())
