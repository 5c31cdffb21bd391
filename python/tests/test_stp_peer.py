"""skyhop's STP against a peer that was written from docs/stp.md alone, through a relay that drops, doubles, reorders and alters.

Follows docs/stp.md and docs/stp-hosts.md; what skyhop sends is held against their rules, packet by packet.
Differs from crates/live/tests, whose both ends are one machine: a misreading of the document cannot agree with itself here.
Leaves out rates and times; nothing is measured.
"""

import hashlib
import os
import random
import re
import select
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

noise = pytest.importorskip("noise", reason="noiseprotocol is not installed: pip install -r python/requirements-test.txt")
import stp_peer as stp  # noqa: E402
from cryptography.exceptions import InvalidTag  # noqa: E402
from noise.exceptions import NoiseInvalidMessage, NoiseValueError  # noqa: E402

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SKYHOP = TARGET / "release" / "skyhop"
built = pytest.mark.skipif(not SKYHOP.exists(), reason=f"no {SKYHOP}: make build")
HANGS_S = 60
# Fixed ephemeral keys are what a test wants.
pytestmark = pytest.mark.filterwarnings("ignore:One of ephemeral keypairs")


class Relay:
    """One direction of a bad path, seeded: one packet in nine does not come through as it is."""

    def __init__(self, seed, limit=65536):
        self.chance, self.limit, self.held = random.Random(seed), limit, []

    def carry(self, datagram):
        """What arrives, now that this has been sent; what was held goes when two have overtaken it."""
        out, roll = [datagram], self.chance.random()
        if len(datagram) > self.limit or roll < 0.04:
            out = []
        elif roll < 0.06:
            out = [datagram] * 2
        elif roll < 0.08:
            at = self.chance.randrange(len(datagram))
            out = [datagram[:at] + bytes([datagram[at] ^ self.chance.randrange(1, 256)]) + datagram[at + 1 :]]
        elif roll < 0.11:
            self.held.append([2, datagram])
            return []
        for late in self.held:
            late[0] -= 1
        return out + self.flush(0)

    def flush(self, left=2):
        """What was held and has no more than so many to wait for."""
        out = [datagram for count, datagram in self.held if count <= left]
        self.held = [late for late in self.held if late[0] > left]
        return out


