"""`once replay-rejected`: refused requests start again, or are discarded; rejected.py does it."""

from __future__ import annotations

from typing import Annotated

import typer

from oncekit.cli.deployed import rejected
from oncekit.cli.deployed.on_stack import LONGEST_ID, answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import Entry, short

Error = Annotated[
    str | None,
    typer.Option(
        "--error", metavar="NAME", help="Only messages with this error, such as Unavailable, or UNREADABLE ones."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list what would be done.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Handle N messages at most.")]
Discard = Annotated[
    bool, typer.Option("--discard", help="Delete them instead; needs --error. What is deleted is lost.")
]


def replay_rejected(
    error: Error = None,
    dry_run: DryRun = False,
    limit: Limit = 100,
    discard: Discard = False,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Start refused requests again, or discard them. Each leaves the queue only after its start was accepted.

    If several messages have the same request of the same execution, only one is started; the others are deleted with
    it. --discard deletes all messages with this error, so first start the requests that can be started.

    JSON: {messages: [{messageId, id, error, message, refused, outcome, executionArn, reason, copies}]}.
    """
    if discard and error is None:
        raise Problem("--discard: say which requests to delete for good, with --error NAME")

    def work(stack: Stack) -> int:
        done = rejected.replay(stack, error, dry_run, limit, discard)
        lines = [
            Entry(
                f"{each['outcome']:<16}  ",
                f"{short(each['error'] or '-')}  {short(each['id'] or each['messageId'], LONGEST_ID)}"
                + "".join(f"  {each[key]}" for key in ("message", "reason", "executionArn") if each[key])
                + (f"  and {each['copies']} more of its messages" if each["copies"] else ""),
            )
            for each in done
        ]
        answered({"messages": done}, as_json, *(lines or [Entry("", "No such message is in the queue.")]))
        return 1 if any(each["outcome"] in rejected.LEFT for each in done) else 0

    raise typer.Exit(on_stack(Place(stack, profile, region), "", work))
