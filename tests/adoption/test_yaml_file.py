"""Lines are added to a template, and nothing else of it changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oncekit.adoption.yaml_file import YamlFile
from oncekit.local.templates.elsewhere import line_of
from oncekit.problem import Problem

TEMPLATE = """# head
Transform: AWS::Serverless-2016-10-31
Resources:
    # of A
    A:   # beside A
        Type: "X"
        Properties: {Name: !Ref B}   # in one line
    B:
        Properties:
            Text: |
                one
                # no comment

            Names: !Join
            - ","
            - - !Sub ${A}
              - last   # of the names
            Same: &same
              X: 1
        Metadata: *same
    # under B

# about what follows
Outputs:
    X: 'y'
"""


def edited(tmp_path: Path, text: str, *keys: str, lines: tuple[str, ...] = ("New: 1",), apart: bool = False) -> str:
    path = tmp_path / "template.yaml"
    path.write_bytes(text.encode())
    file = YamlFile(path)
    file.append(keys, lines, apart)
    assert file.save() and not file.save(), "a second time there is nothing to save"
    return path.read_bytes().decode()


def test_a_resource_goes_after_the_last_one_and_every_other_line_stays(tmp_path: Path) -> None:
    changed = edited(tmp_path, TEMPLATE, "Resources", lines=("New:", "  Type: Y"), apart=True)
    assert changed == TEMPLATE.replace("    # under B\n", "    # under B\n\n    New:\n      Type: Y\n")


@pytest.mark.parametrize(
    ("keys", "lines", "after", "new"),
    [
        (("Resources", "B", "Properties"), ("New: 1",), "              X: 1\n", "            New: 1\n"),
        (("Resources", "B", "Properties", "Names", "Fn::Join", "1"), ("- a",), "of the names\n", "              - a\n"),
        (("Outputs",), ("New: 1",), "    X: 'y'\n", "    New: 1\n"),
        (("Resources", "A"), ("New: 1",), "# in one line\n", "        New: 1\n"),
        (("Resources", "B"), ("New: 1",), "*same\n", "        New: 1\n"),
    ],
)
def test_a_member_goes_to_the_end_of_its_mapping_or_list(
    tmp_path: Path, keys: tuple[str, ...], lines: tuple[str, ...], after: str, new: str
) -> None:
    assert edited(tmp_path, TEMPLATE, *keys, lines=lines).replace("    # under B\n", "") == TEMPLATE.replace(
        after, after + new
    ).replace("    # under B\n", "")


def test_ends_of_lines_stay_as_they_are(tmp_path: Path) -> None:
    windows = TEMPLATE.replace("\n", "\r\n")
    assert edited(tmp_path, windows, "Outputs") == f"{windows}    New: 1\r\n"


MEMBER = ("New:  # all", "  Of: >-", "    a", "    b", "  To: !Ref B")
ONE_LINE = ("New: !GetAtt Fn.Arn",)
IN_JSON = '\n{\n  "Resources": {\n    "A": {"Type": "X"}\n  }\n}\n'


@pytest.mark.parametrize(
    ("text", "lines", "told"),
    [
        ("Resources: {A: {Type: X}}\n", MEMBER, '"New": {"Of": "a b", "To": {"Ref": "B"}}'),
        ("Resources:\n  A: {Type: X}\nOutputs: 1\n", MEMBER, '"New": {"Of": "a b", "To": {"Ref": "B"}}'),
        (IN_JSON, MEMBER, '"New": {"Of": "a b", "To": {"Ref": "B"}}'),
        (IN_JSON, ONE_LINE, '"New": {"Fn::GetAtt": ["Fn", "Arn"]}'),
    ],
)
def test_what_is_not_written_line_by_line_is_left_alone_and_what_to_add_can_be_pasted(
    tmp_path: Path, text: str, lines: tuple[str, ...], told: str
) -> None:
    keys = ("Resources", "A") if "\n  A" in text else ("Resources",)
    with pytest.raises(Problem, match=f"add there: {re.escape(told)}$"):
        edited(tmp_path, text, *keys, lines=lines)
    assert (tmp_path / "template.yaml").read_text() == text


@pytest.mark.parametrize(
    ("text", "keys", "line", "new"),
    [
        ("Resources: {A: {Type: X}}\n", ("Resources", "A"), "New: 1", "Resources: {A: {Type: X, New: 1}}\n"),
        ("Resources: { A: { B: [a ] } }\n", ("Resources", "A", "B"), "- b", "Resources: { A: { B: [a, b] } }\n"),
        ("Resources: {\n  A: 1\n}\n", ("Resources",), "New: 1", "Resources: {\n  A: 1\n, New: 1}\n"),
    ],
)
def test_one_line_goes_into_braces_and_brackets(
    tmp_path: Path, text: str, keys: tuple[str, ...], line: str, new: str
) -> None:
    assert edited(tmp_path, text, *keys, lines=(line,)) == new


@pytest.mark.parametrize(
    "there", ["A: {Schedule: cron(0 12 * * ? *)}", "A: {URL: http://x/z?a=1}", "A: {B: 1}\t# a tab before it"]
)
def test_whatever_is_read_as_a_template_can_be_added_to(tmp_path: Path, there: str) -> None:
    text = f"Resources:\n  {there}\n  C: {{D: 1}}\n"
    assert edited(tmp_path, text, "Resources") == f"{text}  New: 1\n"
    assert line_of(tmp_path / "template.yaml", "Resources", "New") == 4
    file = YamlFile(tmp_path / "template.yaml")
    file.remove(("Resources", "New"))
    assert file.text == text


def test_lines_that_would_change_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="add there"):
        edited(tmp_path, TEMPLATE, "Resources", lines=("New: 1\nOther: {}",))


@pytest.mark.parametrize("text", ["Resources: [", "just text", "Transform: x\n"])
def test_what_is_no_template_is_a_problem(tmp_path: Path, text: str) -> None:
    with pytest.raises(Problem):
        edited(tmp_path, text, "Resources")