class Watch:
    """Holds what skyhop sends in plain packets against the MUSTs."""

    def __init__(self, features):
        self.features = features
        self.sent, self.asked, self.due, self.next, self.poll, self.behind = {}, {}, {}, None, None, None
        self.edge, self.most, self.names, self.came, self.begun = None, 1460, {}, set(), False
        self.polls, self.first, self.sizes, self.times = set(), None, [], {}

    def leaves(self, datagram):
        """skyhop has sent this."""
        packet = stp.parse(datagram)
        assert stp.emit(packet) == datagram, "one way to write a packet"
        begin = packet.bgn or packet.bgnak
        if self.next is None and begin:
            self.next, self.edge = begin.first, begin.first + 64
        fresh = False
        if packet.data:
            number = stp.near(packet.n_s, self.next)
            fresh = number == self.next
            if fresh:
                assert number < self.edge, "credit"
                assert not self.begun or len(packet.data) <= self.most, "most payload"
                assert self.behind is None, "nothing new behind END"
                self.sent[number], self.next = packet.data, number + 1
            else:
                assert self.sent[number] == packet.data, "an SD keeps its bytes"
                assert self.due.get(number, 0) > 0, f"{number} again without having been missed"
                self.due[number] -= 1
            self.times[number] = self.times.get(number, 0) + 1
        else:
            assert packet.n_s == self.next % stp.WRAP, "without SD, N(S) is the next new SD's"
        if packet.poll is not None or packet.end == 0:
            assert fresh or not packet.data, "POLL and END ride on the newest SD"
        if packet.poll is not None:
            assert self.poll is None or 0 < (packet.poll - self.poll) % (1 << 32) < 1 << 31, "POLLs grow"
            self.poll = packet.poll
            self.sizes.append(packet.padding)
        if packet.end == 0:
            assert self.behind in (None, packet.behind), "END does not move"
            self.behind = packet.behind
        if packet.data:
            self.asked[number] = self.poll
        for part in (packet.stat, packet.ustat):
            if part:
                self._claims(part)

    def _claims(self, part):
        at = max(self.came) if self.came else self.first
        n_r, n_mr = stp.near(part.n_r, at), stp.near(part.n_mr, at)
        start, upto = (stp.near(n, at) for n in (part.start, part.upto))
        gaps = {n for a, b in part.gaps for n in range(stp.near(a, at), stp.near(b, at))}
        assert n_r <= n_mr
        assert part.short == bool(self.features & stp.COMPACT)
        assert all(n in self.came for n in range(self.first, n_r)), "acknowledged and never arrived"
        if part.echo is None:
            assert gaps and min(gaps) >= n_r and part.report is None
            assert part.short or len(part.gaps) == 1, "a plain USTAT names one gap"
        else:
            assert part.echo in self.polls and n_r <= start <= upto
            assert not part.report or self.features & stp.REPORT
            assert all(n in self.came or n in gaps for n in range(start, upto)), "not in a gap and never arrived"

    def arrives(self, datagram):
        """skyhop is given this."""
        try:
            packet = stp.parse(datagram)
        except stp.Malformed:
            return
        begin = packet.bgn or packet.bgnak
        if begin:
            self.first, self.begun, self.most = begin.first, True, begin.most
            if packet.bgnak:
                self.edge = max(self.edge, stp.near(begin.n_mr, self.next))
        if packet.data and self.first is not None:
            self.came.add(stp.near(packet.n_s, max(self.came, default=self.first)))
        if packet.poll is not None:
            self.polls.add(packet.poll)
        for part in (packet.stat, packet.ustat):
            if part and self.next is not None:
                self.edge = max(self.edge, stp.near(part.n_mr, self.next))
                for gap in part.gaps:
                    for n in range(*(stp.near(edge, self.next) for edge in gap)):
                        asked = self.asked.get(n)
                        older = asked is None or (part.echo is not None and 0 < (part.echo - asked) % (1 << 32) < 1 << 31)
                        if older if part.echo is not None else self.times.get(n) == 1:
                            # The repair, and at the end of a transfer its copy.
                            self.due[n] = self.due.get(n, 0) + 2


class Host:
    """The peer on a UDP socket, behind a relay for each direction."""

    def __init__(self, connection, seed=0, association=None, to=None, limit=65536, features=stp.COMPACT | stp.REPORT):
        self.connection, self.association, self.to = connection, association, to
        self.out, self.back = Relay(f"{seed} to skyhop"), Relay(f"{seed} from skyhop", limit)
        self.watch = None if association else Watch(connection.features & features)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # What skyhop may send at once fits, so that nothing is lost but what the relay loses.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        connection.source = connection.source or self.port
        self.hello_at, self.answers, self.early = 0.0, {}, []

    def _send(self, datagram):
        for piece in self.out.carry(datagram):
            self._deliver(piece)

    def _deliver(self, datagram):
        if self.watch:
            self.watch.arrives(datagram)
        self.socket.sendto(datagram, self.to)

    def _take(self, now, datagram):
        peer = self.association
        try:
            if peer is None:
                self.connection.handle(now, stp.parse(datagram))
            elif datagram[0] == stp.SEALED and peer.peer is not None:
                self.connection.handle(now, stp.parse(peer.open(datagram)))
            elif datagram[0] == stp.SEALED:
                self.early.append(datagram)
            elif datagram[0] == stp.HELLO and not self.connection.initiator:
                if peer.peer is None:
                    self.answers[datagram] = peer.handle_hello(datagram)
                if datagram in self.answers:
                    self._send(self.answers[datagram])
            elif datagram[0] in (stp.ANSWER, stp.COOKIE) and self.connection.initiator and peer.peer is None:
                peer.handle_answer(datagram)
                self.hello_at = 0.0
        except (stp.Malformed, InvalidTag, NoiseInvalidMessage, NoiseValueError, IndexError):
            pass

    def turn(self, now):
        """Sends what there is to send and takes what comes within some milliseconds."""
        if self.association is not None and self.association.peer is None:
            if self.connection.initiator and now >= self.hello_at:
                self.hello_at = now + 0.2
                self._send(self.association.hello())
        elif self.to:
            self.connection.timeout(now)
            while (packet := self.connection.transmit(now)) is not None:
                data = stp.emit(packet)
                self._send(self.association.seal(data) if self.association else data)
        if not select.select([self.socket], [], [], 0.004)[0]:
            for datagram in self.out.flush() if self.to else []:
                self._deliver(datagram)
            for datagram in self.back.flush():
                self._take(now, datagram)
            return
        datagram, self.to = self.socket.recvfrom(65536)
        if self.watch:
            self.watch.leaves(datagram)
        for piece in self.back.carry(datagram):
            self._take(time.monotonic(), piece)


