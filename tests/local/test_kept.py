"""What is kept for the next process: translations of templates, programs of definitions."""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from oncekit.local import LocalCloud
from oncekit.local import template as templates
from oncekit.local.kept_files import KeptFiles
from oncekit.local.template import TemplateError, load
from oncekit.local.translations import Given, Translations

pytestmark = pytest.mark.ours

ONE, OTHER = "http://127.0.0.1:4599", "http://127.0.0.1:65000"


PUBLISHED = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  Alias: { Type: String, Default: live }
  Seconds: { Type: Number, Default: 3, MaxValue: 900 }
Resources:
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      { CodeUri: code, Handler: app.handler, Runtime: python3.13, AutoPublishAlias: !Ref Alias, Timeout: !Ref Seconds }
"""


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


def test_file_that_was_asked_for_outlives_one_that_was_not(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path, "thing", 2)
    for when, key in enumerate(("a", "b")):
        files.keep(key, key.encode())
        for file in (each for each in tmp_path.iterdir() if each.stat().st_mtime > 1):
            os.utime(file, (when, when))
    assert files.get("a") == b"a"
    files.keep("c", b"c")
    assert [files.get(key) for key in ("a", "b", "c")] == [b"a", None, b"c"]


def test_file_of_a_folder_that_may_only_be_read_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> None:
        raise PermissionError

    files = KeptFiles(tmp_path, "thing", 2)
    files.keep("key", b"content")
    monkeypatch.setattr("os.utime", refused)
    assert files.get("key") == b"content"


def test_file_of_many_like_lines_is_small(tmp_path: Path) -> None:
    files, content = KeptFiles(tmp_path, "thing", 2), b'{"Type": "AWS::CloudWatch::Alarm"}' * 1000
    files.keep("key", content)
    [file] = tmp_path.iterdir()
    assert files.get("key") == content and file.stat().st_size < len(content) / 10


def test_folder_that_cannot_be_written_to_stops_nothing(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path / "file" / "folder", "thing", 2)
    (tmp_path / "file").touch()
    files.keep("key", b"content")
    assert files.get("key") is None


@pytest.fixture
def published(tmp_path: Path) -> Path:
    (tmp_path / "template.yaml").write_text(PUBLISHED)
    return tmp_path / "template.yaml"


def alias(path: Path, **parameters: str) -> str:
    [alias] = [each for each in load(path, parameters).body["Resources"].values() if each["Type"].endswith("Alias")]
    return str(alias["Properties"]["Name"])


def test_translation_is_for_the_values_that_it_was_made_of(published: Path) -> None:
    assert [alias(published), alias(published, Alias="blue"), alias(published)] == ["live", "blue", "live"]


def test_values_that_the_translator_never_looks_at_need_no_other_translation(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(published)
    monkeypatch.setattr(templates, "_translate", None)
    later = load(published, {"Seconds": 5})
    assert (later.body, later.parameters) == (first.body, {"Alias": "live", "Seconds": "5"})
    for name, problem in (("Seconds", "must be at most 900"), ("Minutes", "no parameter Minutes")):
        with pytest.raises(TemplateError, match=problem):
            load(published, {name: 901})


def test_what_one_translation_looked_at_counts_for_all_that_are_kept_from_then_on(tmp_path: Path) -> None:
    """The translator may look at one value only because of another."""
    kept = Translations(tmp_path, b"template")

    def keep(values: dict[str, str], *used: str) -> None:
        given = Given(values)
        given.used = set(used)
        kept.keep({}, given, values, values)

    keep({"a": "1", "b": "1"}, "a")
    assert kept.body({"a": "1", "b": "2"}) == {"a": "1", "b": "1"}
    keep({"a": "2", "b": "1"}, "a", "b")
    assert kept.body({"a": "2", "b": "1"}) == {"a": "2", "b": "1"}
    assert kept.body({"a": "2", "b": "2"}) is None
    keep({"a": "3", "b": "1"}, "a")
    assert kept.body({"a": "3", "b": "2"}) is None


@pytest.mark.parametrize(
    ("look", "used"),
    [
        (lambda values: values["a"], {"a"}),
        (lambda values: values.get("b"), {"b"}),
        (lambda values: values.get("c"), set()),
        (lambda values: "a" in values, set()),
        (lambda values: dict(values.items()), {"a", "b"}),
        (lambda values: list(values.values()), {"a", "b"}),
        (dict, {"a", "b"}),
        (lambda values: {**values}, {"a", "b"}),
        (lambda values: values.copy(), {"a", "b"}),
        (copy.deepcopy, {"a", "b"}),
    ],
)
def test_each_way_to_look_at_a_value_is_noticed(look: Any, used: set[str]) -> None:
    given = Given({"a": "1", "b": "2"})
    assert given.used == {"a", "b"}  # as long as the translator has made no copy of its own
    look(copy.deepcopy(given))
    assert given.used == used


def test_translation_is_not_used_when_a_module_that_makes_it_has_changed(tmp_path: Path) -> None:
    path, module = tmp_path / "template.yaml", Path(templates.__file__)
    path.write_text(PUBLISHED)
    load(path, cache=tmp_path / "cache")
    assert Translations(tmp_path / "cache", path.read_bytes()).declared() is not None
    was = module.stat().st_mtime_ns
    try:
        os.utime(module, ns=(was + 1, was + 1))
        assert Translations(tmp_path / "cache", path.read_bytes()).declared() is None
    finally:
        os.utime(module, ns=(was, was))
