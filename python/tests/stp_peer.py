"""A second STP: packets and machine in Python, written from the document alone, for interoperability tests.

Follows docs/stp.md §3 to §7; the numbers in brackets are its sections.
Differs from crates/transport/src/stp in everything that the documents leave open: a fixed window, no pacing, answers combined
with data.
Leaves out congestion control (8), the search for the path's MTU (6.4; it answers the other's), keep-alives, lingering, replay windows.
"""

import struct
from dataclasses import dataclass, field

SD, POLL, STAT, USTAT, BGN, BGNAK, END, ENDAK = (1 << bit for bit in range(8))
COMPACT, REPORT, ECN = 1, 2, 4
SHORT, REPORTED, BARE, MARKED = 1, 2, 4, 8
WRAP, HALF = 1 << 24, 1 << 23


class Malformed(Exception):
    """The bytes are not a valid packet (9)."""


@dataclass
class Begin:
    """BGN or BGNAK (3.2)."""

    first: int
    n_mr: int
    count: int
    features: int = COMPACT | REPORT
    most: int = 1400
    version: int = 1


@dataclass
class List:
    """STAT, or USTAT if there is no echo (3.2, 3.3). Numbers modulo 2^24; gaps are pairs of start and end, the end excluded."""

    n_r: int
    n_mr: int
    gaps: list = field(default_factory=list)
    echo: int | None = None
    start: int = 0
    upto: int = 0
    report: tuple | None = None
    short: bool = False
    marks: tuple | None = None


@dataclass
class Packet:
    """Contents of a packet (3). `poll` is a timestamp, `end` a reason, `versions` the listed ones (15.1), `padding` the bytes after a
    lone POLL."""

    source: int = 0
    destination: int = 0
    n_s: int = 0
    instance: int = 0
    bgn: Begin | None = None
    bgnak: Begin | None = None
    end: int | None = None
    versions: tuple = (0, 0)
    endak: bool = False
    stat: List | None = None
    ustat: List | None = None
    poll: int | None = None
    data: bytes = b""
    padding: int = 0

    @property
    def type(self):
        parts = (self.data, self.poll is not None, self.stat, self.ustat, self.bgn, self.bgnak, self.end is not None, self.endak)
        return sum(1 << bit for bit, part in enumerate(parts) if part)

    @property
    def behind(self):
        return self.n_s + 1 if self.data else self.n_s


def checksum(data):
    """Checksum by RFC 1071 (3.1); 0 over a packet that includes its checksum."""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def distance(value):
    """A variable-length integer (RFC 9000 §16)."""
    for form, limit in enumerate((1 << 6, 1 << 14, 1 << 30)):
        if value < limit:
            return (value | form << (8 * (1 << form) - 2)).to_bytes(1 << form, "big")
    raise ValueError(value)


def emit(packet):
    """Encodes the packet (3)."""

    def begin(part):
        return struct.pack(">BBHIII", part.version, part.features, part.most, part.first % WRAP, part.n_mr % WRAP, part.count)

    def answer(part):
        bare = not part.short and part.echo is not None and not part.gaps and part.start == part.upto == part.n_r
        flags = (SHORT if part.short else 0) | (REPORTED if part.report else 0) | (BARE if bare else 0) | (MARKED if part.marks else 0)
        head = struct.pack(">I", flags << 24 | part.n_r % WRAP)
        if part.short:
            body, at = [distance((part.n_mr - part.n_r) % WRAP)], part.n_r
            if part.echo is not None:
                head += struct.pack(">I", part.echo)
                body += [distance((part.start - part.n_r) % WRAP), distance((part.upto - part.start) % WRAP)]
                at = part.start
            body.append(distance(len(part.gaps)))
            for start, behind in part.gaps:
                body += [distance((start - at) % WRAP), distance((behind - start) % WRAP)]
                at = behind
            head += b"".join(body)
        else:
            gaps = [number % WRAP for gap in part.gaps for number in gap]
            if part.echo is None:
                head += struct.pack(">I", len(part.gaps) << 24 | part.n_mr % WRAP)
            else:
                head += struct.pack(">2I", part.echo, part.n_mr % WRAP)
                head += b"" if bare else struct.pack(">3I", part.start % WRAP, part.upto % WRAP, len(part.gaps))
            head += struct.pack(f">{len(gaps)}I", *gaps)
        report = struct.pack(">3I", *part.report) if part.report else b""
        return head + report + (struct.pack(">2I", *part.marks) if part.marks else b"")

    out = struct.pack(">HHIHH", packet.source, packet.destination, packet.type << 24 | packet.n_s % WRAP, 0, packet.instance)
    for part in (packet.bgn, packet.bgnak):
        out += begin(part) if part else b""
    out += bytes([packet.end, *packet.versions, 0]) if packet.end is not None else b""
    for part in (packet.stat, packet.ustat):
        out += answer(part) if part else b""
    out += struct.pack(">I", packet.poll) if packet.poll is not None else b""
    out += packet.data or bytes(packet.padding)
    return out[:8] + struct.pack(">H", checksum(out)) + out[10:]