def drive(host, process, step):
    """Turns until the command has ended; its exit code and all that it printed."""
    begin = time.monotonic()
    with host.socket:
        while process.poll() is None:
            step(host.connection)
            host.turn(time.monotonic())
            if time.monotonic() - begin > HANGS_S:
                process.kill()
                pytest.fail("hangs: " + process.communicate()[1])
    out, err = process.communicate()
    return process.returncode, out + err


# What two `skyhop stp` say to each other (docs/stp-hosts.md, "A transfer").

FILE = random.Random("a file").randbytes(300_000)
DIGEST = hashlib.sha256(FILE).digest()
PUT, GET = 1, 2


def request(ask, size=0xFFFFFFFFFFFFFFFF, name=b"file.bin"):
    return b"SKYSTP-1" + struct.pack(">BQH", ask, size, len(name)) + name


def blocks(data):
    cut = [data[at : at + 200_000] for at in range(0, len(data), 200_000)]
    return b"".join(struct.pack(">I", len(block)) + block for block in [*cut, b""]) + hashlib.sha256(data).digest()


def unblock(stream):
    """What stands in blocks, if it is all there and has its digest."""
    data = b""
    while size := struct.unpack_from(">I", stream)[0]:
        data, stream = data + stream[4 : 4 + size], stream[4 + size :]
    assert stream[4:] == hashlib.sha256(data).digest()
    return data


class Application:
    """Says `words`, reads `sd_per_turn` SDs a turn, and then says what `reply` makes of what it has read, if that is enough."""

    def __init__(self, words=b"", reply=lambda heard, finished: None, sd_per_turn=1 << 30):
        self.words, self.reply, self.rate, self.heard, self.finished = words, reply, sd_per_turn, b"", False

    def __call__(self, connection):
        words, self.words = self.words, b""
        connection.write(words)
        heard = connection.read(self.rate)
        self.finished |= heard is None
        self.heard += heard or b""
        if not connection.finishing and (last := self.reply(self.heard, self.finished)) is not None:
            connection.write(last)
            connection.finish()


KEY, SHIP, GROUND = "5a" * 32, "77" * 32, "88" * 32


def keys(folder, form):
    """Options of skyhop, and the peer's association, made of fixed keys: a run is the same each time but for the clock."""
    if form in ("plain", "extended"):
        return ["--insecure"], None
    own = dict(index=b"\1\2\3", ephemeral=bytes(range(32)), wanted=b"cookie of 16 byt" if form == "cookie" else b"")

    def write(kind, text, name):
        path = folder / name
        path.write_text(f"skyhop-stp-{kind}-1 {text}\n", encoding="ascii")
        path.chmod(0o600)
        return str(path)

    if form != "pair":
        return ["--key", write("shared", KEY, "link.key")], stp.Association(shared=bytes.fromhex(KEY), **own)
    ship, ground = (stp.public(bytes.fromhex(key)) for key in (SHIP, GROUND))
    options = ["--key", write("private", GROUND, "ground.key"), "--peer", write("public", ship.hex(), "ship.key.pub")]
    options += ["--cipher", "chacha20-poly1305"]
    return options, stp.Association(private=bytes.fromhex(SHIP), public=ground, cipher=stp.CHACHA, **own)


