"""What is kept for the next process: translations of templates, programs of definitions."""

from __future__ import annotations

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


def test_file_that_is_not_as_it_was_written_is_not_used(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path, "thing", 5)
    files.keep("key", b"content")
    assert files.get("key") == b"content"
    [file] = tmp_path.iterdir()
    for damaged in (file.read_bytes()[:-1], b"", b"x" + file.read_bytes()):
        file.write_bytes(damaged)
        assert files.get("key") is None


def test_file_that_was_asked_for_outlives_one_that_was_not(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path, "thing", 2)
    for when, key in enumerate(("a", "b")):
        files.keep(key, key.encode())
        for file in (each for each in tmp_path.iterdir() if each.stat().st_mtime > 1):
            os.utime(file, (when, when))
    assert files.get("a") == b"a"
    files.keep("c", b"c")
    assert [files.get(key) for key in ("a", "b", "c")] == [b"a", None, b"c"]


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
