"""The process of an emulation, and the one that starts inside each of its hosts.

Follows `skyhop._emulate`, which starts it as a file: without the package, and so without a second thread, which a user
namespace does not allow.
Differs from a module of the package: it loads the extension by its file's name, and it ends with the process that started it.
Leaves out the emulation itself, which the extension does.
"""

import importlib.util
import os
import pickle
import signal
import sys


def extension(path):
    spec = importlib.util.spec_from_file_location("skyhop._skyhop", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(skyhop, request):
    """Outcome of an emulation: the results, or the kind of error and its text."""
    try:
        summary, flows, series, exit_code = skyhop.emulate_here(*request)
        return "results", (summary, flows.to_bytes(), series.to_bytes(), exit_code)
    except skyhop.ScenarioError as e:
        return "ScenarioError", str(e)
    except OSError as e:
        return type(e).__name__, str(e)


def main(path, *words):
    # The extension handles signals while it emulates; before, they end this process. Ignored ones stay ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Python ignores it, and programs would inherit that.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    skyhop = extension(path)
    if words[0] == skyhop.INSIDE:
        os._exit(skyhop.begin_inside(list(words[1:])))
    parent, asked, told = map(int, words)
    for descriptor in (asked, told):
        os.set_inheritable(descriptor, False)
    with open(asked, "rb") as file:
        file, text, sets, choices = pickle.load(file)
    choices["inside"] = [*sys.orig_argv[: sys.orig_argv.index(path)], path]
    found = answer(skyhop, (file, text, sets, choices, parent))
    with open(told, "wb") as file:
        pickle.dump(found, file)


main(*sys.argv[1:])
