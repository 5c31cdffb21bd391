"""HT figure 4.4: the three topologies of long and short round trips over a bottleneck of 1.5 Mbit/s.

Follows section 4.1.2: the text's statements on each are measured in the scenario of figures 4.5 to 4.10 and table 4.1.
Differs: the smallest round trip that a sender sees is its SYN's, with 0.6 ms of transmission for each bottleneck.
Leaves out numbers of congested gateways other than the five in the figure.
"""

from __future__ import annotations

from heterogeneous import Setting, scenario
from rows import Reproduction, Row
from satellite import run_text
from topology import draw

SOURCE = "Henderson 1999, figure 4.4 and section 4.1.2"
CLAIM = "Two, six and six long flows share bottlenecks of 1.5 Mbit/s, with the round trips stated in the text"

ROUND_TRIPS_MS = {1: (10, 600), 2: (10, 20, 100, 200, 300, 600), 3: (10, 10, 10, 10, 10, 300)}
#: Transmission time of a SYN and its answer over a bottleneck and over the accesses, with a margin, ms.
SENT_MS = 2 * 52 * 8 / 1.5e3 + 0.01
ACCESS_MS = 0.2


def reproduce() -> Reproduction:
    rows = []
    for number, published in ROUND_TRIPS_MS.items():
        summary = measure(number).summary
        for i, rtt in enumerate(published):
            hops = 5 if number == 3 and i == 5 else 1
            least = alone_ms(number, i)
            rows.append(
                Row(
                    f"topology {number}: round trip of flow {i + 1}", "ms", rtt, least, rtt, rtt + hops * SENT_MS + ACCESS_MS,
                    "what a SYN and its answer take to be sent"
                )
            )
        bottlenecks = [name for name in summary["links"] if name.startswith("b")]
        rows.append(
            Row(
                f"topology {number}: bottlenecks", "", 5 if number == 3 else 1, len(bottlenecks), 5 if number == 3 else 1,
                5 if number == 3 else 1, "a count"
            )
        )
        busy = summary["links"]["b0"]["forward"]
        rows.append(
            Row(
                f"topology {number}: most that its first bottleneck sends", "kbit/s", 1500, busy["bytes"] * 8 / 60 / 1e3, 1350, 1500,
                "a rate is a ceiling; slow start of a minute costs less than a tenth"
            )
        )
    used = {access: measure(2, access).summary["links"]["b0"]["forward"]["utilisation"] for access in ("10 Mbit/s", "100 Mbit/s")}
    least = {access: alone_ms(2, 0, access) for access in used}
    open_ = "The access links' rate is not stated: 10 Mbit/s. " + "; ".join(
        f"with {access} the shortest round trip of topology 2 is {least[access]:.2f} ms and the bottleneck is used {used[access]:.1%}"
        for access in used
    )
    return Reproduction(rows, picture(), sensitivity=[open_ + "."])


def alone_ms(number: int, flow: int, access: str = "10 Mbit/s") -> float:
    """Smallest round trip of a long flow without other traffic, ms."""
    links, *flows = scenario(Setting(topology=number, web_load=0, end_s=60), 1).replace('"10 Mbit/s"', f'"{access}"').split("[[flows]]")
    return run_text(f"{links}[[flows]]{flows[flow]}").summary["flows"][f"long-{flow}"]["rtt_min_s"] * 1e3


def measure(number: int, access: str = "10 Mbit/s"):
    """A minute of the long flows alone."""
    return run_text(scenario(Setting(topology=number, web_load=0, end_s=60), 1).replace('"10 Mbit/s"', f'"{access}"'))


def picture():
    networks = {}
    for number, rtts in ROUND_TRIPS_MS.items():
        hops = 5 if number == 3 else 1
        places = {f"r{hop}": (float(hop + 1), 0.0) for hop in range(hops + 1)}
        links = [(f"r{hop}", f"r{hop + 1}", "1.5 Mbit/s") for hop in range(hops)]
        for i, rtt in enumerate(rtts):
            a, b = (i, i + 1) if number == 3 and i < 5 else (0, hops)
            height = (len(rtts) - 1) / 2 - i if number < 3 else 1.0 if i < 5 else -1.0
            places[f"s{i}"], places[f"k{i}"] = (a + 1 - 0.45, height), (b + 1 + 0.45, -height if number == 3 and i < 5 else height)
            links += [(f"s{i}", f"r{a}", f"{rtt} ms"), (f"r{b}", f"k{i}", "")]
        networks[f"topology {number}"] = (places, links)
    return draw(networks)
