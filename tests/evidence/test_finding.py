"""What is kept of an answer, and the page of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oncekit.evidence.finding import GREEN, NOBODY, NOT_HERE, RED, Finding, Kept, page, scrubbed
from oncekit.evidence.rows import Row, rows_of
from oncekit.evidence.tests_on_aws import findings_in

PAGE = Path(__file__).parents[2] / "docs" / "verify-on-aws.md"
ABOUT = {"region": "eu-west-1", "date": "2026-01-02", "commit": "abc1234"}


def test_no_number_of_an_account_and_no_key_is_kept() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    told = f"arn:aws:iam::123456789012:role/r of bucket-123456789012 by {key} at 1767225600000"
    assert scrubbed(told) == "arn:aws:iam::ACCOUNT:role/r of bucket-ACCOUNT by ACCOUNT at 1767225600000"


def test_whoever_makes_a_finding_the_file_has_no_number_of_an_account(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "once.json")
    kept.add([Finding("latency", "an answer", "arn:aws:iam::123456789012:role/r may not", NOBODY)], [], **ABOUT)
    assert "arn:aws:iam::ACCOUNT:role/r" in kept.path.read_text()


def test_an_answer_has_region_date_and_commit_and_the_next_one_takes_its_place(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "a" / "once.json")
    kept.add([Finding("V1", "e", "other", RED), Finding("V4", "e", "as e", GREEN)], [], **ABOUT)
    kept.add([Finding("V1", "e", "as e", GREEN)], [], **{**ABOUT, "commit": "def5678"})
    first, second = kept.read()["findings"]
    assert first == {"row": "V1", "expected": "e", "seen": "as e", "verdict": GREEN, **ABOUT, "commit": "def5678"}
    assert second["commit"] == "abc1234"


def test_a_look_without_an_answer_does_not_take_the_place_of_one_with_an_answer(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "once.json")
    kept.add([Finding("V1", "e", "other", RED)], [], **ABOUT)
    kept.add([Finding("V1", "e", "AccessDenied", NOBODY)], [], **ABOUT)
    kept.add([Finding("V1", "e", "no API", NOT_HERE)], [], **ABOUT)
    assert [each["verdict"] for each in kept.read()["findings"]] == [RED]


def test_the_page_has_every_row_and_says_where_nobody_has_looked(tmp_path: Path) -> None:
    rows = {each: Row(each, f"fact {each}", "why", "how", "expected") for each in ("V1", "V4", "V10", "V79")}
    kept = Kept(tmp_path / "once.json")
    kept.add(
        [Finding("V4", "e", "a|b", RED), Finding("V10", "e", "e", GREEN), Finding("policies", "e", "e", GREEN)],
        [],
        **ABOUT,
    )
    kept.add([Finding("V79", "e", "no API", NOT_HERE)], [], **ABOUT)
    where = "eu-west-1, 2026-01-02, abc1234"
    lines = page(kept.read(), rows).splitlines()
    assert "2 green, 1 red, 1 nobody has looked, 1 not run here." in lines
    assert [line for line in lines if line[:3] in ("| ✓", "| ✗", "| ?", "| -")] == [
        "| ? | V1 | fact V1 | expected | nobody has looked | |",
        rf"| ✗ | V4 | fact V4 | expected | a\|b | {where} |",
        f"| ✓ | V10 | fact V10 | expected | e | {where} |",
        f"| - | V79 | fact V79 | expected | not run here: no API | {where} |",
        f"| ✓ | policies | policies | e | e | {where} |",
    ]


@pytest.mark.parametrize(
    ("region", "title"), [("eu-west-1", "What AWS answered"), ("once up", "What `once up` answered")]
)
def test_a_page_of_once_up_does_not_say_that_aws_answered(tmp_path: Path, region: str, title: str) -> None:
    kept = Kept(tmp_path / "once.json")
    kept.add([Finding("V10", "e", "e", GREEN)], [], **{**ABOUT, "region": region})
    first = page(kept.read(), {}).splitlines()[0]
    assert first.startswith(f"# {title}") and ("not AWS" in first) is (region == "once up")


def test_a_row_is_green_if_all_of_its_tests_ran_and_passed() -> None:
    def case(name: str, row: str, inside: str = "") -> str:
        properties = f'<properties><property name="row" value="{row}"/></properties>' if row else ""
        return f'<testcase name="{name}">{properties}{inside}</testcase>'

    skipped, failed = '<skipped message="no bus"/>', '<failure message="it was 5 in 123456789012">...</failure>'
    cases = (case("a", "V31"), case("b", "V31", skipped), case("c", "V32"), case("d", "V32", failed))
    more = (case("e", "V33", skipped), case("f", ""), case("g", "", '<error message="boom"/>'))
    passed = (case("h", "V30"), case("i", "V30"))
    report = f"<testsuites><testsuite>{''.join([*cases, *more, *passed])}</testsuite></testsuites>".encode()
    found = {each.row: (each.verdict, each.seen) for each in findings_in(report, "states")}
    assert found == {
        "V30": (GREEN, "PASSED: 2 tests"),
        "V31": (NOBODY, "1 of 2 passed; skipped: b: no bus"),
        "V32": (RED, "1 of 2 failed: d: it was 5 in ACCOUNT"),
        "V33": (NOBODY, "0 of 1 passed; skipped: e: no bus"),
        "states": (RED, "1 of 2 failed: g: boom"),
    }


def test_a_file_that_a_person_wrote_into_is_read(tmp_path: Path) -> None:
    by_hand = {"row": "V24", "expected": "e", "seen": "ABORTED for good", "verdict": GREEN, **ABOUT}
    path = tmp_path / "once.json"
    path.write_text(json.dumps({"findings": [by_hand], "latency": []}))
    Kept(path).add([Finding("V10", "e", "e", GREEN)], [], **ABOUT)
    assert "| ✓ | V24 |" in page(Kept(path).read(), rows_of(PAGE))
