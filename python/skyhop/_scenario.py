"""Scenarios without a file: as text, or as keys and values.

Follows the scenario file: the same keys, the same values as texts with units, the same errors.
Differs from it: errors of keys and values have no line, and files that a scenario names may be passed as bytes.
Leaves out reading and checking, which the extension module does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _skyhop

#: Name in errors of a scenario that is in no file.
NAME = "scenario"


class Scenario:
    """A scenario without a file: keys and values as in a file, or its `text`.

    `files` has the contents of files that it names, as bytes or text, by those names: `files={"fade.csv": b"..."}`. Others are
    read from the folder `base`. The scenario is checked when it is used.

    >>> skyhop.Scenario({"duration": "60 s", "links": {...}, "flows": [...]})
    """

    def __init__(
        self,
        keys: Mapping[str, Any] | None = None,
        *,
        text: str | None = None,
        files: Mapping[str, bytes | str] | None = None,
        base: str | os.PathLike[str] = "",
    ) -> None:
        if (keys is None) == (text is None):
            raise TypeError("a scenario is its keys and values or its text; expected one of both")
        if keys is not None and not isinstance(keys, Mapping):
            raise TypeError(f"keys are a {type(keys).__name__}; expected a dict, or text=")
        if text is not None and not isinstance(text, str):
            raise TypeError(f"text is a {type(text).__name__}; expected a str")
        self.keys = None if keys is None else dict(keys)
        self.text = text if keys is None else "".join(f"{_key(k)} = {_toml(v, (k,))}\n" for k, v in keys.items())
        self.files = {name: _bytes(name, contents) for name, contents in (files or {}).items()}
        self.base = os.fspath(base)

    def __repr__(self) -> str:
        return f"<skyhop scenario, {len(self.text)} characters, {len(self.files)} files>"


@dataclass(frozen=True)
class Source:
    """Source of a scenario, in the extension module's form."""

    file: str
    text: tuple[str, bool, dict[str, bytes], str] | None

    def contents(self) -> bytes:
        return Path(self.file).read_bytes() if self.text is None else self.text[0].encode()


def source(
    scenario: Any, text: str | None = None, files: Mapping[str, bytes | str] | None = None, base: str | os.PathLike[str] | None = None
) -> Source:
    """The scenario from whichever was given: a file's name, keys and values, a `Scenario`, or text."""
    if (scenario is None) == (text is None):
        raise TypeError(
            "no scenario; expected a file, keys and values, or text=" if text is None else "both a scenario and text=; expected one"
        )
    if isinstance(scenario, Mapping) or text is not None:
        scenario = Scenario(scenario, text=text, files=files, base="" if base is None else base)
    elif files is not None or base is not None:
        raise TypeError("files= and base= go with text= or keys and values; what a file names lies beside it")
    if isinstance(scenario, Scenario):
        return Source(NAME, (scenario.text, scenario.keys is None, scenario.files, scenario.base))
    return Source(os.fspath(scenario), None)


def _bytes(name: str, contents: Any) -> bytes:
    if isinstance(contents, str):
        return contents.encode()
    if isinstance(contents, (bytes, bytearray, memoryview)):
        return bytes(contents)
    raise TypeError(f"files: {name!r} is a {type(contents).__name__}; expected its contents as bytes or a str")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise _skyhop.ScenarioError(f"{NAME}: key {key!r} is a {type(key).__name__}; expected a str")
    return _toml(key)


def _toml(value: Any, at: tuple[Any, ...] = ()) -> str:
    """A value in the form of a scenario file; `at` is its path, for errors."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v, (*at, k))}" for k, v in value.items()) + " }"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(v, (*at, i)) for i, v in enumerate(value)) + "]"
    kind, cure = type(value).__name__, "leave the key out" if value is None else "give a text such as '1 Mbit/s'"
    if at:
        raise _skyhop.ScenarioError(f"{NAME}: {'.'.join(map(str, at))}: {value!r} is a {kind}, which no key has; {cure}")
    raise TypeError(f"cannot set a value of type {kind}; {cure}")
