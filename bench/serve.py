"""A server for laboratories: HTTP with /bytes/N of random content, and ports for tests of connection ends.

`python3 bench/serve.py PORT`: PORT is HTTP, with /bbr/bytes/N sent by BBR; PORT + 1 reads to the end, answers with a line of
`SHA256 bytes`, and closes; PORT + 2 echoes TCP, with a half-close after the client's, and UDP; PORT + 3 accepts and resets after the
first bytes; PORT + 4 answers with the type of service of the request. With `names` after PORT, port 53 of UDP and TCP is a name
server for any name: its addresses are 192.0.2.N, where N counts queries, with a time to live of 3 s.
"""

import hashlib
import random
import socket
import socketserver
import struct
import sys
import threading


def content(size, seed=1):
    """Unpredictable content of that many bytes, in pieces."""
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
    """Answers after the client's end: a half-close has to pass."""

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


class Service(socketserver.BaseRequestHandler):
    """The header byte that contains the DSCP, as the kernel keeps it from the handshake."""

    def handle(self):
        v4 = self.request.getpeername()[0].startswith("::ffff:")
        level, name = (socket.IPPROTO_IP, 9) if v4 else (socket.IPPROTO_IPV6, 6)
        messages = self.request.getsockopt(level, name, 128)
        self.request.sendall(b"%d\n" % (messages[16] if len(messages) > 16 else 255))


class EchoDatagrams(socketserver.BaseRequestHandler):
    def handle(self):
        data, server = self.request
        server.sendto(data, self.client_address)


asked, asking = [0], threading.Lock()


def named(query):
    """The answer to a query for an address (RFC 1035)."""
    with asking:
        asked[0] += 1
        number = asked[0] & 0xFF
    end = query.index(b"\0", 12) + 5
    record = b"\xc0\x0c\0\1\0\1" + struct.pack("!IH", 3, 4) + bytes([192, 0, 2, number])
    return query[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + query[12:end] + record


class NamesByDatagrams(socketserver.BaseRequestHandler):
    def handle(self):
        query, server = self.request
        server.sendto(named(query), self.client_address)


class Names(socketserver.StreamRequestHandler):
    def handle(self):
        while head := self.rfile.read(2):
            answer = named(self.rfile.read(int.from_bytes(head, "big")))
            self.wfile.write(struct.pack("!H", len(answer)) + answer)


class DatagramServer(socketserver.ThreadingMixIn, socketserver.UDPServer):
    allow_reuse_address = daemon_threads = True
    max_packet_size = 65535
    # The source of an answer is the address that was queried.
    address_family = socket.AF_INET


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = daemon_threads = True
    address_family = socket.AF_INET6
    request_queue_size = 1024

    def handle_error(self, request, address):
        print(address, sys.exc_info()[1], file=sys.stderr)


def main():
    port = int(sys.argv[1])
    servers = [Server(("::", port + offset), handler) for offset, handler in enumerate((Http, Sink, Echo, Reset, Service))]
    servers[-1].socket.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    servers[-1].socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    servers.append(DatagramServer(("0.0.0.0", port + 2), EchoDatagrams))
    if sys.argv[2:] == ["names"]:
        servers += [DatagramServer(("0.0.0.0", 53), NamesByDatagrams), Server(("::", 53), Names)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
