"""The guard: checks a call against its caller's role, and remembers what was needed and what was refused."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from oncekit.local.account import ACCOUNT
from oncekit.local.client_errors import client_error
from oncekit.local.deployment.resources import Deployed
from oncekit.local.permissions.needs import ANY, Need, needed
from oncekit.local.permissions.policies import Answer, Permission, Role, effects_of, refusals_of, roles_of

ANYTHING = None
"""The role of callers that are not checked."""

MOST_DENIALS = 1000

# What a service calls a refusal where it is not JSON's AccessDeniedException.
_CODES = {"s3": "AccessDenied", "sqs": "AccessDenied", "sns": "AuthorizationError"}
_CODES |= dict.fromkeys(("cloudformation", "iam", "monitoring", "sts"), "AccessDenied")
_STATUS_400 = {"dynamodb", "states", "kms", "logs", "secretsmanager", "ssm", "events", "kinesis"}


@dataclass(frozen=True)
class Caller:
    """The caller: the ARN of a role, and the name of the session in which it is assumed. Without a role, anybody may
    do everything: the developer, a function that a test adds."""

    role: str | None
    session: str


@dataclass(frozen=True)
class Use:
    """A need of a role, and the permissions that allow it: without all of these it would be refused."""

    role: str
    """Logical id."""
    action: str
    permissions: frozenset[Permission]


@dataclass(frozen=True)
class Denial:
    """A call that was refused. `str` gives one line: who may not do what, and how to allow it."""

    role: str
    """Logical id."""
    session: str
    """Name of the function, execution, rule, pipe or schedule that was the first to be refused."""
    action: str
    resource: str
    message: str
    """The text of AWS's error."""
    advice: str

    def __str__(self) -> str:
        return f"{self.session} ({self.role}) may not {self.action} on {self.resource}: {self.advice}"


class Permissions:
    """The roles of what is deployed. Thread-safe."""

    def __init__(self) -> None:
        self._roles: Mapping[str, Role] = {}
        """By ARN."""
        self._refusals: tuple[Permission, ...] = ()
        """From the policies of resources, for any caller."""
        self._effects: tuple[Permission, ...] = ()
        """For the roles that the policies of operations name, or should."""
        self._uses: dict[Use, str] = {}
        self._denials: dict[tuple[str, str, str], Denial] = {}
        self._lock = threading.Lock()

    def deploy(self, resources: Mapping[str, Deployed]) -> None:
        """From now on these resources' roles and no others. Raises TemplateError."""
        self._roles, self._refusals = roles_of(resources), refusals_of(resources)
        self._effects = effects_of(resources)

    @property
    def roles(self) -> Mapping[str, Role]:
        """The roles by logical id."""
        return {role.logical_id: role for role in self._roles.values()}

    def arn_of(self, logical_id: str) -> str | None:
        """The ARN of a role, None when there is none."""
        return next((arn for arn, role in self._roles.items() if role.logical_id == logical_id), None)

    def check(self, caller: Caller, service: str, operation: str, parameters: Mapping[str, Any]) -> None:
        """Before a call is made: raises ClientError, as AWS would, when the caller's role does not allow it.

        `service` is what the request is signed for, `operation` the API's name of it, parameters as boto3 takes them.
        """
        role = self._roles.get(caller.role or "")
        if role is None:
            return
        for need in needed(service, operation, parameters):
            answer, permissions = role.answer(need)
            if any(each.is_for(need) for each in self._refusals):
                answer = Answer.DENIED_THERE
            if answer is not Answer.ALLOWED:
                raise self._refusal(role, caller, need, answer, service, operation)
            with self._lock:
                self._uses.setdefault(Use(role.logical_id, need.action, permissions), need.resource or ANY)

    def _refusal(
        self, role: Role, caller: Caller, need: Need, answer: Answer, service: str, operation: str
    ) -> ClientError:
        user = f"arn:aws:sts::{ACCOUNT}:assumed-role/{role.name}/{caller.session}"
        resource = need.resource or ANY
        why = answer.value.format(action=need.action)
        message = f"User: {user} is not authorized to perform: {need.action} on resource: {resource} {why}"
        advice = self._place(role, need) if answer is Answer.NOT_ALLOWED else "a policy denies it explicitly"
        denial = Denial(role.logical_id, caller.session, need.action, resource, message, advice)
        with self._lock:
            self._denials.setdefault((role.logical_id, need.action, resource), denial)
            while len(self._denials) > MOST_DENIALS:
                del self._denials[next(iter(self._denials))]
        code, status = _CODES.get(service, "AccessDeniedException"), 400 if service in _STATUS_400 else 403
        return client_error(code, message, operation, status)

    def _place(self, role: Role, need: Need) -> str:
        """Where to allow it: what another role may by the policy of an operation, by naming this role there, too."""
        if policy := next((each.policy for each in self._effects if each.is_for(need)), None):
            return f"allow it in once/operations.yaml, by naming {role.logical_id} in the Roles of {policy}"
        return f"allow it in {role.place}"

    @property
    def uses(self) -> Mapping[Use, str]:
        """The permissions that roles used since the start or the last reset, each with one resource as an example."""
        with self._lock:
            return dict(self._uses)

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The refusals since the start or the last reset: each action on each resource once, oldest first."""
        with self._lock:
            return tuple(self._denials.values())

    def reset(self) -> None:
        """Forget what was needed and refused."""
        with self._lock:
            self._uses.clear()
            self._denials.clear()
