"""`skyhop.stp`: streams between two endpoints, and with the command's key files.

Follows the habits of `socket`. Leaves out loss and delay, which the library's tests have.
"""

import hashlib
import subprocess
import threading
from pathlib import Path

import pytest

import skyhop
from skyhop import stp

HANGS_S = 30
SKYHOP = Path(__file__).parents[2] / "target" / "release" / "skyhop"


@pytest.fixture(params=["insecure", "shared", "pair"])
def two(request, tmp_path):
    """A listening server and a client, with each sort of key."""
    if request.param == "insecure":
        server, client = {"insecure": True}, {"insecure": True}
    elif not SKYHOP.exists():
        pytest.skip(f"no {SKYHOP}: make build")
    elif request.param == "shared":
        subprocess.run([SKYHOP, "stp", "key", "--out", tmp_path / "link.key"], check=True, capture_output=True)
        server = client = {"key": tmp_path / "link.key"}
    else:
        for name in ("ship", "ground"):
            subprocess.run([SKYHOP, "stp", "key", "--pair", "--out", tmp_path / f"{name}.key"], check=True, capture_output=True)
        server = {"key": tmp_path / "ground.key", "peers": [tmp_path / "ship.key.pub"]}
        client = {"key": tmp_path / "ship.key", "peers": [tmp_path / "ground.key.pub"]}
    with stp.Endpoint("127.0.0.1:0", **server) as far, stp.Endpoint("127.0.0.1:0", **client) as near:
        far.listen()
        yield far, near


def test_both_directions_carry_and_end_by_themselves(two):
    far, near = two
    data = bytes(range(256)) * 20_000
    found = {}

    def serve():
        stream, peer = far.accept(timeout_s=HANGS_S)
        found["sha256"] = hashlib.sha256(stream.read_all(HANGS_S)).digest()
        found["peer"] = peer
        stream.write(data[:1_000_000], HANGS_S)
        stream.finish(HANGS_S)

    server = threading.Thread(target=serve)
    server.start()
    with near.connect(far.address) as stream:
        assert stream.write(data, HANGS_S) == len(data)
        stream.finish(HANGS_S)
        assert stream.read_all(HANGS_S) == data[:1_000_000]
        stats = stream.stats()
    server.join()
    assert found == {"sha256": hashlib.sha256(data).digest(), "peer": near.address}
    assert (stats.written_bytes, stats.acknowledged_bytes, stats.received_bytes) == (len(data), len(data), 1_000_000)
    assert len(data) < stats.sent_bytes < 1.5 * len(data) and 0 < stats.srtt_s < HANGS_S


def test_waits_end(two):
    far, near = two
    with pytest.raises(TimeoutError):
        far.accept(timeout_s=0.05)
    stream = near.connect(far.address)
    stream.write(b"x")
    with pytest.raises(TimeoutError):
        stream.read(timeout_s=0.05)
    other, _ = far.accept(timeout_s=HANGS_S)
    assert other.read(timeout_s=HANGS_S) == b"x"
    other.reset()
    with pytest.raises(ConnectionResetError):
        stream.read(timeout_s=HANGS_S)


def test_mistakes_are_told(tmp_path):
    with pytest.raises(ValueError, match="key: give a file of a key, or insecure=True"):
        stp.Endpoint("127.0.0.1:0")
    with pytest.raises(ValueError, match="key: .*none.key does not exist"):
        stp.Endpoint("127.0.0.1:0", key=tmp_path / "none.key")
    with pytest.raises(ValueError, match="listen: .* is no address"):
        stp.Endpoint("somewhere", insecure=True)
    with pytest.raises(ValueError, match="rate: "):
        stp.Endpoint("127.0.0.1:0", insecure=True, rate="20 mbps")
    with pytest.raises(OSError, match="too small for one stream"):
        stp.Endpoint("127.0.0.1:0", insecure=True, memory="100 kB")
    endpoint = stp.Endpoint("127.0.0.1:0", insecure=True)
    endpoint.close()
    with pytest.raises(OSError, match="closed"):
        endpoint.connect("127.0.0.1:9")


def test_the_example_of_the_module():
    import doctest

    assert doctest.testmod(skyhop.stp).failed == 0
