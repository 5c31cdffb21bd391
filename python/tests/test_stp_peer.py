"""skyhop's STP against a peer that was written from docs/stp.md alone, through a relay that drops, duplicates, reorders and
alters packets.

Follows docs/stp.md and docs/stp-hosts.md; skyhop's packets are checked against their rules, one by one.
Differs from crates/live/tests, in which both ends are the same machine: here a misinterpretation of the document is detected.
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
import stp_association as seal  # noqa: E402
import stp_peer as stp  # noqa: E402
from cryptography.exceptions import InvalidTag  # noqa: E402
from noise.exceptions import NoiseInvalidMessage, NoiseValueError  # noqa: E402

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SKYHOP = TARGET / "release" / "skyhop"
built = pytest.mark.skipif(not SKYHOP.exists(), reason=f"no {SKYHOP}: make build")
HANGS_S = 60
# Ephemeral keys are fixed so that a test is reproducible.
pytestmark = pytest.mark.filterwarnings("ignore:One of ephemeral keypairs")


class Relay:
    """One direction of a bad path, seeded: one packet in nine is dropped, duplicated, reordered or altered."""

    def __init__(self, seed, limit=65536):
        self.chance, self.limit, self.held = random.Random(seed), limit, []

    def carry(self, datagram):
        """Packets that arrive after this one is sent; a held packet follows once two others have overtaken it."""
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
        """Releases held packets that wait for at most that many others."""
        out = [datagram for count, datagram in self.held if count <= left]
        self.held = [late for late in self.held if late[0] > left]
        return out


class Watch:
    """Checks skyhop's decrypted packets against the MUSTs of the document."""

    def __init__(self, features):
        self.features = features
        self.sent, self.asked, self.due, self.next, self.poll, self.behind = {}, {}, {}, None, None, None
        self.edge, self.most, self.names, self.came, self.begun = None, 1460, {}, set(), False
        self.polls, self.first, self.times, self.probes, self.largest = set(), None, {}, [], 0

    def leaves(self, datagram):
        """Checks a packet that skyhop has sent."""
        packet = stp.parse(datagram)
        assert stp.emit(packet) == datagram, "one way to write a packet"
        begin = packet.bgn or packet.bgnak
        if self.next is None and begin:
            self.next, self.edge = begin.first, begin.first + 64
        fresh = False
        if packet.data:
            self.largest = max(self.largest, len(datagram))
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
            step = (packet.poll - (self.poll if self.poll is not None else packet.poll - 1)) % (1 << 32)
            # A lone POLL may repeat its timestamp, to validate an address.
            assert 0 < step < 1 << 31 or (step == 0 and packet.type == stp.POLL), "POLLs grow"
            self.poll = packet.poll
            # A copy of the last SD may follow each POLL that is not answered.
            if self.sent:
                self.due[self.next - 1] = self.due.get(self.next - 1, 0) + 1
        if packet.padding:
            self.probes.append(len(datagram))
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
        """Records a packet that skyhop has received."""
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
                            # The retransmission and at most three copies of it (docs/stp.md §6.1, `tail_copies`).
                            self.due[n] = self.due.get(n, 0) + 4


class Host:
    """The peer on a UDP socket, behind a relay for each direction."""

    def __init__(self, connection, seed=0, association=None, to=None, limit=65536, features=stp.COMPACT | stp.REPORT):
        self.connection, self.association, self.to = connection, association, to
        self.out, self.back = Relay(f"{seed} to skyhop"), Relay(f"{seed} from skyhop", limit)
        self.watch = None if association else Watch(connection.features & features)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # The socket's buffer holds all that skyhop may send at once, so that only the relay loses packets.
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
            elif datagram[0] == seal.SEALED and peer.peer is not None:
                self.connection.handle(now, stp.parse(peer.open(datagram)))
            elif datagram[0] == seal.SEALED:
                self.early.append(datagram)
            elif datagram[0] == seal.HELLO and not self.connection.initiator:
                if peer.peer is None:
                    self.answers[datagram] = peer.handle_hello(datagram)
                if datagram in self.answers:
                    self._send(self.answers[datagram])
            elif datagram[0] in (seal.ANSWER, seal.COOKIE) and self.connection.initiator and peer.peer is None:
                peer.handle_answer(datagram)
                self.hello_at = 0.0
        except (stp.Malformed, InvalidTag, NoiseInvalidMessage, NoiseValueError, IndexError):
            pass

    def turn(self, now):
        """Sends pending packets, and receives for some milliseconds."""
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
    """Turns until the command has ended; returns its exit code and output."""
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


# The conversation of two `skyhop stp` processes (docs/stp-hosts.md, "A transfer").

FILE = random.Random("a file").randbytes(300_000)
DIGEST = hashlib.sha256(FILE).digest()
PUT, GET = 1, 2


def request(ask, size=0xFFFFFFFFFFFFFFFF, name=b"file.bin"):
    return b"SKYSTP-1" + struct.pack(">BQH", ask, size, len(name)) + name


def blocks(data):
    cut = [data[at : at + 200_000] for at in range(0, len(data), 200_000)]
    return b"".join(struct.pack(">I", len(block)) + block for block in [*cut, b""]) + hashlib.sha256(data).digest()


