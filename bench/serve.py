"""A server for laboratories: HTTP with /bytes/N of random content, and ports by which ends of connections are tried.

`python3 bench/serve.py PORT`: PORT is HTTP, and /bbr/bytes/N has them sent by BBR; PORT + 1 reads to the end, waits for a line of
`SHA256 bytes`, and closes; PORT + 2 sends what it reads back, ends behind an end; PORT + 3 accepts and resets after the first bytes.
"""

import hashlib
import random
import socket
import socketserver
import struct
import sys
import threading


def content(size, seed=1):
    """So many bytes that cannot be told in advance, in pieces."""
    source, left = random.Random(seed), size
    while left:
        piece = source.randbytes(min(left, 1 << 18))
        left -= len(piece)
        yield piece


class Http(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            line = self.rfile.readline(4096)
            if not line:
                return
            while self.rfile.readline(4096).strip():
                pass
            *words, size = line.split()[1].split(b"/")
            size = int(size or 0)
            if words[1:-1]:
                self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, words[1])
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            for piece in content(size):
                self.wfile.write(piece)


class Sink(socketserver.BaseRequestHandler):
    """The answer comes behind the client's end: a half-close has to pass."""

    def handle(self):
        digest, size = hashlib.sha256(), 0
        while piece := self.request.recv(1 << 18):
            digest.update(piece)
            size += len(piece)
        self.request.sendall(f"{digest.hexdigest()} {size}\n".encode())


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while piece := self.request.recv(1 << 18):
            self.request.sendall(piece)


class Reset(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = daemon_threads = True
    address_family = socket.AF_INET6
    request_queue_size = 1024

    def handle_error(self, request, address):
        print(address, sys.exc_info()[1], file=sys.stderr)


def main():
    port = int(sys.argv[1])
    for offset, handler in enumerate((Http, Sink, Echo, Reset)):
        server = Server(("::", port + offset), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
