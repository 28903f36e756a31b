"""Mutants of the library that no test can catch, each with its reason. One that nothing needs is a finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Excuse:
    """A change of one place: the lines that are taken out and put in, each without its margin, joined by spaces."""

    module: str
    removed: str
    added: str
    reason: str


EXCUSES: tuple[Excuse, ...] = (
    Excuse(
        "single_writes",
        'ConditionExpression=" AND ".join(f"attribute_not_exists({name})" for name in names),',
        'ConditionExpression=" and ".join(f"attribute_not_exists({name})" for name in names),',
        "the local engines read the word in small letters, too; the code writes it as the pages of AWS do",
    ),
    Excuse(
        "result",
        "if depth > 200:",
        "if depth > 201:",
        "where the search ends is arbitrary: only the words of an error depend on it",
    ),
    Excuse(
        "result",
        "if depth > 200:",
        "if depth >= 200:",
        "where the search ends is arbitrary: only the words of an error depend on it",
    ),
    Excuse(
        "result",
        'if fault := _fault(member, f"{pointer}/{name}", depth + 1):',
        'if fault := _fault(member, f"{pointer}/{name}", depth + 2):',
        "where the search ends is arbitrary: only the words of an error depend on it",
    ),
    Excuse(
        "result",
        "if len(text) > INLINE_LIMIT:",
        "if len(text) >= INLINE_LIMIT:",
        "the envelope of such a text is longer than the text, so the next line refuses it",
    ),
    Excuse(
        "result",
        'return f"{pointer[:100]}... is nested too deeply, or contains itself"',
        'return f"{pointer[:101]}... is nested too deeply, or contains itself"',
        "how much of a path a message has is arbitrary",
    ),
    Excuse(
        "result",
        'return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)',
        'return json.dumps(value, separators=(",", ":"), allow_nan=False)',
        "True is what ensure_ascii is by default; the code says what it relies on",
    ),
    Excuse(
        "result",
        'return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)',
        'return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=None)',
        "None is as false as False to the encoder",
    ),
    Excuse(
        "single_writes",
        'joined, found = ADD_CLAUSE.subn("ADD #once :onceSet,", update, count=1)',
        'joined, found = ADD_CLAUSE.subn("ADD #once :onceSet,", update, )',
        "an update expression has one ADD clause at most; DynamoDB refuses another",
    ),
    Excuse(
        "step",
        'return cast("TransactWriteItemTypeDef", {self.kind: dict(self.parameters)})',
        'return cast("TRANSACTWRITEITEMTYPEDEF", {self.kind: dict(self.parameters)})',
        "for the type checker only",
    ),
    Excuse(
        "step",
        'return cast("TransactWriteItemTypeDef", {self.kind: dict(self.parameters)})',
        'return cast("XXTransactWriteItemTypeDefXX", {self.kind: dict(self.parameters)})',
        "for the type checker only",
    ),
    Excuse(
        "step",
        'return cast("TransactWriteItemTypeDef", {self.kind: dict(self.parameters)})',
        'return cast("transactwriteitemtypedef", {self.kind: dict(self.parameters)})',
        "for the type checker only",
    ),
    Excuse(
        "step",
        'return cast("TransactWriteItemTypeDef", {self.kind: dict(self.parameters)})',
        "return cast(None, {self.kind: dict(self.parameters)})",
        "for the type checker only",
    ),
    Excuse(
        "step_answers",
        'reasons = cast("list[dict[str, Any]]", error.response.get("CancellationReasons", []))',
        'reasons = cast("LIST[DICT[STR, ANY]]", error.response.get("CancellationReasons", []))',
        "for the type checker only",
    ),
    Excuse(
        "step_answers",
        'reasons = cast("list[dict[str, Any]]", error.response.get("CancellationReasons", []))',
        'reasons = cast("XXlist[dict[str, Any]]XX", error.response.get("CancellationReasons", []))',
        "for the type checker only",
    ),
    Excuse(
        "step_answers",
        'reasons = cast("list[dict[str, Any]]", error.response.get("CancellationReasons", []))',
        'reasons = cast("list[dict[str, any]]", error.response.get("CancellationReasons", []))',
        "for the type checker only",
    ),
    Excuse(
        "step_answers",
        'reasons = cast("list[dict[str, Any]]", error.response.get("CancellationReasons", []))',
        'reasons = cast(None, error.response.get("CancellationReasons", []))',
        "for the type checker only",
    ),
    Excuse(
        "step_answers",
        "return Answer(busy, is_final=False, nothing_happened=True)",
        "return Answer(busy, is_final=None, nothing_happened=True)",
        "None is as false as False to those who read it",
    ),
    Excuse(
        "step_answers",
        "return Answer(error, is_final=False, nothing_happened=False)",
        "return Answer(error, is_final=False, nothing_happened=None)",
        "None is as false as False to those who read it",
    ),
    Excuse(
        "step_answers",
        "return Answer(error, is_final=False, nothing_happened=False)",
        "return Answer(error, is_final=None, nothing_happened=False)",
        "None is as false as False to those who read it",
    ),
    Excuse(
        "step_log",
        "self._closings = 0",
        "self._closings = 1",
        "nothing looks at it before the record is read, which sets it",
    ),
    Excuse(
        "step_log",
        "self._closings = 0",
        "self._closings = None",
        "nothing looks at it before the record is read, which sets it",
    ),
    Excuse(
        "step_log",
        "self._done: dict[str, DoneStep] | None = None",
        'self._done: dict[str, DoneStep] | None = ""',
        "nothing looks at it before the record is read, which sets it",
    ),
    Excuse(
        "step_log",
        "self._was_read = False",
        "self._was_read = None",
        "None is as false as False until the record is read",
    ),
)
