"""HT figure 4.22: a gateway between the Internet and a satellite network, which splits connections.

Follows section 4.3.1: the server's peer is a nearby host, and the gateway buffers several times rate times RTT for each connection.
Differs: see `compete.py`; its scenario with a split, without the competing connection.
Leaves out a second gateway at the user, an option in the thesis.
"""

from __future__ import annotations

from compete import CEILING_KBPS, scenario
from rows import Reproduction, Row
from satellite import run_text
from topology import draw

SOURCE = "Henderson 1999, figure 4.22 and section 4.3.1"
CLAIM = "The server sees a short round trip; for each connection the gateway buffers a few times rate times RTT"

#: Rate times RTT of the Internet path, the smaller of the two: 10 Mbit/s and 18 ms.
INTERNET_B = 10e6 * 0.018 / 8
SATELLITE_B = 1.5e6 * 0.6 / 8
HELD = "what the user has not acknowledged stays in the gateway, rate times RTT of the satellite link, however near the server is"
BUFFERS_KB = (25, 50, 70, 150, 300, 500, 1000)


def reproduce() -> Reproduction:
    split, whole = measure(500), run_text(scenario(600, False, False, 10, 300, "sack-newreno")).summary
    near, far = (run["flows"]["download"]["rtt_min_s"] * 1e3 for run in (split, whole))
    by_buffer = {size: measure(size)["flows"]["download"]["goodput_bps"] / 1e3 for size in BUFFERS_KB}
    # The buffer for both directions of one connection, of which only one carries data.
    least = min(size for size, kbps in by_buffer.items() if kbps >= 0.85 * CEILING_KBPS)
    rows = [
        Row(
            "server's smallest round trip, split", "ms", None, near, 17, 25, "words: near; 18 ms of propagation, and packets' transmission"
        ),
        Row("server's smallest round trip, end to end", "ms", 600, far, 599, 612, "packets' transmission over three links"),
        Row(
            "buffer with which 85 % is used, of rate times RTT of the Internet path", "", 2.5, least * 1e3 / INTERNET_B, 2, 3,
            "words: two to three times", HELD
        ),
        Row(
            "the same, of rate times RTT of the satellite link", "", None, least * 1e3 / SATELLITE_B, 1, 3,
            "words: two to three times; one direction of two is busy"
        ),
        Row(
            "goodput, split, of what the link carries", "", None, by_buffer[500] / CEILING_KBPS, 0.9, 1,
            "words: full use; slow start takes 2 % of 300 s"
        ),
    ]
    said = ", ".join(f"{size} kB {kbps:.0f}" for size, kbps in by_buffer.items())
    return Reproduction(
        rows, picture(), sensitivity=[f"The buffer of figures 4.23 and 4.24 is 500 kB. Goodput over 600 ms, kbit/s by buffer: {said}."]
    )


def measure(buffer_kb: int):
    text = scenario(600, False, True, 10, 300, "sack-newreno")
    return run_text(text.replace('buffer = "500 kB"', f'buffer = "{buffer_kb} kB"')).summary


def picture():
    places = {"server": (0.0, 0.0), "router": (1.3, 0.0), "gateway": (2.6, 0.0), "satellite": (3.9, 0.5), "user": (5.2, 0.0)}
    links = [
        ("server", "router", "Internet"),
        ("router", "gateway", "10 Mbit/s, 18 ms"),
        ("gateway", "satellite", "1.5 Mbit/s"),
        ("satellite", "user", "40 to 600 ms"),
    ]
    return draw({"split at the gateway": (places, links)})
