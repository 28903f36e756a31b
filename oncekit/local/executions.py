"""Finds the executions of the deployed state machines, and waits for them."""

from __future__ import annotations

from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.execution import Execution, execution_of, state_of

SECONDS_OF_A_CALL = 2.0
"""At most so long what is forgotten is waited for: an execution that was stopped may be in the middle of a call."""


class NoSuchExecution(LookupError):
    """There is no execution with this ARN, or no longer."""


class Executions:
    """Finds executions by their ARN, and waits for their ends. `machines` are moto's own."""

    @property
    def machines(self) -> list[Any]:
        from moto.stepfunctions.parser.models import stepfunctions_parser_backends

        machines: list[Any] = stepfunctions_parser_backends[ACCOUNT][REGION].state_machines
        return machines

    def of(self, machine_arn: str) -> list[Any]:
        """Moto's executions of one machine, oldest first."""
        return [each for machine in self.machines if machine.arn == machine_arn for each in machine.executions]

    def running(self) -> list[Any]:
        return [each for machine in self.machines for each in machine.executions if each.status == "RUNNING"]

    def find(self, arn: str) -> Any:
        """Moto's execution; of several runs under one ARN the last one. Raises NoSuchExecution."""
        for machine in self.machines:
            for execution in reversed(machine.executions):
                if execution.exec_arn == arn:
                    return execution
        raise NoSuchExecution(f"there is no execution {arn}")

    def describe(self, arn: str) -> Execution:
        """The execution as it is now."""
        return execution_of(self.find(arn))

    def wait(self, arn: str, timeout: float = 60) -> Execution:
        """Wait for the end of an execution, `timeout` real seconds at most. Raises TimeoutError, naming its state."""
        from oncekit.local.engine.runs import ended

        running = self.find(arn)
        if not ended.wait(lambda: running.status != "RUNNING", timeout):
            raise TimeoutError(f"after {timeout:g} s, execution {running.name} is still in {state_of(running)}")
        return execution_of(running)

    def forget(self) -> None:
        """Stop and forget all executions. Not through the API, which cannot stop an Express execution.

        What a delivery starts meanwhile stays, and runs: forget it when the delivery is over.
        """
        for machine in self.machines:
            begun = list(machine.executions)
            for execution in begun:
                if execution.status == "RUNNING":
                    execution.stop(None, "Reset", "the local cloud was reset")
            for execution in begun:
                execution.exec_worker.env.run.join(SECONDS_OF_A_CALL)
            machine.executions[:] = [each for each in machine.executions if not any(each is one for one in begun)]
