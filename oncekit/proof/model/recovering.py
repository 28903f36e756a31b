"""Recovery in the model: what it finds, and each branch of it that is at work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from oncekit.proof.model.late_writes import sent_late
from oncekit.proof.model.machine import NOW, At, Machine, Next
from oncekit.proof.model.promises import is_final, text
from oncekit.proof.model.record import parsed, time_of
from oncekit.proof.model.services import Call, Services
from oncekit.proof.model.setting import Move, Setting
from oncekit.proof.model.world import DEAD, DEAD_AND_SEEN, PLACES, Worker, World, arn_of, as_json

LOOK, RECOVER = "look", "recover"


class Recovering:
    """The moves of recovery."""

    def __init__(self, setting: Setting, services: Services) -> None:
        self._setting, self._services = setting, services
        self._machines: Mapping[str, Machine] = {LOOK: setting.look, RECOVER: setting.recover}

    def begins(self, world: World) -> Iterator[Move]:
        """What the event of an end, or the sweep, sets off."""
        if len(world.workers) >= self._setting.workers:
            return
        for place, execution in enumerate(world.executions):
            if execution is None or execution.status != DEAD:
                continue
            if any(worker.about == place for worker in world.workers):
                continue
            for sweeps in (False, True):
                how = "the sweep" if sweeps else "the event"
                branch = self._branch(LOOK, as_json(arn_of(place)), sweeps, place)
                # Events are lost at times, so an end must be in reach without them.
                yield Move(f"{how} finds that {PLACES[place]} died", sweeps, self._with(world, branch))
        lease = time_of(world.record, "leaseExpiresAt")
        if world.record and lease is not None and lease < NOW and not is_final(world.record):
            branch = self._branch(RECOVER, as_json({"id": text(parsed(world.record), "id")}), True, -1)
            if branch not in world.workers:
                yield Move("the sweep finds the record", True, self._with(world, branch))

    def _branch(self, machine: str, given: str, sweeps: bool, about: int) -> Worker:
        entered = self._machines[machine].enter("recovery", given, {"sweeps": sweeps})
        assert isinstance(entered, At)
        return Worker(machine, entered.position, entered.variables, about, sweeps and machine == LOOK)

    def _with(self, world: World, *workers: Worker, without: Worker | None = None) -> World:
        left = list(world.workers)
        if without is not None:
            left.remove(without)
        return world._replace(workers=tuple(sorted((*left, *workers))))

    def goes_on(self, world: World) -> Iterator[Move]:
        for worker in world.workers:
            yield from self._of(world, worker)

    def _of(self, world: World, worker: Worker) -> Iterator[Move]:
        machine = self._machines[worker.machine]
        label = f"recovery: {worker.position}"

        def on(after: World, step: Next) -> World:
            if isinstance(step, At):
                return self._with(
                    after, worker._replace(position=step.position, variables=step.variables), without=worker
                )
            after = self._with(after, without=worker)
            if step.state == "OwnerDied":
                return self._with(after, self._branch(RECOVER, as_json(step.output), worker.sweeps, -1))
            dead = after.executions[worker.about] if worker.about >= 0 else None
            if dead is not None and dead.status == DEAD and step.state == "NothingLeftToDo":
                return after.put(worker.about, dead._replace(status=DEAD_AND_SEEN))
            return after

        call = Call(machine, worker.position, worker.variables, "recovery", "{}")
        answer = self._services.asked(world, call, None)
        if answer is None:
            yield Move(
                f"{label}: no place is free, so it is left to the next sweep", True, self._with(world, without=worker)
            )
            return
        yield Move(label, True, on(answer.world, call.answered(answer.result)))
        if world.budget.stale and (old := self._services.stale(world, call)):
            yield Move(f"{label}: told what was", False, on(world.spend("stale"), call.answered(old)))
        yield from sent_late(self._setting, world, call, -1, label)
        if not world.budget.losses:
            return
        poorer = answer.world.spend("losses")
        if answer.world != world:
            yield Move(f"{label}: answer lost", False, poorer)
        yield Move(f"{label}: recovery vanishes", False, self._with(world, without=worker).spend("losses"))