def parse(data):
    """Decodes a packet, or raises Malformed (9)."""
    try:
        return _parse(data)
    except (struct.error, IndexError) as error:
        raise Malformed("too short") from error


def _parse(data):
    source, destination, kind_n_s, _, instance = struct.unpack_from(">HHIHH", data)
    kind, at = kind_n_s >> 24, 12
    packet = Packet(source, destination, kind_n_s % WRAP, instance, endak=bool(kind & ENDAK))
    if kind == 0 or checksum(data):
        raise Malformed("type or checksum")

    def take(form):
        nonlocal at
        values = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return values if len(values) > 1 else values[0]

    def varint():
        nonlocal at
        size = 1 << (data[at] >> 6)
        value = int.from_bytes(data[at : at + size], "big") & ((1 << (8 * size - 2)) - 1)
        at += size
        if size == 8 or at > len(data) or value >= WRAP:
            raise Malformed("distance")
        return value

    def begin():
        version, features, most, first, n_mr, count = take(">BBHIII")
        return Begin(first % WRAP, n_mr % WRAP, count, features, most, version)

    def answer(polled):
        flags_n_r = take(">I")
        flags, part = flags_n_r >> 24, List(flags_n_r % WRAP, 0)
        part.short = bool(flags & SHORT)
        part.echo = take(">I") if polled else None
        if part.short:
            part.n_mr = part.n_r + varint()
            part.start = part.n_r + (varint() if polled else 0)
            part.upto = part.start + (varint() if polled else 0)
            edge = part.start
            for _ in range(varint()):
                start = edge + varint()
                edge = start + varint()
                part.gaps.append((start, edge))
        else:
            if polled and flags & BARE:
                part.n_mr, part.start, part.upto, gaps = take(">I") % WRAP, part.n_r, part.n_r, 0
            elif polled:
                part.n_mr, part.start, part.upto, gaps = (n % WRAP for n in take(">4I"))
            else:
                gaps_n_mr = take(">I")
                part.n_mr, gaps = gaps_n_mr % WRAP, gaps_n_mr >> 24
            if gaps > len(data):
                raise Malformed("gaps")
            part.gaps = [tuple(n % WRAP for n in take(">II")) for _ in range(gaps)]
        order = [part.start if polled else part.n_r, *(n for gap in part.gaps for n in gap)]
        steps = [(b - a) % WRAP for a, b in zip(order, order[1:], strict=False)]
        if any(step >= HALF for step in steps) or 0 in steps[1::2]:
            raise Malformed("order")
        part.report = take(">3I") if polled and flags & REPORTED else None
        part.marks = take(">2I") if part.report and flags & MARKED else None
        return part

    packet.bgn = begin() if kind & BGN else None
    packet.bgnak = begin() if kind & BGNAK else None
    packet.end, *versions, _ = take(">BBBB") if kind & END else (None, 0, 0, 0)
    packet.versions = tuple(versions)
    packet.stat = answer(True) if kind & STAT else None
    packet.ustat = answer(False) if kind & USTAT else None
    packet.poll = take(">I") if kind & POLL else None
    if kind & SD:
        packet.data = data[at:]
        if not packet.data:
            raise Malformed("no data")
    elif kind & POLL:
        packet.padding = len(data) - at
    elif at != len(data):
        raise Malformed("trailing bytes")
    return packet


