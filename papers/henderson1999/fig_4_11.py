"""HT figure 4.11: the network of the experiments with long transfers, an emulated satellite link between Ethernets.

Follows section 4.2.2: the text's statements are measured in the scenario of figures 4.13 to 4.18, `fig_4_13.toml`.
Differs: the emulation was in device drivers, ours is a link.
Leaves out the commercial networks of chapter 5.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import SCENARIO
from topology import draw

import skyhop

SOURCE = "Henderson 1999, figure 4.11 and section 4.2.2"
CLAIM = "1.3 Mbit/s of TCP/IP over 600 ms (GEO) or 40 to 400 ms (LEO) without errors, Ethernets of 100 and 10 Mbit/s, windows of 240 kB"

SENT = "a packet's transmission over three links"
#: Rate of the Ethernets if the text states one, Mbit/s.
ETHERNETS = {"ethernet": 100, "transit": 10}


def reproduce() -> Reproduction:
    rows = [Row("RTT, GEO", "ms", 600, rtt_ms(299.8), 599.9, 602, SENT)]
    rows += [Row(f"RTT, LEO of {rtt} ms", "ms", rtt, rtt_ms(rtt / 2 - 0.2), rtt - 0.1, rtt + 2, SENT) for rtt in (40, 400)]
    rows.append(
        Row(
            "what the satellite link carries", "kbit/s", 1300, capacity("satellite"), 1295, 1301,
            "ten seconds of packets, one more or less in service"
        )
    )
    rows += [
        Row(
            f"what {name} carries", "Mbit/s", mbps, capacity(name) / 1e3, 0.99 * mbps, 1.001 * mbps,
            "ten seconds of packets, one more or less in service"
        )
        for name, mbps in ETHERNETS.items()
    ]
    rows.append(Row("window, most in flight", "kB", 240, transfer("5000 packets")[1] / 1e3, 237, 240, "whole segments of 1460 bytes"))
    rows.append(Row("packets lost to errors", "", 0, transfer("50 packets")[2], 0, 0, "words: no errors"))
    open_ = "; ".join(f"{queue}: {transfer(queue)[0]:.0f} kbit/s" for queue in ("20 packets", "50 packets", "100 packets", "200 packets"))
    return Reproduction(
        rows,
        picture(),
        sensitivity=[f"The queue before the satellite link is not stated: 50 packets. 10 MB by SACK-NewReno over 600 ms, {open_}."],
    )


def rtt_ms(delay_ms: float) -> float:
    """Smallest round trip of empty echo requests, ms."""
    changes = {
        "links.satellite.delay": f"{delay_ms:g} ms",
        "duration": "20 s",
        "flows.transfer.stop": "10 s",
        "flows.transfer.traffic": '{ kind = "ping", size = "0 B" }',
    }
    return skyhop.run(SCENARIO, set=changes).summary["flows"]["transfer"]["rtt_min_s"] * 1e3


def capacity(link: str) -> float:
    """Capacity of an overloaded link, kbit/s, headers included."""
    rates = {f"links.{name}.rate": "1 Gbit/s" for name in ("ethernet", "satellite", "transit") if name != link}
    changes = {
        **rates,
        "duration": "10 s",
        "flows.transfer.transport": '{ kind = "udp" }',
        "flows.transfer.traffic": '{ kind = "cbr", rate = "200 Mbit/s", size = "1472 B" }',
    }
    sent = skyhop.run(SCENARIO, set=changes).summary["links"][link]["forward"]
    # The transit link carries nothing until the first packet reaches it.
    return sent["bytes"] * 8 / (10 - (0.3 if link == "transit" else 0)) / 1e3


def transfer(queue: str) -> tuple[float, float, int]:
    """Goodput of 10 MB in kbit/s, largest flight in bytes, and packets lost to errors."""
    run = skyhop.run(SCENARIO, set={"links.satellite.queue.limit": queue})
    flow = run.summary["flows"]["transfer"]
    return flow["goodput_bps"] / 1e3, float(run.sample("flow/transfer", "in_flight_bytes")[1].max()), flow["packets_lost"]


def picture():
    places = {"source": (0.0, 0.0), "emulator": (1.5, 0.0), "router": (3.0, 0.0), "sink": (4.5, 0.0)}
    links = [("source", "emulator", "100 Mbit/s"), ("emulator", "router", "1.3 Mbit/s, 600 ms"), ("router", "sink", "10 Mbit/s")]
    return draw({"experiments": (places, links)})
