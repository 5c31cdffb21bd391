#!/usr/bin/env python3
"""Random mutation testing: changes one place of the code at a time, and lists the changes that no test detects.

Follows cargo-mutants, which lists the changes (`cargo mutants --list --json`); here a few of each part are drawn with a stated seed,
and test binaries run one by one, the fastest first, with a limit of CPU time, until one fails twice: the crate's own, then some of
those that use it. Differs from `cargo mutants`: 14,000 changes would take weeks. Works in a copy beside the repository, where ../shared
is found, group by group, and goes on where it was. Leaves out doc-tests and the binaries of SLOW; people judge survivors
in a file of verdicts.

  tools/mutants.py --seed 20261122 --per-group 6              draw, test, print the table
  tools/mutants.py --seed 20261122 --per-group 6 --table      the table so far
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIVE = ("association", "associations", "control", "cookie", "handshake", "keys", "lost", "replay", "roaming", "seal")
# Origins of mutants: crate, prefixes of paths, and test binaries of other crates that detect more than its own.
GROUPS = {
    "link": ("link", ["src/"], {"sim": ["links", "closed_forms", "geo_bulk", "applications"]}),
    "transport": ("transport", ["src/"], {"sim": ["geo_bulk", "henderson", "stp", "modern", "bbr"]}),
    "splice": ("splice", ["src/"], {"sim": ["splices"]}),
    "topology": ("topology", ["src/"], {"routing": ["router", "ns2_reference"], "sim": ["iridium", "transitions"]}),
    "routing": ("routing", ["src/"], {"sim": ["schemes"], "cli": ["tables"]}),
    "orbit": ("orbit", ["src/"], {"topology": ["links", "handover"], "cli": ["constellations"]}),
    "checks": ("scenario", ["src/check"], {"cli": ["command"]}),
    "sim": ("sim", ["src/"], {"record": ["summary_and_tables"], "cli": ["documents"]}),
    "sealing": ("live", [f"src/{name}.rs" for name in LIVE], {"cli": ["stp", "decrypt"]}),
    "record": ("record", ["src/"], {"cli": ["command", "maps", "wireshark"]}),
}
# Half a minute and more: the comparisons, and tests that start many processes.
SLOW = {"compete", "fairness", "rfc9438", "geographic", "sweep", "capture", "namespaces", "central", "thompson"}
# Limits of a binary, in seconds and as a multiple of its unchanged time: CPU time, and wall time for one that sleeps.
FLOOR_S, FACTOR, ASLEEP_S, ASLEEP_FACTOR, BUILD_S = 20, 3, 120, 10, 1800


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True, help="of the draw")
    parser.add_argument("--per-group", type=int, default=6)
    parser.add_argument("--groups", default=",".join(GROUPS), help="comma-separated")
    parser.add_argument("--copy", type=Path, default=ROOT.with_name(ROOT.name + "-mutants"), help="a worktree for the changes")
    parser.add_argument("--results", type=Path, help="a line of JSON for each mutant; default: in the copy's target folder")
    parser.add_argument("--verdicts", type=Path, help='JSON: name of a survivor -> "equivalent: why", or another word about it')
    parser.add_argument("--most", type=int, default=10**9, help="stop after so many")
    parser.add_argument("--table", action="store_true", help="print what is known and test nothing")
    args = parser.parse_args()
    unknown = set(args.groups.split(",")) - set(GROUPS)
    if unknown:
        parser.error(f"unknown group {sorted(unknown)[0]!r}; expected some of {', '.join(GROUPS)}")
    if not args.copy.exists():
        subprocess.run(["git", "worktree", "add", "-q", "--detach", args.copy, "HEAD"], cwd=ROOT, check=True)
    if args.copy.resolve() == ROOT:
        parser.error("--copy is this repository; its files would be changed")
    results = args.results or args.copy / "target" / "mutants.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if results.exists():
        for line in results.read_text().splitlines():
            entry = json.loads(line)
            known[entry["name"]] = entry
    times = results.with_suffix(".times.json")
    note = times.with_suffix(".changed")
    if note.exists():
        # An interrupted run may have left its change in place.
        subprocess.run(["git", "checkout", "-q", "--", note.read_text()], cwd=args.copy, check=True)
        note.unlink()
    drawn = draw(args.copy, args.groups.split(","), args.seed, args.per_group)
    if not args.table:
        bench = Bench(args.copy, times)
        for group, mutant in [one for one in drawn if one[1]["name"] not in known][: args.most]:
            entry = {"name": mutant["name"], "group": group} | bench.judge(group, mutant)
            known[entry["name"]] = entry
            with open(results, "a") as file:
                file.write(json.dumps(entry) + "\n")
            print(f"{entry['outcome']:9} {entry['s']:6.0f} s  {entry['name']}  {entry.get('by', '')}", flush=True)
    verdicts = json.loads(args.verdicts.read_text()) if args.verdicts else {}
    table(drawn, known, verdicts)


def draw(copy, groups, seed, per_group):
    """A sample per group of the changes that cargo-mutants lists; group by group, so that each crate is rebuilt once."""
    chance = random.Random(seed)
    drawn = []
    for group in groups:
        crate, paths, _ = GROUPS[group]
        listed = subprocess.run(
            ["cargo", "mutants", "--list", "--json", "-p", f"skyhop-{crate}"], cwd=copy, check=True, stdout=subprocess.PIPE
        ).stdout
        prefixes = tuple(f"crates/{crate}/{path}" for path in paths)
        mutants = [m for m in json.loads(listed) if m["file"].startswith(prefixes)]
        mutants.sort(key=lambda m: m["name"])
        drawn += [(group, mutant) for mutant in chance.sample(mutants, min(per_group, len(mutants)))]
    return drawn


class Bench:
    """Builds and runs the tests of a changed copy."""

    def __init__(self, copy, times):
        self.copy, self.file = copy, times
        # CPU and wall seconds of each binary without a change; absent if the binary fails unchanged.
        self.times = json.loads(times.read_text()) if times.exists() else {}
        crates = sorted(path.name for path in (copy / "crates").iterdir())
        # The same optimisation, in more codegen units for incremental builds.
        self.pieces = [word for name in crates for word in ("--config", f"profile.release.package.skyhop-{name}.codegen-units=64")]
        self.environment = {**os.environ, "CARGO_INCREMENTAL": "1"}
        self.note = times.with_suffix(".changed")

    def judge(self, group, mutant):
        crate, _, downstream = GROUPS[group]
        path = self.copy / mutant["file"]
        original = path.read_text()
        begun, outcome = time.monotonic(), {"outcome": "survived"}
        for suite in [(crate, ["--lib"], []), (crate, ["--bins", "--tests"], []), *self.named(downstream)]:
            self.measure(*suite)
            self.note.write_text(mutant["file"])
            path.write_text(changed(original, mutant))
            try:
                found = self.notice(*suite)
            finally:
                path.write_text(original)
                self.note.unlink()
            if found:
                # A change that does not compile is not a mutant, and does not count.
                outcome = found
                break
        return outcome | {"s": round(time.monotonic() - begun)}

    def named(self, downstream):
        """Tests of other crates: files are programs, or parts of a crate's one."""
        for crate, names in downstream.items():
            if (self.copy / "crates" / crate / "tests/all.rs").exists():
                yield crate, ["--test", "all"], names
            else:
                yield crate, [word for name in names for word in ("--test", name)], []

    def notice(self, crate, targets, parts):
        """The test of a crate that detects the change."""
        binaries = self.build(crate, targets, parts)
        if binaries is None:
            return {"outcome": "unviable"}
        usual = {name: self.times[f"{crate}/{name}"] for name in binaries}
        for name in sorted((name for name in usual if usual[name]), key=lambda name: usual[name][1]):
            cpu_s, clock_s = usual[name]
            limits = FLOOR_S + FACTOR * cpu_s, ASLEEP_S + ASLEEP_FACTOR * clock_s
            how = self.run(crate, binaries[name], *limits)
            # On a busy machine a test of sockets may fail by chance; with a real change it fails again.
            if how and (how.startswith("no end") or self.run(crate, binaries[name], *limits)):
                return {"outcome": "killed", "by": f"{crate}/{name}: {how}"}
        return None

    def measure(self, crate, targets, parts):
        """Durations of the binaries without a change."""
        suite = " ".join([crate, *targets, *parts])
        if suite in self.times:
            return
        binaries = self.build(crate, targets, parts)
        if binaries is None:
            sys.exit(f"{crate}: does not build unchanged")
        for name, binary in binaries.items():
            key = f"{crate}/{name}"
            if self.times.get(key):
                continue
            for _ in range(2):
                used, begun = cpu_of_children(), time.monotonic()
                how = self.run(crate, binary, 1200, 1200)
                self.times[key] = None if how else [round(cpu_of_children() - used, 2), round(time.monotonic() - begun, 2)]
                if not how:
                    break
            if how:
                print(f"left out: {key} fails unchanged: {how}", flush=True)
        self.times[suite] = []
        self.file.write_text(json.dumps(self.times, indent=1))

    def build(self, crate, targets, parts):
        """Commands of test binaries by name: the library's own is called lib, and of one program some files may be named. None if the
        build fails."""
        command = ["cargo", "test", "--release", "--locked", *self.pieces, "-p", f"skyhop-{crate}", "--no-run", *targets]
        out = subprocess.run(
            [*command, "--message-format", "json"],
            cwd=self.copy, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=BUILD_S,
        )  # fmt: skip
        if out.returncode != 0:
            return None
        binaries = {}
        for line in out.stdout.splitlines():
            message = json.loads(line)
            if message.get("executable") and message.get("profile", {}).get("test"):
                kind, name = message["target"]["kind"][0], message["target"]["name"]
                binaries[name if kind == "test" else kind] = [message["executable"]]
        if "all" in binaries:
            words = [f"{part}::" for part in parts] or [word for name in sorted(SLOW) for word in ("--skip", f"{name}::")]
            binaries[" ".join(parts) or "all"] = binaries.pop("all") + words
        return {name: binary for name, binary in binaries.items() if name not in SLOW}

    def run(self, crate, binary, cpu_s, clock_s):
        """None if all its tests pass, else the kind of failure. A hanging process is killed with all its children."""
        folder = self.copy / "crates" / crate
        environment = {**os.environ, "CARGO_MANIFEST_DIR": str(folder), "RUST_BACKTRACE": "0", "SKYHOP_FULL": ""}
        limit = int(cpu_s) + 1
        child = subprocess.Popen(
            [*binary, "-q"], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )  # fmt: skip
        try:
            out, _ = child.communicate(timeout=clock_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return f"no end in {clock_s:.0f} s"
        if child.returncode == 0:
            return None
        if child.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
            return f"no end in {limit} s of CPU time"
        lines = out.decode(errors="replace").splitlines()
        failed = [line.split()[1] for line in lines if line.startswith("---- ")]
        return failed[0] if failed else f"code {child.returncode}"


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def changed(text, mutant):
    """The text with the span replaced; columns count characters from one."""
    lines = text.split("\n")
    begin, end = mutant["span"]["start"], mutant["span"]["end"]
    before = lines[begin["line"] - 1][: begin["column"] - 1]
    after = lines[end["line"] - 1][end["column"] - 1 :]
    lines[begin["line"] - 1 : end["line"]] = [before + mutant["replacement"] + after]
    return "\n".join(lines)


def table(drawn, known, verdicts):
    tested = [(group, known[m["name"]]) for group, m in drawn if m["name"] in known]
    print(f"\n{'group':10} drawn tested unviable killed survived")
    for group in [*dict.fromkeys(group for group, _ in drawn), None]:
        mine = [entry["outcome"] for name, entry in tested if group in (None, name)]
        count = Counter(mine)
        all_of_it = sum(group in (None, name) for name, _ in drawn)
        print(f"{group or 'all':10} {all_of_it:5} {len(mine):6} {count['unviable']:8} {count['killed']:6} {count['survived']:8}")
    survivors = [entry["name"] for _, entry in tested if entry["outcome"] == "survived"]
    equivalent = [name for name in survivors if verdicts.get(name, "").startswith("equivalent")]
    for name in survivors:
        print(f"survived: {name}  {verdicts.get(name, '')}")
    killed = sum(entry["outcome"] == "killed" for _, entry in tested)
    viable = killed + len(survivors) - len(equivalent)
    if viable:
        print(f"{killed} of {viable} noticed, {100 * killed / viable:.0f} %; {len(equivalent)} equivalent left out")


if __name__ == "__main__":
    main()
