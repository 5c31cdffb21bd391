"""Two small scenarios that the tests share.

Follows the shapes in `scenarios/`: a fixed path, and a path of pings.
Differs: seconds instead of minutes, so that tests are short.
Leaves out constellations; `papers/` runs those.
"""

import matplotlib
import pytest

matplotlib.use("Agg")

DOWNLOAD = """\
name = "geo"
host = "1999"
duration = "60 s"
[links.satellite]
rate = "1.5 Mbit/s"
delay = "300 ms"
queue = { kind = "drop-tail", limit = "50 packets" }
[[flows]]
name = "download"
path = ["server", "satellite", "user"]
traffic = { kind = "bulk", size = "2 MB" }
[[flows]]
name = "echo"
path = ["server", "satellite", "user"]
traffic = { kind = "ping", interval = "1 s" }
stop = "20 s"
[record]
pcap = ["satellite"]
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "geo.toml"
    path.write_text(DOWNLOAD)
    return path


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    import skyhop

    path = tmp_path_factory.mktemp("shared") / "geo.toml"
    path.write_text(DOWNLOAD)
    return skyhop.run(path)
