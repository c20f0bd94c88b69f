"""A chat with rooms over WebSockets, for chat.toml: chat.py [ADDRESS PORT].

A message {"id": …, "text": …} to /rooms/NAME goes to all sockets of the room, with its sender's
number, so that the sender finds its own id again. GET /counts has the sockets and messages so far.
It reads what a browser or a load test sends, and closes the socket on anything else."""

import asyncio
import base64
import hashlib
import json
import struct
import sys

ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
rooms = {}  # by path: the writers of its sockets
counts = {"sockets": 0, "received": 0, "sent": 0}


async def serve(reader, writer):
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        path = first.split(" ")[1]
        fields = (line.partition(":") for line in lines)
        fields = {name.lower(): value.strip() for name, _, value in fields}
        key = fields.get("sec-websocket-key")
        if path == "/counts":
            body = json.dumps(counts).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        elif path.startswith("/rooms/") and key:
            await chat(reader, writer, rooms.setdefault(path, set()), key)
        else:
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # the client has left
    finally:
        writer.close()


async def chat(reader, writer, room, key):
    accept = base64.b64encode(hashlib.sha1(key.encode() + ACCEPT).digest())
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-accept: %b\r\n\r\n" % accept
    )
    counts["sockets"] += 1
    number = counts["sockets"]
    room.add(writer)
    try:
        while True:
            opcode, payload = await frame(reader)
            if opcode == 1:
                counts["received"] += 1
                said = {"from": number, **json.loads(payload)}
                for socket in room:
                    counts["sent"] += 1
                    send(socket, 1, json.dumps(said).encode())
                await writer.drain()
            elif opcode == 9:
                send(writer, 10, payload)
            elif opcode == 8:
                return send(writer, 8, payload[:2])
    finally:
        room.discard(writer)


async def frame(reader):
    first, second = await reader.readexactly(2)
    length = second & 127
    if length > 125:
        size = 2 if length == 126 else 8
        length = int.from_bytes(await reader.readexactly(size), "big")
    mask = await reader.readexactly(4)
    payload = await reader.readexactly(length)
    return first & 15, bytes(byte ^ mask[at & 3] for at, byte in enumerate(payload))


def send(writer, opcode, payload):
    length = len(payload)
    size = struct.pack("!B", length) if length < 126 else struct.pack("!BH", 126, length)
    writer.write(bytes([128 | opcode]) + size + payload)


async def main():
    address, port = sys.argv[1:] or ("127.0.0.1", "8091")
    server = await asyncio.start_server(serve, address, int(port), backlog=1024)
    await server.serve_forever()


asyncio.run(main())
