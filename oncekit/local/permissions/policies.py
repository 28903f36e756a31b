"""The permissions of a role: its policies, split into permissions for one action on one resource each.

moto has an evaluator, for callers that it knows. It treats an unmet condition of an Allow as a Deny, does not support
`?`, matches the `.` of a name with any character, and cannot say which part of a policy allowed a call.
"""

from __future__ import annotations

import functools
import json
import logging
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deployment.resources import Deployed
from oncekit.local.permissions.needs import Need
from oncekit.local.templates.intrinsics import readable

_MANAGED_BY_AWS = "arn:aws:iam::aws:policy/"
_OF_SAM = ("AWS::Lambda::Function", "AWS::StepFunctions::StateMachine")
_log = logging.getLogger(__name__)

EFFECTS_POLICY = "EffectsPolicy"
"""How the logical id ends that `once new` gives the policy of an operation; a test holds the two together."""


class Answer(Enum):
    """The answer of a role's policies to a need; the value is the end of AWS's error message."""

    ALLOWED = ""
    NOT_ALLOWED = "because no identity-based policy allows the {action} action"
    DENIED = "with an explicit deny in an identity-based policy"
    DENIED_THERE = "with an explicit deny in a resource-based policy"


@dataclass(frozen=True)
class Permission:
    """One action on one resource, as a policy writes them: both may be patterns."""

    policy: str
    """Its logical id, one of AWS's name; one that is in a role is `Role.PolicyName`. So no two policies share one."""
    allows: bool
    action: str
    resource: str
    condition: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)

    def is_for(self, need: Need) -> bool:
        if not matches(self.action.lower(), need.action.lower()):
            return False
        if need.resource is not None and not matches(self.resource, need.resource):
            return False
        # What cannot be told counts for the caller: better to let a call pass than to refuse what AWS would allow.
        met = holds(self.condition, {**_of_the_resource(need), **dict(need.context)}) if self.condition else True
        return self.allows if met is None else met

    def __str__(self) -> str:
        return f"{self.policy}: {self.action} on {self.resource}"


@dataclass(frozen=True)
class Role:
    """A role of the template."""

    logical_id: str
    name: str
    place: str
    """Where the template defines its permissions."""
    permissions: tuple[Permission, ...]

    def answer(self, need: Need) -> tuple[Answer, frozenset[Permission]]:
        """What its policies say, and the permissions that allow it."""
        fitting = [each for each in self.permissions if each.is_for(need)]
        if not all(each.allows for each in fitting):
            return Answer.DENIED, frozenset()
        return (Answer.ALLOWED if fitting else Answer.NOT_ALLOWED), frozenset(fitting)


def roles_of(resources: Mapping[str, Deployed]) -> dict[str, Role]:
    """The roles that a template makes, by ARN, each with the policies in it, beside it, and those it names.

    A role with a policy that is neither in the template nor AWS's, or that says what it is not for (NotAction,
    NotResource), is left out: what it may do is not known here.
    Raises TemplateError for a policy that AWS would not take.
    """
    made = {logical_id: each for logical_id, each in resources.items() if each.ref}
    beside = list(_attached(made))
    documents = {
        each.ref: (logical_id, each.properties["PolicyDocument"])
        for logical_id, each in made.items()
        if each.type == "AWS::IAM::ManagedPolicy"
    }
    roles = {}
    for logical_id, role in made.items():
        if role.type != "AWS::IAM::Role":
            continue
        with readable(logical_id):
            policies = [
                *(
                    (f"{logical_id}.{each.get('PolicyName', '')}", each["PolicyDocument"])
                    for each in role.properties.get("Policies", [])
                ),
                *((policy, document) for names, policy, document in beside if role.ref in names),
                *(documents.get(arn) or _of_aws(arn) for arn in map(str, role.properties.get("ManagedPolicyArns", []))),
            ]
            unknown = [name for name, document in policies if document is None or _says_not(document)]
        if unknown:
            _log.warning("calls of %s are not checked: it is unknown what %s allows", logical_id, ", ".join(unknown))
            continue
        permissions = (each for name, document in policies for each in permissions_of(name, document or {}))
        owner = _owner(logical_id, made)
        place = f"the Policies of {owner}" if owner else f"a policy of {logical_id}"
        every = tuple(dict.fromkeys(permissions))
        roles[role.attributes("Arn")] = Role(logical_id, role.ref, place, every)
    return roles


def refusals_of(resources: Mapping[str, Deployed]) -> tuple[Permission, ...]:
    """What the policies of buckets refuse to everyone. What one allows is left out: a role has its own."""
    return tuple(
        each
        for logical_id, policy in resources.items()
        if policy.type == "AWS::S3::BucketPolicy" and policy.ref
        for statement in _list(policy.properties["PolicyDocument"].get("Statement", []))
        if statement["Effect"] == "Deny"
        and statement.get("Principal") in ("*", {"AWS": "*"})
        and not _says_not({"Statement": statement})
        for each in permissions_of(logical_id, {"Statement": [statement]})
    )


def effects_of(resources: Mapping[str, Deployed]) -> tuple[Permission, ...]:
    """What the policies allow that `once new` writes for the effects of operations, whatever roles they name."""
    return tuple(
        each
        for logical_id, policy in resources.items()
        if policy.type == "AWS::IAM::Policy" and policy.ref and logical_id.endswith(EFFECTS_POLICY)
        for each in permissions_of(logical_id, policy.properties["PolicyDocument"])
    )


def _owner(role: str, resources: Mapping[str, Deployed]) -> str | None:
    """SAM makes the role `XRole` of a function or state machine X that has Policies in place of a role."""
    owner = role.removesuffix("Role")
    return owner if owner in resources and resources[owner].type in _OF_SAM else None


