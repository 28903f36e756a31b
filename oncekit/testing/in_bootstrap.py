"""Starts the process of a function with a `bootstrap` in place of `bootstrap.py` of the local cloud.

The beginning and the end of each invocation are announced to the test. The test is the proxy for what the bootstrap
sends to other machines, as far as its clients go by HTTP_PROXY and HTTPS_PROXY, as most do; others are not seen here.

This file is started as a script, without its package: nothing of oncekit is imported into a function's process.
"""

import json
import os
import runpy
from pathlib import Path
from typing import Any
from urllib.parse import quote

LINE = "bootstrap"
"""Of every call: where in the program it is made, nobody sees."""


def told(kit: dict[str, Any], service: str, action: str) -> str:
    call = json.loads(kit["told"](service, action, None))
    return json.dumps({**call, "line": LINE if service == "http" else ""})


def run() -> None:
    kit, sockets = (runpy.run_path(str(Path(__file__).with_name(each))) for each in ("in_function.py", "in_sockets.py"))

    def announce(what: str, event: bytes) -> None:
        if what == "begin":
            kit["begins"](json.loads(event))
        sockets["ask"]("", told(kit, "function", what))

    call = {**json.loads(told(kit, "http", "")), "begun": True}
    proxy = f"http://{quote(json.dumps(call), safe='')}:once@{os.environ['ONCE_TESTING_OUTSIDE']}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        os.environ |= {name: proxy, name.lower(): proxy}
    runpy.run_path(os.environ["ONCE_TESTING_BOOTSTRAP"])["run"](announce)


if __name__ == "__main__":
    run()
