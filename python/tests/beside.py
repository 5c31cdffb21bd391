"""Data next to the repository: their location, or a message that the test is skipped, or with SKYHOP_REQUIRE_SHARED a failure.

Follows tools/testing.rs, which is the same for Rust. Leaves out libraries that may be missing.
"""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared"


def shared(name):
    if not (SHARED / name).exists():
        if os.environ.get("SKYHOP_REQUIRE_SHARED", "") not in ("", "0"):
            pytest.fail(f"SKYHOP_REQUIRE_SHARED is set, and there is no ../shared/{name}")
        pytest.skip(f"no ../shared/{name}")
    return SHARED / name