def command(*arguments, cwd):
    return subprocess.Popen(
        [str(SKYHOP), "stp", *map(str, arguments)], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def serve(folder, *options):
    """`skyhop stp serve`, and where it listens."""
    process = command("serve", "--listen", "127.0.0.1:0", "--once", *options, cwd=folder)
    for line in process.stderr:
        if found := re.search(r"listening at 127.0.0.1:(\d+)", line):
            return process, ("127.0.0.1", int(found[1]))
    pytest.fail("does not listen")


FORMS = ["plain", "extended", "shared", "pair", "cookie"]
odd = {"plain": {"features": 0}}


def listener(form, association=None, seed=1, **more):
    """A peer that waits for skyhop; its numbers and its clock are about to wrap."""
    connection = stp.Connection(0, 0, first=stp.WRAP - 30, clock=(1 << 32) - 1000, **odd.get(form, {}), **more)
    return Host(connection, f"{form} {seed}", association)


def initiator(form, to, association=None, seed=1, **more):
    """A peer that opens a connection to skyhop."""
    connection = stp.Connection(0, to[1], first=stp.WRAP - 30, instance=77, count=5, clock=(1 << 32) - 1000, **odd.get(form, {}), **more)
    return Host(connection, f"{form} {seed}", association, to)


@built
@pytest.mark.parametrize("form", FORMS)
def test_what_skyhop_sends_arrives(tmp_path, form):
    (tmp_path / "file.bin").write_bytes(FILE)
    options, association = keys(tmp_path, form)
    host = listener(form, association)
    app = Application(reply=lambda heard, finished: b"\0" + DIGEST if finished else None)
    code, said = drive(host, command("send", "file.bin", f"127.0.0.1:{host.port}", *options, cwd=tmp_path), app)
    assert (code, unblock(app.heard[len(request(PUT)) :])) == (0, FILE), said
    assert app.heard.startswith(request(PUT, len(FILE))) and said.count(DIGEST.hex()) == 2, said


@built
@pytest.mark.parametrize("form", FORMS)
def test_skyhop_takes_what_is_sent(tmp_path, form):
    options, association = keys(tmp_path, form)
    process, to = serve(tmp_path, "--dir", ".", *options)
    host = initiator(form, to, association)
    app = Application(request(PUT, len(FILE)) + blocks(FILE), reply=lambda heard, finished: b"")
    code, said = drive(host, process, app)
    assert (code, app.heard, (tmp_path / "file.bin").read_bytes()) == (0, b"\0" + DIGEST, FILE), said


@built
@pytest.mark.parametrize("form", ["plain", "extended", "shared"])
def test_skyhop_gets_what_is_given(tmp_path, form):
    """skyhop's window is small, so the peer waits for credit; each STAT of the peer has one gap."""
    options, association = keys(tmp_path, form)
    host = listener(form, association, seed=2, gaps_per_stat=1)
    answer = b"\0" + bytes(32) + struct.pack(">Q", len(FILE)) + blocks(FILE)
    app = Application(reply=lambda heard, finished: answer if heard == request(GET) else None)
    given = command("receive", "file.bin", f"127.0.0.1:{host.port}", "--window", "30 kB", "--out", "taken", *options, cwd=tmp_path)
    code, said = drive(host, given, app)
    assert (code, (tmp_path / "taken").read_bytes(), app.heard) == (0, FILE, request(GET) + b"\0" + DIGEST), said
    assert DIGEST.hex() in said