def near(number, reference):
    """The full number nearest to the reference that is congruent modulo 2^24 (4)."""
    return reference + (number - reference + HALF) % WRAP - HALF


class Connection:
    """One end of a connection: `handle` takes packets, `timeout` runs timers, `transmit` returns packets until none is left; `now` in
    seconds."""

    def __init__(self, source, destination, *, first, instance=None, count=None, features=COMPACT | REPORT, window=80, clock=0, **odd):
        self.source, self.destination, self.features = source, destination, features
        self.initiator, self.instance, self.count = instance is not None, instance, count
        self.version, self.size, self.most = odd.get("version", 1), odd.get("size", 1000), odd.get("most", 1400)
        self.outstanding, self.gaps_per_stat = odd.get("outstanding", 64), odd.get("gaps_per_stat", 1 << 20)
        self.first = self.vt_s = self.vt_a = first
        self.vt_ms, self.peer_most = first + 64, self.size
        self.begun = self.ended = False  # the peer's BGN or BGNAK has come; our END is acknowledged
        self.copies = 3  # SDs that carry a BGN
        self.unsent, self.finishing = bytearray(), False
        self.end_sent, self.end_due, self.endak_due = False, True, False
        self.kept = {}  # number: [data, last POLL before it left, times sent]
        self.again = set()
        self.polls, self.asked, self.answered, self.clock = {}, None, None, clock
        self.poll_due, self.timer, self.rto, self.srtt = False, None, 1.0, None
        self.window, self.consumed, self.received = window, 0, 0
        self.base = self.vr_r = self.vr_h = 0
        self.store, self.young, self.peer_end, self.inbox = {}, {}, None, []
        self.answers, self.begin_due, self.refusal, self.error = [], self.initiator, None, None
        self.exhausted, self.last_echo = False, None

    # The application's side.

    def write(self, data):
        self.unsent += data

    def finish(self):
        """Half-close after the last write."""
        self.finishing = True

    def read(self, most=1 << 30):
        """Up to that many SDs in order; None after the peer's end once all have been read."""
        taken, self.inbox = self.inbox[:most], self.inbox[most:]
        self.consumed += len(taken)
        # [7]: the last STAT again, without a list, when half of an exhausted window is free.
        if self.exhausted and self.last_echo is not None and self.vr_mr - self.vr_r >= self.window // 2:
            self.exhausted = False
            self.answers.append(List(self.vr_r, self.vr_mr, [], self.last_echo, self.vr_r, self.vr_r, None, bool(self.features & COMPACT)))
        return None if not taken and self.finished else b"".join(taken)

    @property
    def finished(self):
        """The peer has sent END and everything before it is in order."""
        return self.peer_end is not None and self.vr_r == self.peer_end

    @property
    def vr_mr(self):
        return self.base + self.consumed + self.window

    # Input: packets that arrive.

    def handle(self, now, packet):
        if packet.destination != self.source or (self.instance is not None and packet.instance != self.instance):
            return
        begin = packet.bgn or packet.bgnak
        if packet.end and packet.end > 0:
            self.error = packet.end
            return
        if not self.begun:
            if (packet.bgnak if self.initiator else packet.bgn) is None:
                return
            if not self.initiator:
                self.destination, self.instance, self.count = packet.source, packet.instance, begin.count
            if begin.version != self.version or begin.count != self.count:
                self.refusal = 4
                return
            self.begun, self.begin_due = True, not self.initiator
            self.base = self.vr_r = self.vr_h = begin.first
            self.features &= begin.features
            self.vt_ms = self.first + begin.n_mr if packet.bgn else near(begin.n_mr, self.vt_a)
            self.peer_most = begin.most
            self.timer = None
        elif packet.bgn and (packet.poll is not None or not packet.data):
            self.begin_due = True
        if packet.data:
            self._data(packet)
        behind = near(packet.behind, self.vr_r)
        if packet.end == 0 and self.vr_h <= behind <= self.vr_mr and self.peer_end in (None, behind):
            self.peer_end, self.endak_due = behind, True
            self._expose(behind)
        # [7]: later packets may have passed a POLL, so that it asks only for what has come; one that is not newer is a copy.
        newer = self.last_echo is None or 0 < ((packet.poll or 0) - self.last_echo) % (1 << 32) < 1 << 31
        if packet.poll is not None and (behind >= self.vr_r or newer):
            self._expose(behind)
            self._answer(now, packet.poll)
        self.endak_due |= self.finished and bool(packet.data)
        for part in (packet.stat, packet.ustat):
            if part:
                self._list(now, part)
        if packet.endak and self.end_sent:
            self.ended, self.vt_a = True, self.vt_s
            self.kept.clear()
            self.again.clear()

    def _data(self, packet):
        number = near(packet.n_s, self.vr_r)
        edge = self.vr_mr if self.peer_end is None else self.peer_end
        if not self.vr_r <= number < edge or number in self.store:
            return
        new = list(range(self.vr_h, number))
        self.vr_h = max(self.vr_h, number + 1)
        self.young.update((n, 0) for n in new)
        self.young.pop(number, None)
        self.store[number] = packet.data
        self.received += 1
        while self.vr_r in self.store:
            self.inbox.append(self.store.pop(self.vr_r))
            self.vr_r += 1
        self.exhausted |= self.vr_r == self.vr_mr
        # [7]: a gap is reported when three SDs have arrived since it showed.
        ripe = []
        for n in sorted(self.young):
            self.young[n] += 1
            if self.young[n] >= 3:
                ripe.append(n)
                del self.young[n]
        gaps = _runs(ripe)
        short = bool(self.features & COMPACT)
        for part in [gaps] if short and gaps else [[gap] for gap in gaps]:
            self.answers.append(List(self.vr_r, self.vr_mr, part, short=short))

    def _expose(self, behind):
        self.vr_h = max(self.vr_h, min(behind, self.vr_mr))

    def _answer(self, now, echo):
        gaps = _runs(n for n in range(self.vr_r, self.vr_h) if n not in self.store)
        short, report = bool(self.features & COMPACT), None
        if self.features & REPORT:
            report = (self.received % (1 << 32), self._clock(now), 0)
        self.answers = [part for part in self.answers if part.echo is None]
        start = self.vr_r
        # [3.2]: a list too long for one packet becomes several whose ranges follow each other.
        for k in range(0, max(len(gaps), 1), self.gaps_per_stat):
            part = gaps[k : k + self.gaps_per_stat]
            last = k + self.gaps_per_stat >= len(gaps)
            upto = self.vr_h if last else part[-1][1]
            self.answers.append(List(self.vr_r, self.vr_mr, part, echo, start, upto, report, short))
            start = upto
        self.last_echo = echo

    def _list(self, now, part):
        n_r, n_mr = near(part.n_r, self.vt_a), near(part.n_mr, self.vt_a)
        start, upto = (near(n, self.vt_a) for n in (part.start, part.upto)) if part.echo is not None else (n_r, self.vt_s)
        gaps = [(near(a, self.vt_a), near(b, self.vt_a)) for a, b in part.gaps]
        # [6.2]: a USTAT may have passed a list, whose N(R) is not before VT(A) as it was when its POLL left.
        least = self.polls[part.echo][2] if part.echo in self.polls else self.vt_a
        edges = [least, n_r, start, *(n for gap in gaps for n in gap), upto, self.vt_s]
        if edges != sorted(edges):
            return
        missing = {n for gap in gaps for n in range(*gap)}
        if part.echo is not None:
            # [6.2]: the answer to a POLL of ours, and not older than the last.
            if part.echo not in self.polls or (self.answered is not None and (part.echo - self.answered) % (1 << 32) >= 1 << 31):
                return
            sent_at, fresh, _ = self.polls[part.echo]
            if fresh:
                self.polls[part.echo][1] = False
                delay = part.report[2] / 1e6 if part.report else 0
                sample = max(now - sent_at - delay, 0)
                self.srtt = sample if self.srtt is None else self.srtt + (sample - self.srtt) / 8
                self.rto = max(0.2, 3 * self.srtt)
            self.answered, self.timer = part.echo, now + self.rto
            for n in range(start, upto):
                if n not in missing:
                    self.kept.pop(n, None)
        self.vt_ms = max(self.vt_ms, n_mr)
        for n in range(self.vt_a, n_r):
            self.kept.pop(n, None)
            self.again.discard(n)
        self.vt_a = max(self.vt_a, n_r)
        self.again &= self.kept.keys()
        for n in missing & self.kept.keys():
            _, asked, times = self.kept[n]
            older = asked is None or (part.echo is not None and 0 < (part.echo - asked) % (1 << 32) < 1 << 31)
            if older if part.echo is not None else times == 1:
                self.again.add(n)

    # Output: packets that leave.

    def _clock(self, now):
        return (int(now * 1e6) + self.clock) % (1 << 32)

    @property
    def waiting(self):
        """Data or an end are outstanding, or credit is awaited."""
        opening = self.initiator and not self.begun
        short_of_credit = self.unsent and self.vt_s >= self.vt_ms
        return not self.error and bool(opening or self.kept or short_of_credit or (self.end_sent and not self.ended))

    def timeout(self, now):
        """[5, 6.3]: repeats BGN and END, and sends a POLL if none was answered within the rto."""
        if self.timer is not None and now >= self.timer:
            self.timer, self.rto = None, min(self.rto * 2, 2.0)
            self.begin_due |= self.initiator and not self.begun
            self.poll_due = self.vt_a < self.vt_s or self.vt_s >= self.vt_ms
            self.end_due = True

    def transmit(self, now):
        """The next packet, or None."""
        packet = Packet(self.source, self.destination, self.vt_s % WRAP, self.instance or 0)
        if self.refusal:
            packet.end, self.refusal, self.error = self.refusal, None, "broken off"
            return packet
        if not self.initiator and not self.begun or self.error:
            return None
        n_mr = self.window if self.initiator else self.vr_mr % WRAP
        begin = Begin(self.first % WRAP, n_mr, self.count, self.features, self.most, self.version)
        room = min(self.size, self.peer_most)
        number = min(self.again, default=None)
        new = number is None and self.unsent and self.vt_s < self.vt_ms and self.vt_s - self.vt_a < self.outstanding
        if new:
            number, self.vt_s = self.vt_s, self.vt_s + 1
            self.kept[number] = [bytes(self.unsent[:room]), None, 0]
            del self.unsent[:room]
        if number is not None:
            self.again.discard(number)
            packet.n_s, packet.data = number % WRAP, self.kept[number][0]
        newest = packet.data == b"" or number == self.vt_s - 1 and new
        # [6.3]: the last SD before a pause carries a POLL, as does the last of a repeat; otherwise every sixteenth.
        blocked = not self.unsent or self.vt_s >= self.vt_ms or self.vt_s - self.vt_a >= self.outstanding
        self.poll_due |= bool(packet.data) and not self.again and (blocked or self.vt_s % 16 == 0)
        if self.poll_due and newest:
            self.asked = self._stamp(now)
            packet.poll, self.poll_due = self.asked, False
        if number is not None:
            self.kept[number][1:] = [self.asked, self.kept[number][2] + 1]
        if self.finishing and not self.unsent and not self.ended and self.end_due and newest:
            packet.end, self.end_due, self.end_sent = 0, False, True
        if self.initiator and not self.begun and (self.begin_due or packet.data and (self.copies > 0 or packet.poll is not None)):
            packet.bgn, self.begin_due = begin, False
            self.copies -= bool(packet.data)
        elif not self.initiator and self.begin_due:
            packet.bgnak, self.begin_due = begin, False
        if self.answers and len(self.answers[0].gaps) < 20:
            answer = self.answers.pop(0)
            packet.stat, packet.ustat = (None, answer) if answer.echo is None else (answer, None)
            self.endak_due |= packet.stat is not None
        if self.finished and self.endak_due:
            packet.endak, self.endak_due = True, False
        if not self.waiting:
            self.timer = None
        elif self.timer is None:
            self.timer = now + self.rto
        return packet if packet.type else None

    def _stamp(self, now):
        stamp = self._clock(now)
        if self.asked is not None and not 0 < (stamp - self.asked) % (1 << 32) < 1 << 31:
            stamp = (self.asked + 1) % (1 << 32)
        self.polls[stamp] = [now, True, self.vt_a]
        return stamp


def _runs(numbers):
    """Ascending numbers as pairs of start and end, the end excluded."""
    runs = []
    for n in numbers:
        if runs and runs[-1][1] == n:
            runs[-1] = (runs[-1][0], n + 1)
        else:
            runs.append((n, n + 1))
    return runs