def unblock(stream):
    """Contents of the blocks, if complete and with the right digest."""
    data = b""
    while size := struct.unpack_from(">I", stream)[0]:
        data, stream = data + stream[4 : 4 + size], stream[4 + size :]
    assert stream[4:] == hashlib.sha256(data).digest()
    return data


class Application:
    """Writes `words`, reads `sd_per_turn` SDs a turn, and then writes the result of `reply` for the data read, once sufficient."""

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
    """Options of skyhop and the peer's association, from fixed keys: runs are identical except for the clock."""
    if form in ("plain", "extended"):
        return ["--insecure"], None
    own = dict(index=b"\1\2\3", ephemeral=bytes(range(32)), wanted=b"cookie of 16 byt" if form == "cookie" else b"")

    def write(kind, text, name):
        path = folder / name
        path.write_text(f"skyhop-stp-{kind}-1 {text}\n", encoding="ascii")
        path.chmod(0o600)
        return str(path)

    if form != "pair":
        return ["--key", write("shared", KEY, "link.key")], seal.Association(shared=bytes.fromhex(KEY), **own)
    ship, ground = (seal.public(bytes.fromhex(key)) for key in (SHIP, GROUND))
    options = ["--key", write("private", GROUND, "ground.key"), "--peer", write("public", ship.hex(), "ship.key.pub")]
    options += ["--cipher", "chacha20-poly1305"]
    return options, seal.Association(private=bytes.fromhex(SHIP), public=ground, cipher=seal.CHACHA, **own)


