"""How far a folder of other people's applications comes: `once init`, a first `once new`, `once run`, or why not.

    python tests/strangers/scan.py FOLDER [--only TEXT] [--limit N] [--results FILE]

Each template of SAM with a function is tried in a copy, by the commands, each in a process of its own that reaches no
network but 127.0.0.1; nothing in FOLDER is changed. Of several functions one in Python is tried, else in Node.js, else
the first. It is `started` if it was loaded and called, whatever its code made of the event. AWS's SDK for Node.js is
there if `once sdk node` was run before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oncekit.local.kept_files import caches_of_the_user
from oncekit.local.templates.template import TemplateError, parse

ENDS = (".yaml", ".yml", ".json", ".template")
FUNCTIONS = ("AWS::Serverless::Function", "AWS::Lambda::Function")
OF_SAM = "AWS::Serverless-2016-10-31"
NOT_SOURCE = {".git", ".aws-sam", "node_modules", "cdk.out", "__pycache__", "once"}
MODULES = ("", ".py", ".js", ".mjs", ".cjs")
"""How the names of folders and files end that a function loads."""
FIRST = ("python", "nodejs", "")
"""How the Runtime begins of the function that is tried."""
ONCE = (sys.executable, "-c", "from oncekit.cli.main import main; main()")
NO_NETWORK = ("unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
KEPT = ("PATH", "LANG", "PYTHONPATH")
"""What a command sees of this process's environment: no profile, no credentials, no proxy."""
EVENT = {"id": "1"}
STARTED, PACKAGES, BUILD, OTHER = "started", "needs packages", "needs a build", "another language"
NO_CODE, TRACEBACK, SLOW = "no code", "traceback", "slow"
OUTCOMES = ("init", "new", "run", TRACEBACK, SLOW, NO_CODE, OTHER, BUILD, PACKAGES, STARTED)
"""A step is where it stopped; and the others."""
MAY_START = ("init", "new", "run", TRACEBACK, SLOW, STARTED)
"""Of these it is a matter of Once whether they start."""
RUN_HERE = ("python", "nodejs", "provided")
WHY = IN_NAME_ONLY, NOT_LOADED = "is not run here: ", "cannot be loaded, so it is not started"
MISSING = "its CodeUri is not a folder: "
_LACKING = re.compile(r"No module named '([\w.]+)'|Cannot find (?:module|package) '([^'./][^']*)'")
_BUILD = re.compile(r"run `sam build`(?: first| again)")


@dataclass(frozen=True)
class Found:
    """How far one template came."""

    template: str
    language: str
    outcome: str
    why: str
    step: str = ""
    """Where a traceback came, or a command was too slow."""

    def __str__(self) -> str:
        return f"{self.outcome:<16} {self.language:<12} {self.template}  {self.why}".rstrip()


@dataclass(frozen=True)
class Done:
    """What a command has printed; no code where its time was over."""

    code: int | None
    out: str
    err: str

    @property
    def has_traceback(self) -> bool:
        """Of a command: a function's own has the name of its operation before it."""
        return any(line.startswith("Traceback (most recent call last)") for line in self.err.splitlines())

    @property
    def last(self) -> str:
        return next((line for line in reversed(self.err.splitlines()) if line.strip()), f"exit code {self.code}")


# ---- what there is to try ----


@dataclass(frozen=True)
class Function:
    """The function of a template that is tried."""

    logical_id: str = ""
    language: str = "unknown"
    handler: str = ""


def templates_in(folder: Path) -> Iterator[tuple[Path, Function]]:
    """The templates of SAM with a function, one that cannot be read included."""
    for name, inside, files in os.walk(folder):
        inside[:] = sorted(set(inside) - NOT_SOURCE)
        for path in (Path(name, each) for each in sorted(files) if each.endswith(ENDS)):
            text = path.read_bytes() if path.is_file() else b""
            is_one = OF_SAM.encode() in text and any(each.encode() in text for each in FUNCTIONS)
            if is_one and (function := function_of(path)) is not None:
                yield path, function


