"""Frames of STP's associations in Python, written from docs/stp.md §15.2 alone, as bytes and back.

Follows docs/stp.md; the numbers in brackets are its sections.
Differs from crates/wire/src/stp/frames: frames are tuples, a type's name and its fields in the document's order.
Leaves out streams, credit and other effects of frames.
"""

MOST = (1 << 62) - 1
ONE_NUMBER = {"CREDIT-EACH": 0x12, "CREDIT-ALL": 4, "CREDIT-STREAMS": 5, "CREDIT-DATAGRAMS": 6, "DATAGRAMS-BEFORE": 7}
LAST, END, OPEN, STREAM, DATAGRAM = 1, 2, 4, 8, 16


class Malformed(Exception):
    """The bytes are not valid frames (15.2)."""


def number(value):
    """A variable-length integer in its shortest form (RFC 9000 §16)."""
    for form, size in enumerate((1, 2, 4, 8)):
        if value < 1 << (8 * size - 2):
            return (value | form << (8 * size - 2)).to_bytes(size, "big")
    raise ValueError(f"{value} is above {MOST}")


def emit(frames):
    """Encodes frames as the data of an SD."""
    out = b"" if frames else b"\0"
    for at, (name, *fields) in enumerate(frames):
        last = at == len(frames) - 1
        if name == "RESET":
            stream, reason, end = fields
            out += b"\1" + number(stream) + bytes([reason]) + number(end)
        elif name == "CLASS":
            stream, change, priority, weight = fields
            out += b"\2" + number(stream) + number(change) + bytes([priority, weight])
        elif name == "CREDIT":
            out += b"\3" + number(fields[0]) + number(fields[1])
        elif name == "ENDS":
            steps = [b - a for a, b in zip([0, *fields], fields)]
            out += b"\x13" + number(len(fields)) + b"".join(map(number, steps))
        elif name in ONE_NUMBER:
            out += bytes([ONE_NUMBER[name]]) + number(fields[0])
        elif name == "STREAM":
            stream, opening, offset, end, data = fields
            out += bytes([STREAM | (LAST if last else 0) | (END if end else 0) | (OPEN if opening else 0)]) + number(stream)
            out += bytes(opening or b"") + number(offset) + (b"" if last else number(len(data))) + data
        elif name == "DATAGRAM":
            channel, offset, data = fields
            out += bytes([DATAGRAM | (LAST if last else 0)]) + number(channel) + number(offset)
            out += (b"" if last else number(len(data))) + data
        else:
            raise ValueError(name)
    return out


def parse(data):
    """Decodes the frames in the data of an SD, without PAD."""
    at, frames = 0, []

    def take(size):
        nonlocal at
        if at + size > len(data):
            raise Malformed("ends within a frame")
        at += size
        return data[at - size : at]

    def read():
        form = take(1)[0]
        more = take((1 << (form >> 6)) - 1)
        return int.from_bytes(bytes([form & 0x3F]) + more, "big")

    def contents(kind, offset):
        taken = take(len(data) - at if kind & LAST else read())
        if offset + len(taken) > MOST:
            raise Malformed("ends beyond 2^62")
        return taken

    def urgency():
        priority, weight = take(2)
        if priority > 7 or weight == 0:
            raise Malformed("a class out of range")
        return priority, weight

    names = {kind: name for name, kind in ONE_NUMBER.items()}
    while at < len(data):
        kind = take(1)[0]
        if kind == 0:
            continue
        if kind == 1:
            frames.append(("RESET", read(), take(1)[0], read()))
        elif kind == 2:
            frames.append(("CLASS", read(), read(), *urgency()))
        elif kind == 3:
            frames.append(("CREDIT", read(), read()))
        elif kind == 0x13:
            count, streams = read(), []
            for n in range(count):
                step = read()
                if n and step == 0:
                    raise Malformed("does not ascend")
                streams.append(step + (streams[-1] if streams else 0))
            if not streams or streams[-1] > MOST:
                raise Malformed("says nothing, or goes beyond 2^62")
            frames.append(("ENDS", *streams))
        elif kind in names:
            frames.append((names[kind], read()))
        elif kind & ~7 == STREAM:
            stream, opening = read(), urgency() if kind & OPEN else None
            offset = read()
            taken = contents(kind, offset)
            if not taken and not opening and not kind & END:
                raise Malformed("says nothing")
            frames.append(("STREAM", stream, opening, offset, bool(kind & END), taken))
        elif kind & ~1 == DATAGRAM:
            channel, offset = read(), read()
            taken = contents(kind, offset)
            if not taken:
                raise Malformed("says nothing")
            frames.append(("DATAGRAM", channel, offset, taken))
        else:
            raise Malformed(f"type {kind:#04x}")
    return frames
