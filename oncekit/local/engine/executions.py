"""State machines and their executions as Step Functions keeps them: starts, stops and redrives.

StartExecution with the name and input of a running execution returns that execution; any other use of a name in use is
refused. An Express execution has an ARN of another form, is never the same as another one, and cannot be described. A
redrive continues under the same ARN, from the state that failed or was running, with its input and variables. Answers
about executions may be outdated: views.py. They are remembered for good (on AWS for 90 days), and as long they may be
redriven (on AWS for 14 days).
"""

from __future__ import annotations

import copy
import json
import random
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from oncekit.asl.definition import InvalidDefinition, check
from oncekit.asl.expression import Evaluator
from oncekit.asl.functions import no_constant
from oncekit.asl.history import History, iso
from oncekit.asl.running import WHOLE
from oncekit.asl.sizes import MAX_BYTES
from oncekit.asl.states import Frame, Machine
from oncekit.contract.quotas import EXPRESS_SECONDS
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.client_errors import InNameOnly, client_error
from oncekit.local.clock import Clock
from oncekit.local.engine import views
from oncekit.local.engine.live import DEAD, RUNNING, LiveExecution, StateMachine
from oncekit.local.engine.repeats import Repeats
from oncekit.local.engine.runs import Run, instant, watchers
from oncekit.local.engine.service_calls import ServiceCalls

_NAME = re.compile(r"[^\s<>{}\[\]?*\"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]{1,80}")


