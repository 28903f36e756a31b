"""What is kept for the next process: translations of templates, programs of definitions."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from oncekit.local import LocalCloud
from oncekit.local.kept_files import KeptFiles

pytestmark = pytest.mark.ours

ONE, OTHER = "http://127.0.0.1:4599", "http://127.0.0.1:65000"


def definition(endpoint: str) -> str:
    states = {"P": {"Type": "Pass", "Output": f"{endpoint}/queue", "Next": "E"}, "E": {"Type": "Succeed"}}
    return json.dumps({"QueryLanguage": "JSONata", "StartAt": "P", "States": states})


@pytest.fixture
def parse(cloud: LocalCloud) -> Any:
    from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

    return lambda text: AmazonStateLanguageParser.parse(text)[0]


def test_program_is_kept_for_a_cloud_with_another_endpoint(tmp_path: Path, parse: Any) -> None:
    from oncekit.local.engine.programs import KeptPrograms

    KeptPrograms(tmp_path, ONE).keep(definition(ONE), parse(definition(ONE)))
    later = KeptPrograms(tmp_path, OTHER)
    assert pickle.dumps(later.get(definition(OTHER))) == pickle.dumps(parse(definition(OTHER)))
    assert later.get(definition(ONE)) is None


def test_program_is_not_used_when_what_makes_it_has_changed(
    tmp_path: Path, parse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oncekit.local.engine.programs import KeptPrograms

    KeptPrograms(tmp_path, ONE).keep(definition(ONE), parse(definition(ONE)))
    monkeypatch.setattr("moto.__version__", "another")
    assert KeptPrograms(tmp_path, ONE).get(definition(ONE)) is None


def test_only_a_long_definition_takes_a_place_among_the_kept(parse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from oncekit.local.engine.programs import WORTH_KEEPING, KeptPrograms

    asked: list[str] = []
    monkeypatch.setattr(KeptPrograms, "get", lambda _, text: asked.append(text))
    monkeypatch.setattr(KeptPrograms, "keep", lambda _, text, program: asked.append(text))
    short = definition("http://127.0.0.1:1")
    long = definition("x" * WORTH_KEEPING)
    parse(short), parse(long)
    assert asked == [long, long]


def test_file_that_is_not_as_it_was_written_is_not_used(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path, "thing", 5)
    files.keep("key", b"content")
    assert files.get("key") == b"content"
    [file] = tmp_path.iterdir()
    for damaged in (file.read_bytes()[:-1], b"", b"x" + file.read_bytes()):
        file.write_bytes(damaged)
        assert files.get("key") is None


def test_oldest_files_of_a_kind_go(tmp_path: Path) -> None:
    other, files = KeptFiles(tmp_path, "other", 5), KeptFiles(tmp_path, "thing", 2)
    other.keep("key", b"")
    seen: set[Path] = set()
    for when, key in enumerate(("a", "b", "c")):
        files.keep(key, key.encode())
        for file in set(tmp_path.glob("thing-*")) - seen:
            os.utime(file, (when, when))  # a file system's clock is too slow to tell them apart
        seen = set(tmp_path.glob("thing-*"))
    assert [files.get(key) for key in ("a", "b", "c")] == [None, b"b", b"c"]
    assert other.get("key") == b""


def test_folder_that_cannot_be_written_to_stops_nothing(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path / "file" / "folder", "thing", 2)
    (tmp_path / "file").touch()
    files.keep("key", b"content")
    assert files.get("key") is None
