"""Streams of STP between real hosts.

Follows `skyhop_live` of the library, and `socket` in habits: an endpoint listens and connects, a stream is read and written.
Differs from a socket: one endpoint is one UDP socket for many connections, all of them encrypted unless it says otherwise.
Leaves out files, which `skyhop stp send` and `receive` move and resume.

    >>> from skyhop import stp
    >>> with stp.Endpoint("127.0.0.1:0", insecure=True) as server, stp.Endpoint(insecure=True) as client:
    ...     server.listen()
    ...     stream = client.connect(server.address)
    ...     stream.write(b"over the satellite")
    ...     far, peer = server.accept(timeout_s=5)
    ...     far.read(100)
    18
    b'over the satellite'
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from . import _skyhop

__all__ = ["Endpoint", "Stats", "Stream"]


class Stats(NamedTuple):
    """Counters of a stream. Bytes sent are those on the wire, headers included; `srtt_s` and `pace_bps` are None until they are known."""

    written_bytes: int
    acknowledged_bytes: int
    received_bytes: int
    sent_bytes: int
    srtt_s: float | None
    pace_bps: float | None


class Stream:
    """A connection of STP: bytes each way, in order. `peer` is the other host's address.

    Calls that wait let other threads run. With `timeout_s` they raise `TimeoutError` when nothing has happened for so long, and the
    stream is as it was. A connection that fails raises the exceptions of sockets: `ConnectionRefusedError`, `ConnectionResetError`,
    `TimeoutError`.
    """

    def __init__(self, connection: _skyhop.StpConnection, peer: str) -> None:
        self._connection = connection
        self.peer = peer

    def read(self, most: int = 1 << 16, timeout_s: float | None = None) -> bytes:
        """Waits for data, and returns at most `most` bytes of them; nothing at the peer's end."""
        return self._connection.read(most, timeout_s)

    def read_all(self, timeout_s: float | None = None) -> bytes:
        """Reads to the peer's end; `timeout_s` is for each wait."""
        parts = []
        while part := self.read(1 << 20, timeout_s):
            parts.append(part)
        return b"".join(parts)

    def write(self, data: bytes, timeout_s: float | None = None) -> int:
        """Writes all of the data, waiting for room; `timeout_s` is for each wait."""
        view, written = memoryview(data).cast("B"), 0
        while written < len(view):
            written += self._connection.write(bytes(view[written : written + (1 << 20)]), timeout_s)
        return written

    def finish(self, timeout_s: float | None = None) -> None:
        """Ends this direction, and waits until the peer has acknowledged every byte, and that this was all."""
        self._connection.finish(timeout_s)

    def shutdown(self) -> None:
        """Ends this direction; what was written still arrives."""
        self._connection.shutdown()

    def reset(self) -> None:
        """Breaks the connection off."""
        self._connection.reset()

    def stats(self) -> Stats:
        """Counters so far."""
        return Stats(*self._connection.stats())

    def close(self) -> None:
        """Lets go of the connection. What was written still arrives; unread data break it off, as with TCP."""
        self._connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Endpoint:
    """A UDP socket with its associations and connections.

    `listen` is its address (any, and a port of the kernel's choice). `key` is the file of a shared key or of this host's private key,
    `peers` are then the files of the others' public keys (`skyhop stp key` makes them). Without a key `insecure=True` is needed: anybody
    on the path may then read, alter and forge. `mtu` is the path's if it is known, `rate` its promised rate ("20 Mbit/s"), `window` what a
    connection holds at most of received data, `memory` what all of them hold together.
    """

    def __init__(
        self,
        listen: str = "0.0.0.0:0",
        *,
        key: str | os.PathLike[str] | None = None,
        peers: Sequence[str | os.PathLike[str]] = (),
        insecure: bool = False,
        mtu: int | None = None,
        rate: str | None = None,
        window: str | None = None,
        memory: str | None = None,
    ) -> None:
        if (key is None) != insecure:
            raise ValueError("key: give a file of a key, or insecure=True and no key")
        self._endpoint = _skyhop.StpEndpoint(
            listen, None if key is None else os.fspath(key), [os.fspath(peer) for peer in peers], mtu, rate, window, memory
        )

    @property
    def address(self) -> str:
        """The address that it is bound to, with the port."""
        return self._endpoint.address()

    @property
    def memory_bytes(self) -> int:
        """Bytes that its connections hold, written and received."""
        return self._endpoint.memory()

    def listen(self) -> None:
        """Lets others connect. `accept` does so too."""
        self._endpoint.listen()

    def accept(self, timeout_s: float | None = None) -> tuple[Stream, str]:
        """Waits for a connection: the stream, and the peer's address."""
        connection, peer = self._endpoint.accept(timeout_s)
        return Stream(connection, peer), peer

    def connect(self, peer: str) -> Stream:
        """Opens a connection; returns when data can be sent, before the peer has answered. A second one to a peer needs no handshake."""
        return Stream(self._endpoint.connect(peer), peer)

    def close(self, timeout_s: float = 2.0) -> bool:
        """Waits until nothing is owed to a peer, and tells all that this end is done. False if something was still owed."""
        return self._endpoint.close(timeout_s)

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