class Executions:
    """All state machines of a cloud, and what starts, ends and redrives their executions. Errors are ClientErrors."""

    def __init__(self, clock: Clock, calls: ServiceCalls, repeats: Repeats, dice: random.Random) -> None:
        self.machines: dict[str, StateMachine] = {}
        self._deleted: list[StateMachine] = []
        self._clock = clock
        self._calls = calls
        self._repeats = repeats
        self._dice = dice
        self._evaluator = Evaluator(clock.now, dice)
        self._programs: dict[str, Machine] = {}
        self._one_at_a_time = threading.RLock()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """While it is open, each change of status is kept, for outdated answers."""

        def note(execution: Any) -> None:
            views.note(execution, self._clock.now())

        watchers.append(note)
        try:
            with closing(self._repeats):
                yield
        finally:
            watchers.remove(note)

    # ---- machines ----

    def create(self, name: str, definition: str, role_arn: str, kind: str) -> StateMachine:
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"
        _check_name(name)
        _check(definition)
        known = self.machines.get(arn)
        if known is not None:
            if (known.definition, known.type) == (definition, kind):
                return known  # "will ignore these differences", says the API Reference of the role
            raise _refusal("StateMachineAlreadyExists", f"State Machine Already Exists: '{arn}'")
        machine = StateMachine(arn, name, kind, role_arn, definition, instant(self._clock))
        self.machines[arn] = machine
        return machine

    def update(self, arn: str, definition: str | None, role_arn: str | None) -> StateMachine:
        machine = self.machine(arn)
        if definition is not None:
            _check(definition)
            machine.definition = definition
        machine.role_arn = role_arn or machine.role_arn
        return machine

    def delete(self, arn: str) -> None:
        """Its executions end at their next transition, as on AWS, and can be asked about."""
        if (machine := self.machines.pop(arn, None)) is not None:
            machine.is_deleted = True
            self._deleted.append(machine)

    @property
    def all_machines(self) -> list[StateMachine]:
        """Those that were deleted, too, while they have executions."""
        self._deleted = [each for each in self._deleted if each.executions]
        return [*self._deleted, *self.machines.values()]

    def machine(self, arn: str) -> StateMachine:
        """By its ARN; an alias or a version of it is the machine as it is now."""
        machine = self.machines.get(":".join(arn.split(":")[:7]))
        if machine is None:
            raise _refusal("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
        return machine

    def find(self, arn: str) -> LiveExecution | None:
        """Of several runs under one ARN the last one."""
        for machine in reversed(self.all_machines):
            for execution in reversed(machine.executions):
                if execution.arn == arn:
                    return execution
        return None

    # ---- starts ----

    def start(self, machine_arn: str, name: str | None, text: str | None, *, is_alone: bool = False) -> LiveExecution:
        """Start an execution, or give the running one that is the same. One that `is_alone` runs once for certain."""
        text = "{}" if text is None else text
        _check_input(text)
        if name is not None:
            _check_name(name)
        name = name or str(uuid.uuid4())
        self._clock.tick()
        with self._one_at_a_time:
            machine = self.machine(machine_arn)
            if (reason := machine.why_not) is not None:
                raise InNameOnly(machine.name, reason)
            if machine.type != "EXPRESS" and (same := _same(machine, name, text)) is not None:
                return same
            execution = self._made(machine, name, text)
            self._begin(execution)
        if machine.type == "EXPRESS" and not is_alone:
            self._run_again(execution)
        return execution

    def _made(self, machine: StateMachine, name: str, text: str) -> LiveExecution:
        kind, own = ("express", f":{uuid.uuid4()}") if machine.type == "EXPRESS" else ("execution", "")
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:{kind}:{machine.name}:{name}{own}"
        return LiveExecution(machine, name, arn, text, instant(self._clock), machine.definition, machine.role_arn)

    def _begin(self, execution: LiveExecution) -> None:
        """Up to its first event at once, so that it can be stopped as soon as its machine lists it."""
        machine, context = self._program(execution.definition), self._context(execution)
        history = History(self._clock.now)
        details = {"input": execution.text, "inputDetails": WHOLE, "roleArn": execution.role_arn}
        history.add("ExecutionStarted", details, is_followed=False)  # as AWS: the first state follows no event
        frame = Frame(machine.start_at, execution.input, {}, context)
        run = self._run(execution, machine, frame, history)
        run.begin()
        execution.machine.executions.append(execution)
        run.go()

    def _run(self, execution: LiveExecution, machine: Machine, frame: Frame, history: History) -> Run:
        limit = machine.timeout
        if execution.machine.type == "EXPRESS":
            limit = EXPRESS_SECONDS if limit is None else min(limit, EXPRESS_SECONDS)
        execution.run = run = Run(execution, machine, frame, history, self._clock, limit, self._calls)
        return run

    def _program(self, definition: str) -> Machine:
        if definition not in self._programs:
            self._programs[definition] = Machine(json.loads(definition), self._evaluator, self._dice)
        return self._programs[definition]

    def _context(self, execution: LiveExecution) -> dict[str, Any]:
        about = {
            "Id": execution.arn,
            "Input": execution.input,
            "Name": execution.name,
            "RoleArn": execution.role_arn,
            "StartTime": iso(execution.start_date.timestamp()),
            "RedriveCount": execution.redrive_count,
        }
        if execution.redrive_date is not None:
            about["RedriveTime"] = iso(execution.redrive_date.timestamp())
        return {"Execution": about, "StateMachine": {"Id": execution.machine.arn, "Name": execution.machine.name}}

    def _run_again(self, first: LiveExecution) -> None:
        """Runs it as often as `repeats` says, under the same ARN; side by side with the first, at the same time."""

        def run(start: datetime) -> None:
            repeated = copy.copy(first)
            repeated.start_date, repeated.told, repeated.status = start, [], RUNNING
            repeated.stop_date = repeated.error = repeated.cause = repeated.output = None
            self._begin(repeated)

        def run_late() -> None:
            try:
                run(instant(self._clock))
            finally:
                self._clock.leave()

        for delay in self._repeats.delays(first.arn, first.text):
            if delay > 0:
                self._repeats.to_come(self._clock.at(self._clock.now() + delay, run_late))
            else:
                run(first.start_date)

    # ---- redrives ----

    def redrive(self, execution: LiveExecution) -> None:
        with self._one_at_a_time:
            before = execution.run
            if execution.status not in DEAD or before.history.is_full:
                told = f"Execution is {execution.status} and cannot be redriven"
                raise _refusal("ExecutionNotRedrivable", told)
            before.wait_until_told()
            execution.redrive_count += 1
            execution.redrive_date = instant(self._clock)
            history = History(self._clock.now, before.history.events)
            history.add("ExecutionRedriven", {"redriveCount": execution.redrive_count})
            frame = replace(before.checkpoint, context=self._context(execution))
            run = self._run(execution, self._program(execution.definition), frame, history)
            execution.stop_date = execution.error = execution.cause = None
            execution.status = RUNNING
            run.begin()
            run.go()


def _refusal(code: str, message: str) -> ClientError:
    return client_error(code, message, "StepFunctions")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise _refusal("InvalidName", f"Invalid Name: '{name}'")


def _check(definition: str) -> None:
    try:
        check(json.loads(definition))
    except (InvalidDefinition, ValueError) as error:
        raise _refusal("InvalidDefinition", f"Invalid State Machine Definition: '{error}'") from error


def _check_input(text: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        told = f"Invalid State Machine Execution Input: 'longer than {MAX_BYTES} bytes'"
        raise _refusal("InvalidExecutionInput", told)
    try:
        json.loads(text, parse_constant=no_constant)
    except ValueError as error:
        raise _refusal("InvalidExecutionInput", f"Invalid State Machine Execution Input: '{error}'") from error


def _same(machine: StateMachine, name: str, text: str) -> LiveExecution | None:
    """The running execution that this start is the same as, None for a new one. Raises ExecutionAlreadyExists."""
    for execution in machine.executions:
        if execution.name == name:
            if execution.text == text and execution.status == RUNNING:
                return execution
            raise _refusal("ExecutionAlreadyExists", f"Execution Already Exists: '{execution.arn}'")
    return None
