"""What is kept for the next process."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncekit.local.kept_files import KeptFiles
from oncekit.local.templates.template import load

pytestmark = pytest.mark.ours

PUBLISHED = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  Alias: { Type: String, Default: live }
Resources:
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      { CodeUri: code, Handler: app.handler, Runtime: python3.13, AutoPublishAlias: !Ref Alias }
"""


def test_file_that_is_not_as_it_was_written_is_not_used(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path, "thing", 5)
    files.keep("key", b"content")
    assert files.get("key") == b"content"
    [file] = tmp_path.iterdir()
    for damaged in (file.read_bytes()[:-1], b"", b"x" + file.read_bytes()):
        file.write_bytes(damaged)
        assert files.get("key") is None


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