def command(*arguments, cwd):
    return subprocess.Popen(
        [str(SKYHOP), "stp", *map(str, arguments)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def serve(folder, *options):
    """Starts `skyhop stp serve`, and returns its address."""
    process = command("serve", "--listen", "127.0.0.1:0", "--once", *options, cwd=folder)
    for line in process.stderr:
        if found := re.search(r"listening at 127.0.0.1:(\d+)", line):
            return process, ("127.0.0.1", int(found[1]))
    pytest.fail("does not listen")


FORMS = ["plain", "extended", "shared", "pair", "cookie"]
odd = {"plain": {"features": 0}}


def listener(form, association=None, seed=1, limit=65536, **more):
    """A peer that waits for skyhop; its sequence numbers and clock are about to wrap."""
    connection = stp.Connection(0, 0, first=stp.WRAP - 30, clock=(1 << 32) - 1000, **odd.get(form, {}), **more)
    return Host(connection, f"{form} {seed}", association, limit=limit)


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


@built
@pytest.mark.parametrize("form", ["plain", "extended", "pair"])
def test_skyhop_keeps_to_the_credit(tmp_path, form):
    """The peer takes eight SDs at a time, three each turn, and reports one gap for each STAT."""
    options, association = keys(tmp_path, form)
    (tmp_path / "file.bin").write_bytes(FILE)
    process, to = serve(tmp_path, "--dir", ".", *options)
    host = initiator(form, to, association, seed=3, window=8, gaps_per_stat=1)

    def reply(heard, finished):
        return b"\0" + DIGEST if finished else None

    app = Application(request(GET), reply, sd_per_turn=3)
    code, said = drive(host, process, app)
    assert (code, app.heard[:41], unblock(app.heard[41:])) == (0, bytes(33) + struct.pack(">Q", len(FILE)), FILE), said


@built
def test_a_narrow_path_gets_no_large_data(tmp_path):
    """Sizes are probed with padded POLLs; every SD is at most as large as a STAT has confirmed."""
    (tmp_path / "file.bin").write_bytes(FILE)
    host = listener("extended", limit=1350)
    app = Application(reply=lambda heard, finished: b"\0" + DIGEST if finished else None)
    process = command("send", "file.bin", f"127.0.0.1:{host.port}", "--insecure", cwd=tmp_path)
    code, said = drive(host, process, app)
    assert (code, unblock(app.heard[len(request(PUT, len(FILE))) :])) == (0, FILE), said
    assert max(host.watch.probes) > 1350 >= host.watch.largest > 1200


FAILURES = {
    "digest": (b"\0" + bytes(32), None, "are not those sent"),
    "reply": (b"\1\0\7no room", None, "no room"),
    "aborted": (None, 1, ""),
    "refused": (None, 3, ""),
    "version": (None, 4, ""),
}


@built
@pytest.mark.parametrize("failure", FAILURES)
def test_a_transfer_that_fails_says_so(tmp_path, failure):
    last, reason, words = FAILURES[failure]
    (tmp_path / "file.bin").write_bytes(FILE)
    host = listener("extended", version=2 if failure == "version" else 1)

    def reply(heard, finished):
        if reason in (1, 3) and heard:
            host.connection.refusal = reason
        return last if finished else None

    app = Application(reply=reply)
    process = command("send", "file.bin", f"127.0.0.1:{host.port}", "--insecure", "-q", cwd=tmp_path)
    code, said = drive(host, process, app)
    assert code == 1 and words in said and said.strip(), said


class Bare:
    """A socket without a relay, for forbidden behaviour of a peer."""

    def __init__(self, to):
        self.socket, self.to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), to
        self.socket.settimeout(HANGS_S)

    def send(self, packet):
        self.socket.sendto(packet if isinstance(packet, bytes) else stp.emit(packet), self.to)

    def next(self):
        return self.socket.recv(65536)


@built
def test_what_a_listener_answers(tmp_path):
    """One packet after another; a packet without an answer is followed by one that has one."""
    process, to = serve(tmp_path, "--to", "out", "--insecure", "--window", "20 kB")
    bare = Bare(to)

    def packet(instance, **parts):
        return stp.Packet(5000, to[1], parts.pop("n_s", stp.WRAP - 2), instance, **parts)

    def begin(**odd):
        return stp.Begin(stp.WRAP - 2, 100, 9, **odd)

    try:
        # Dropped: no BGN, a wrong checksum, an unknown type, a truncated BGN. Answered: another version.
        bare.send(packet(1, data=b"data", poll=1))
        bare.send(stp.emit(packet(2, bgn=begin()))[:-1] + b"\x55")
        bare.send(stp.emit(packet(3, bgn=begin()))[:20])
        bare.send(packet(4, bgn=begin(version=2)))
        answer = stp.parse(bare.next())
        assert (answer.type, answer.end, answer.versions, answer.instance, answer.destination) == (stp.END, 4, (1, 1), 4, 5000)
        # Unknown features are ignored; the window of 20 kB is smaller than the data sent.
        bare.send(packet(5, bgn=begin(features=0xFF), poll=7))
        answer = stp.parse(bare.next())
        assert (answer.bgnak.features, answer.bgnak.count, answer.instance) == (7, 9, 5)
        window = (answer.bgnak.n_mr + 2) % stp.WRAP
        assert answer.stat.echo == 7 and window == 20_000 // answer.bgnak.most
        # Data beyond VR(MR) are not accepted, and the POLL reports no more than the window.
        bare.send(packet(5, n_s=stp.WRAP - 2 + window, data=b"beyond"))
        bare.send(packet(5, n_s=window + 50, poll=8))
        stat = stp.parse(bare.next()).stat
        assert (stat.echo, stat.n_r, stat.report[0]) == (8, stp.WRAP - 2, 0)
        assert [(a % stp.WRAP, b % stp.WRAP) for a, b in stat.gaps] == [(stp.WRAP - 2, window - 2)]
        # A packet of another instance, and a copy of a POLL whose packets have come, get no answer; a copy of a BGN does.
        bare.send(packet(5, data=b"SKYSTP-1"))
        bare.send(packet(6, n_s=0, poll=9))
        bare.send(packet(5, n_s=stp.WRAP - 2, poll=8))
        bare.send(packet(5, bgn=begin(), poll=11, n_s=stp.WRAP - 1))
        answer = stp.parse(bare.next())
        assert (answer.bgnak.count, answer.stat.echo, answer.stat.n_r) == (9, 11, stp.WRAP - 1)
        # Aborted: the command ends with an error.
        bare.send(packet(5, end=1))
        assert process.wait(HANGS_S) == 1
    finally:
        process.kill()
        process.communicate()
        bare.socket.close()


@built
def test_a_listener_under_load_wants_a_cookie(tmp_path):
    """The same first message gets the same ANSWER, and another key a refusal."""
    options, association = keys(tmp_path, "shared")
    process, to = serve(tmp_path, "--dir", ".", *options)
    bare = Bare(to)
    for number in range(64):
        other = seal.Association(bytes([9, 9, number]), shared=bytes.fromhex(KEY), ephemeral=bytes([number + 1] * 32))
        bare.send(hello := other.hello())
        answer = bare.next()
        assert answer[:4] == bytes([seal.ANSWER, 9, 9, number]) and len(answer) < len(hello)
    bare.send(hello)
    assert bare.next() == answer
    bare.socket.close()
    host = initiator("shared", to, association)
    app = Application(request(PUT, len(FILE)) + blocks(FILE), reply=lambda heard, finished: b"")
    code, said = drive(host, process, app)
    assert (code, app.heard, len(association.cookie)) == (0, b"\0" + DIGEST, 16), said


@built
def test_a_wrong_key_is_refused(tmp_path):
    options, _ = keys(tmp_path, "shared")
    process, to = serve(tmp_path, "--dir", ".", *options)
    bare = Bare(to)
    try:
        other = seal.Association(b"\1\2\3", shared=bytes(32), ephemeral=bytes(range(32)))
        bare.send(hello := other.hello())
        assert bare.next() == bytes([seal.REFUSED]) + b"\1\2\3" + hello[8:16] + b"\1"
    finally:
        process.kill()
        process.communicate()
        bare.socket.close()


def test_the_documents_packets():
    section = (ROOT / "docs/stp.md").read_text(encoding="utf-8").split("\n## 13.")[1]
    packets = re.split(r"^# .*\n", section.split("```hex\n")[1].split("```")[0], flags=re.MULTILINE)[1:]
    assert len(packets) > 20
    for text in packets:
        data = bytes.fromhex(text)
        assert stp.emit(stp.parse(data)) == data