def _attached(resources: Mapping[str, Deployed]) -> Iterator[tuple[list[str], str, Mapping[str, Any]]]:
    """Policies that name their roles: the roles, the policy's logical id, its document."""
    for logical_id, each in resources.items():
        if each.type in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"):
            given = each.properties
            roles = given.get("Roles", []) if "RoleName" not in given else [given["RoleName"]]
            yield [str(role) for role in roles], logical_id, given["PolicyDocument"]


def _of_aws(arn: str) -> tuple[str, Mapping[str, Any] | None]:
    """The name of a policy that the template does not make, and its document when it is one of AWS's."""
    name = arn.rpartition("/")[2]
    # SAM passes a bare name on, which on AWS it has looked up.
    return name, managed_policy(name) if arn.startswith(_MANAGED_BY_AWS) or "/" not in arn else None


def permissions_of(policy: str, document: Mapping[str, Any]) -> Iterator[Permission]:
    """The permissions of a policy's document. Raises TemplateError for a statement without an action or a resource."""
    for statement in _list(document.get("Statement", [])):
        with readable(f"a statement of the policy {policy}"):
            allows, condition = statement["Effect"] == "Allow", statement.get("Condition") or {}
            actions, resources = _list(statement["Action"]), _list(statement["Resource"])
        for action in actions:
            yield from (Permission(policy, allows, str(action), str(each), condition) for each in resources)


def _says_not(document: Mapping[str, Any]) -> bool:
    return any("NotAction" in each or "NotResource" in each for each in _list(document.get("Statement", [])))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# ---- conditions: StringEquals, StringLike, ArnEquals, ArnLike, Bool and Null on what is known of a call ----

# What is the same for every call; `aws:SecureTransport` as if the local cloud spoke TLS, as AWS does.
_COMMON = {
    "aws:principalaccount": ACCOUNT,
    "aws:requestedregion": REGION,
    "aws:resourceaccount": ACCOUNT,
    "aws:securetransport": "true",
}


def _of_the_resource(need: Need) -> dict[str, str]:
    """Its account, where its ARN names one; that of a bucket does not."""
    account = (need.resource or "").split(":", 5)[4:5]
    return {"aws:resourceaccount": account[0]} if account and account[0] else {}


def matches(pattern: str, value: str) -> bool:
    """Whether a text is as a pattern has it, in which `*` is any text and `?` any character."""
    return pattern == value or _compiled(pattern).fullmatch(value) is not None


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern), re.DOTALL)


_OPERATORS: Mapping[str, tuple[Callable[[str, str], bool], bool]] = {
    "stringequals": (operator.eq, True),
    "stringnotequals": (operator.eq, False),
    "stringlike": (matches, True),
    "stringnotlike": (matches, False),
    "arnequals": (matches, True),  # AWS: ArnEquals and ArnLike are the same
    "arnlike": (matches, True),
    "bool": (lambda expected, value: expected.lower() == value.lower(), True),
}


def holds(condition: Mapping[str, Mapping[str, Any]], context: Mapping[str, str | None]) -> bool | None:
    """Whether all parts of a condition hold; None when that hangs on a key or an operator that nobody here knows."""
    known = {**_COMMON, **{key.lower(): value for key, value in context.items()}}
    told = [
        _part_holds(compared, key, _texts(expected), known)
        for compared, parts in condition.items()
        for key, expected in parts.items()
    ]
    if False in told:
        return False
    return None if None in told else True


def _part_holds(compared: str, key: str, expected: list[str], known: Mapping[str, str | None]) -> bool | None:
    # A key has one value here, so that for any value is for all values.
    name = compared.lower().removeprefix("foranyvalue:").removeprefix("forallvalues:").removesuffix("ifexists")
    if key.lower() not in known or name not in {*_OPERATORS, "null"}:
        return None
    value = known[key.lower()]
    if name == "null":
        return str(value is None).lower() in expected
    alike, wanted = _OPERATORS[name]
    # AWS: a key that is not there matches nothing, so that only a negated operator holds; for all of no values holds.
    if value is None:
        return compared.lower().endswith("ifexists") or compared.lower().startswith("forallvalues:") or not wanted
    return any(alike(each, value) for each in expected) is wanted


def _texts(value: Any) -> list[str]:
    values: Iterable[Any] = value if isinstance(value, list) else [value]
    return [str(each).lower() if isinstance(each, bool) else str(each) for each in values]


# ---- policies that AWS manages: those that SAM gives to functions, and all others from moto's copy ----

_LOGS = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
_TRACES = [
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    "xray:GetSamplingStatisticSummaries",
]


def _allowing(actions: list[str]) -> Mapping[str, Any]:
    return {"Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}


# Here, since moto's copy takes a third of a second to read, and every role that SAM makes has these.
_GIVEN_BY_SAM = {
    "AWSLambdaBasicExecutionRole": _allowing(_LOGS),
    "AWSXRayDaemonWriteAccess": _allowing(_TRACES),
    "AWSXrayWriteOnlyAccess": _allowing(_TRACES),
}


def managed_policy(name: str) -> Mapping[str, Any] | None:
    """The document of a policy by its name, None when AWS has none of that name."""
    return _GIVEN_BY_SAM.get(name) or _known_to_moto().get(name, {}).get("Document")


@functools.cache
def _known_to_moto() -> Mapping[str, Any]:
    from moto.iam.aws_managed_policies import aws_managed_policies_data

    policies: Mapping[str, Any] = json.loads(aws_managed_policies_data)
    return policies