def function_of(template: Path) -> Function | None:
    """The function to try; None where there is none."""
    try:
        source = parse(template.read_text(), template)
    except (TemplateError, UnicodeDecodeError):
        return Function()
    resources = {name: _mapping(each) for name, each in source["Resources"].items()}
    everywhere = _mapping(_mapping(source.get("Globals")).get("Function"))
    found = [
        Function(name, _language(properties, _mapping(source.get("Parameters"))), str(properties.get("Handler", "")))
        for name, each in resources.items()
        if each.get("Type") in FUNCTIONS and (properties := {**everywhere, **_mapping(each.get("Properties"))})
    ]
    ordered = (each for first in FIRST for each in found if each.language.startswith(first))
    return next(ordered, None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _language(properties: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    if properties.get("PackageType") == "Image":
        return "image"
    runtime = properties.get("Runtime")
    if isinstance(runtime, Mapping):
        runtime = _mapping(parameters.get(runtime.get("Ref"))).get("Default")
    found = re.match("[a-z]+", str(runtime or ""))
    return found[0] if found else "unknown"


def copied(template: Path, folder: Path, to: Path) -> Path:
    """The template in a copy of its folder, and of those above it that it names files of."""
    above = re.findall(r"(?:\.\./)+", template.read_text(errors="replace"))
    levels = max((each.count("../") for each in above), default=0)
    root = template.parent
    for _ in range(levels):
        root = root if root == folder else root.parent
    shutil.copytree(root, to, symlinks=True, ignore=shutil.ignore_patterns(".git"), dirs_exist_ok=True)
    return to / template.relative_to(root)


# ---- how far it comes ----


@dataclass(frozen=True)
class Trial:
    """One template in its copy."""

    template: Path
    function: Function
    name: str
    """How it is called in the list."""
    home: Path
    seconds: float
    before: Sequence[str]
    """What shuts off the network."""

    def found(self) -> Found:
        given = ("--template", self.template.name)
        if (stopped := self._stopped("init", self._once("init", *given))) is not None:
            return stopped
        (example := self.home / "example.json").write_text(json.dumps(EVENT))
        new = ("new", "work", "--function", self.function.logical_id, "--gets", "payload", "--example", str(example))
        if (stopped := self._stopped("new", self._once(*new, *given))) is not None:
            return stopped
        request = self.template.parent / "events" / "work.json"
        asked = json.loads(request.read_text())
        request.write_text(json.dumps({**asked, "onCrash": "quarantine"}))  # else a failure is tried ten times
        return self._of_run(self._once("run", "events/work.json", "--json", *given))

    def _stopped(self, step: str, done: Done) -> Found | None:
        if done.code is None:
            return self._found(SLOW, f"{step} took longer than {self.seconds:.0f} s", step)
        if done.has_traceback:
            return self._found(TRACEBACK, done.last, step)
        return self._found(step, done.last) if done.code else None

    def _of_run(self, done: Done) -> Found:
        told = json.loads(done.out) if done.out.startswith("{") and not done.has_traceback else None
        if told is not None:
            return self._found(STARTED if told["sideEffects"]["businessLogicStarts"] else "run", _why(told))
        if done.has_traceback or not (said := next((each for each in WHY if each in done.last), None)):
            return self._stopped("run", done) or self._found("run", done.last)
        return self._found(self._why_not(done.last) if said == IN_NAME_ONLY else self._not_loaded(done.last), done.last)

    def _not_loaded(self, told: str) -> str:
        lacking = {name.split(".")[0] for names in _LACKING.findall(told) for name in names if name}
        if not lacking or any(self._has(name) for name in lacking):
            return "run"
        return NO_CODE if lacking == {re.split(r"[./]", self.function.handler)[0]} else PACKAGES

    def _why_not(self, told: str) -> str:
        if _BUILD.search(told):
            return BUILD
        return OTHER if self.function.language not in RUN_HERE else NO_CODE if MISSING in told else "run"

    def _has(self, module: str) -> bool:
        """Whether the application has a module itself."""
        own = (each for each in self.template.parent.glob("[!.]*") if each.name not in NOT_SOURCE)
        paths = (path for each in own for path in (each, *each.rglob(f"{module}*")))
        return any(path.stem == module and path.suffix in MODULES for path in paths)

    def _found(self, outcome: str, why: str, step: str = "") -> Found:
        return Found(self.name, self.function.language, outcome, " ".join(why.split()), step)

    def _once(self, *arguments: str) -> Done:
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {"HOME": str(self.home), "TMPDIR": str(self.home), "XDG_CACHE_HOME": str(caches_of_the_user())}
        process = subprocess.Popen(
            [*self.before, *ONCE, *arguments],
            cwd=self.template.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            return Done(None, "", "")
        finally:
            with suppress(ProcessLookupError):  # with all that it has started
                os.killpg(process.pid, signal.SIGKILL)
        return Done(process.returncode, out, err)


def _why(told: Mapping[str, Any]) -> str:
    """The error of the function, as far as there is one."""
    execution = told["executions"][0]
    with suppress(TypeError, ValueError, KeyError):
        cause = json.loads(execution["cause"])
        return f"{cause['name']}: {cause['message']}"
    return " ".join(str(execution[each]) for each in ("error", "cause") if execution[each])


def tried(template: Path, function: Function, folder: Path, seconds: float, before: Sequence[str]) -> Found:
    """How far a template of the folder comes."""
    name = template.relative_to(folder).as_posix()
    with tempfile.TemporaryDirectory(prefix="strangers-", ignore_cleanup_errors=True) as place:
        home = Path(place, "home")
        home.mkdir()
        copy = copied(template, folder, Path(place, "copy"))
        return Trial(copy, function, name, home, seconds, before).found()


# ---- what is printed ----


def summary(found: Sequence[Found]) -> Iterator[str]:
    """How many came past each step, by language, and what stopped the others."""
    counts = Counter(each.language for each in found)
    columns = ["all", *(language for language, _ in counts.most_common())]
    of = {column: [each for each in found if column in ("all", each.language)] for column in columns}
    yield f"{'':<22}" + "".join(f"{column:>12}" for column in columns)
    yield f"{'templates':<22}" + "".join(f"{len(of[column]):>12}" for column in columns)
    for step in ("init", "new"):
        yield f"{'past ' + step:<22}" + "".join(f"{_share(of[column], step):>12}" for column in columns)
    yield f"{'started, of what can':<22}" + "".join(f"{_started(of[column]):>12}" for column in columns)
    for outcome in OUTCOMES:
        yield f"  {outcome:<20}" + "".join(
            f"{sum(each.outcome == outcome for each in of[column]):>12}" for column in columns
        )


def _share(found: Sequence[Found], step: str) -> str:
    steps = ("init", "new", "run")
    stopped = sum((each.step or each.outcome) in steps[: steps.index(step) + 1] for each in found)
    return _percent(len(found) - stopped, len(found))


def _started(found: Sequence[Found]) -> str:
    can = [each for each in found if each.outcome in MAY_START]
    return _percent(sum(each.outcome == STARTED for each in can), len(can))


def _percent(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "-"


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT", help="templates with this text in their path")
    parser.add_argument("--limit", type=int, metavar="N", help="this many, spread over the folder")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep what was found, and do not try that again")
    parser.add_argument("--seconds", type=float, default=120, help="for one command")
    parser.add_argument("--parallel", type=int, default=2, metavar="N")
    parser.add_argument("--with-network", action="store_true", help="for code that you trust")
    options = parser.parse_args(given)
    before = () if options.with_network else NO_NETWORK
    if before and subprocess.run([*before, "true"], capture_output=True).returncode:
        parser.error("this machine cannot shut the network off (`unshare --net`): see --with-network")
    folder = options.folder.resolve()
    known = _known(options.results)
    named = ((path.relative_to(folder).as_posix(), path, function) for path, function in templates_in(folder))
    wanted = [each for each in named if options.only in each[0]]
    if options.limit is not None:
        wanted = wanted[:: max(1, len(wanted) // options.limit)][: options.limit]
    new = [(path, function) for name, path, function in wanted if name not in known]
    with ThreadPoolExecutor(options.parallel) as pool:
        for found in pool.map(lambda each: tried(*each, folder, options.seconds, before), new):
            print(found, flush=True)
            known[found.template] = found
            if options.results is not None:
                with options.results.open("a") as results:
                    results.write(f"{json.dumps(asdict(found))}\n")
    print(*summary([known[name] for name, _, _ in wanted]), sep="\n")
    return 0


def _known(results: Path | None) -> dict[str, Found]:
    lines: Iterable[str] = results.read_text().splitlines() if results is not None and results.is_file() else ()
    return {each.template: each for each in (Found(**json.loads(line)) for line in lines)}


if __name__ == "__main__":
    sys.exit(main())
