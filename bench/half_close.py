"""Tests of connection ends through a gateway or proxy. `python3 bench/half_close.py serve PORT` runs at one end, and
`python3 bench/half_close.py try HOST PORT` at the other.

Each case is a connection; the client names it in the first line. A proxy fails a case if it closes both directions at the first end, drops
buffered data, or turns a reset into an end. Exit code 1 if any case fails.
"""

import hashlib
import os
import socket
import struct
import sys
import threading
import time

LARGE = 3_000_000


def line(s):
    got = b""
    while not got.endswith(b"\n"):
        piece = s.recv(1)
        if not piece:
            raise EOFError(f"an end behind {got!r}")
        got += piece
    return got.decode().split()


def rest(s):
    return b"".join(iter(lambda: s.recv(65536), b""))


def told(data):
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}\n".encode()


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def answer(s):
    with s:
        case, *_ = line(s)
        if case == "half-close":
            # The answer begins some time after the client's end.
            data = rest(s)
            time.sleep(1.0)
            s.sendall(told(data))
        elif case == "server-first":
            s.sendall(b"banner\n")
            s.shutdown(socket.SHUT_WR)
            with open_result(case) as out:
                out.write(told(rest(s)).decode())
        elif case == "clogged":
            # Reading begins only when all buffers on the path are full and the client has ended.
            time.sleep(2.0)
            s.sendall(told(rest(s)))
        elif case == "clogged-answer":
            data = os.urandom(LARGE)
            s.sendall(told(data) + data)
        elif case == "both":
            data = os.urandom(LARGE)
            thread = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
            thread.start()
            got = rest(s)
            thread.join()
            with open_result(case) as out:
                out.write((told(got) + told(data)).decode())
        elif case == "reset":
            s.recv(1)
            reset(s)
        elif case == "unread":
            # The client closes with unread data, which is a reset and must arrive as one.
            s.sendall(bytes(100_000))
            try:
                while s.recv(65536):
                    pass
                said = "end\n"
            except ConnectionResetError:
                said = "reset\n"
            with open_result(case) as out:
                out.write(said)
        elif case == "result":
            wanted = s.recv(100).decode().strip()
            for _ in range(100):
                with results_lock:
                    if wanted in results:
                        break
                time.sleep(0.1)
            with results_lock:
                s.sendall(results.pop(wanted, "nothing\n").encode())


results, results_lock = {}, threading.Lock()


class open_result:
    def __init__(self, case):
        self.case, self.said = case, ""

    def __enter__(self):
        return self

    def write(self, text):
        self.said += text

    def __exit__(self, *_):
        with results_lock:
            results[self.case] = self.said


def serve(port):
    server = socket.create_server(("", port), backlog=64)
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()


class Tester:
    def __init__(self, host, port):
        self.at = (host, port)

    def open(self, case):
        s = socket.create_connection(self.at, 20)
        s.settimeout(60)
        s.sendall(f"{case}\n".encode())
        return s

    def result(self, case):
        with self.open("result") as s:
            s.sendall(f"{case}\n".encode())
            return rest(s)

    def half_close(self):
        """A client that closes its direction and waits gets the whole answer."""
        for size in (0, 1, LARGE):
            with self.open("half-close") as s:
                data = os.urandom(size)
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                assert rest(s) == told(data), size

    def server_first(self):
        """A server that closes first gets all that the client still sends."""
        with self.open("server-first") as s:
            assert rest(s) == b"banner\n"
            data = os.urandom(LARGE)
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        assert self.result("server-first") == told(data)

    def clogged(self):
        """A client that closes while all buffers are full loses none of the data that its kernel has accepted."""
        with self.open("clogged") as s:
            s.setblocking(False)
            data, written, since = os.urandom(64 * LARGE // 8), 0, time.monotonic()
            while time.monotonic() < since + 1.0:
                try:
                    written += s.send(data[written : written + 65536])
                except BlockingIOError:
                    time.sleep(0.02)
            s.settimeout(60)
            s.shutdown(socket.SHUT_WR)
            assert rest(s) == told(data[:written]), written

    def clogged_answer(self):
        """If a server closes while the client does not read, all data arrive later."""
        with self.open("clogged-answer") as s:
            time.sleep(2.0)
            size, digest = line(s)
            data = rest(s)
            assert (len(data), hashlib.sha256(data).hexdigest()) == (int(size), digest), len(data)

    def both(self):
        """Both ends send and close at the same time."""
        with self.open("both") as s:
            data = os.urandom(LARGE)
            thread = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
            thread.start()
            got = rest(s)
            thread.join()
        assert self.result("both") == told(data) + told(got)

    def reset(self):
        """A server's reset arrives as a reset."""
        with self.open("reset") as s:
            s.sendall(b"x")
            try:
                end = s.recv(1)
            except ConnectionResetError:
                return
            raise AssertionError(f"an end: {end!r}")

    def unread(self):
        """A client that closes with unread data resets the server."""
        s = self.open("unread")
        s.recv(1)
        time.sleep(0.5)
        s.close()
        assert self.result("unread") == b"reset\n"


def main():
    match sys.argv[1:]:
        case ["serve", port]:
            serve(int(port))
        case ["try", host, port]:
            tester, failed = Tester(host, int(port)), 0
            for name in ("half_close", "server_first", "clogged", "clogged_answer", "both", "reset", "unread"):
                try:
                    getattr(tester, name)()
                    print(f"holds  {getattr(tester, name).__doc__}", flush=True)
                except (AssertionError, OSError, EOFError) as e:
                    failed += 1
                    print(f"FAILS  {getattr(tester, name).__doc__}: {type(e).__name__} {e}", flush=True)
            return 1 if failed else 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
