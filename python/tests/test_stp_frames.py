"""The frames in docs/stp.md §15.9, byte by byte, compared with its descriptions by a second implementation.

Follows docs/stp.md §15.2; crates/wire/tests/stp_frames.rs reads the same bytes.
Differs from test_stp_peer: no process is started, and nothing is sent.
Leaves out the effects of frames on streams.
"""

import random
from pathlib import Path

import pytest
import stp_frames as stp

DOCUMENT = (Path(__file__).parents[2] / "docs" / "stp.md").read_text()
VECTORS = [
    ("STREAM", [("STREAM", 0, (3, 16), 0, False, b"GET /\n")]),
    ("STREAM", [("STREAM", 6, None, 1400, False, b"data")]),
    ("STREAM", [("STREAM", 1, (0, 255), 0, True, b"")]),
    ("STREAM", [("STREAM", 0, None, 6, True, b"")]),
    ("STREAM+STREAM", [("STREAM", 2, (3, 16), 0, True, b"abc"), ("STREAM", 16384, None, 1073741824, False, b"de")]),
    ("RESET", [("RESET", 4, 1, 100000)]),
    ("CLASS", [("CLASS", 4, 1, 1, 32)]),
    ("CREDIT+CREDIT-EACH+CREDIT-ALL+CREDIT-STREAMS+CREDIT-DATAGRAMS", [
        ("CREDIT", 2, 50331648),
        ("CREDIT-EACH", 1048576),
        ("CREDIT-ALL", 67108864),
        ("CREDIT-STREAMS", 4096),
        ("CREDIT-DATAGRAMS", 262144),
    ]),
    ("ENDS", [("ENDS", 0, 2, 4, 202, 1202)]),
    ("DATAGRAM", [("DATAGRAM", 7, 63, b"voice")]),
    ("DATAGRAMS-BEFORE+DATAGRAM", [("DATAGRAMS-BEFORE", 68), ("DATAGRAM", 7, 68, b"more")]),
    ("PAD", []),
]


def shown():
    """Titles and bytes of the frames in the document."""
    block = DOCUMENT.split("### 15.9 ")[1].split("```hex\n")[1].split("```")[0]
    frames = []
    for line in block.splitlines():
        if line.startswith("# "):
            frames.append([line[2:], b""])
        else:
            frames[-1][1] += bytes.fromhex(line)
    return frames


def test_the_documents_frames_are_what_it_says():
    frames = shown()
    assert len(frames) == len(VECTORS)
    for (title, data), (names, said) in zip(frames, VECTORS, strict=True):
        assert title.split(":")[0] == names, title
        assert stp.parse(data) == said, title
        assert stp.emit(said) == data, title


def test_whatever_is_written_reads_the_same():
    chance = random.Random(20)
    for _ in range(2000):
        def some(top=62):
            return chance.randrange(1 << chance.randrange(1, top))

        frames = [
            chance.choice([
                ("STREAM", some(), chance.choice([None, (some(3), 1 + some(7))]), some(61), True, chance.randbytes(some(5))),
                ("DATAGRAM", some(), some(61), b"1" + chance.randbytes(some(5))),
                ("RESET", some(), some(8), some()),
                ("CLASS", some(), some(), some(3), 1 + some(7)),
                ("CREDIT", some(), some()),
                ("ENDS", *sorted({some() for _ in range(1 + some(5))})),
                (chance.choice(list(stp.ONE_NUMBER)), some()),
            ])
            for _ in range(chance.randrange(6))
        ]
        assert stp.parse(stp.emit(frames)) == frames


@pytest.mark.parametrize(
    "data",
    ["01", "0100", "40", "14", "13 00", "13 03 04 02", "13 02 04 00", "ff", "03 40", "02 00 00 08 10", "02 00 00 07 00"]
    + ["08 00 00 02 61", "09 00 00", "11 00 00", "0f 00 03 10 ff ff ff ff ff ff ff ff 61"],
)
def test_what_is_no_frames_is_refused_whole(data):
    with pytest.raises(stp.Malformed):
        stp.parse(bytes.fromhex(data))
