"""The writes of one step: up to 98 actions on items of any tables, which happen all together or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from once.errors import InvalidWriteError
from once.values import to_dynamodb

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

    from once.conditions import ConditionBase

ACTIONS_LIMIT: Final = 98
"""Actions of one step. DynamoDB allows 100 in a transaction; one is for the record, and one is kept in reserve."""
CLOSINGS: Final = "#closings"
"""The only member of a record's `steps` that is not a step (see once.step_log). No step can have this name."""

Kind: TypeAlias = Literal["Put", "Update", "Delete", "ConditionCheck"]
Item: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Action:
    """One write, or one check, of a step."""

    kind: Kind
    table: str
    target: Item
    """The key, or for a put the item, as the function gave it."""
    condition: str
    """With the names of the attributes, but without the values; empty without a condition."""
    parameters: Mapping[str, Any]

    def as_dynamodb(self) -> "TransactWriteItemTypeDef":
        return cast("TransactWriteItemTypeDef", {self.kind: dict(self.parameters)})

    def __str__(self) -> str:
        return f"{self.kind} in {self.table}"


class Step:
    """Collects the writes of one step. Nothing is written before the step's function has returned its result.

    Values are plain Python (see once.values); conditions are boto3's (see once.conditions). With `return_item`, the
    ConditionFailed that is raised contains the item that did not meet the condition.
    """

    def __init__(self, name: str, record_table: str) -> None:
        self.name = name
        self._record_table = record_table
        self._actions: list[Action] = []

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions so far, in their order."""
        return tuple(self._actions)

    def put(
        self, table: str, item: Item, *, condition: "ConditionBase | None" = None, return_item: bool = False
    ) -> None:
        """Writes a whole item, and replaces the one with the same key, if any."""
        parameters = {"Item": to_dynamodb(item, self._what("Put", table))}
        self._add("Put", table, item, parameters, condition, return_item)

    def update(
        self,
        table: str,
        key: Item,
        expression: str,
        values: Item | None = None,
        names: Mapping[str, str] | None = None,
        *,
        condition: "ConditionBase | None" = None,
        return_item: bool = False,
    ) -> None:
        """Changes an item with an update expression, e.g. `step.update(t, k, "SET n = n - :one", {":one": 1})`."""
        parameters: dict[str, Any] = {"Key": self._key("Update", table, key), "UpdateExpression": expression}
        if values:
            parameters["ExpressionAttributeValues"] = to_dynamodb(values, self._what("Update", table))
        if names:
            parameters["ExpressionAttributeNames"] = dict(names)
        self._add("Update", table, key, parameters, condition, return_item)

    def delete(
        self, table: str, key: Item, *, condition: "ConditionBase | None" = None, return_item: bool = False
    ) -> None:
        """Deletes an item, if it is there."""
        self._add("Delete", table, key, {"Key": self._key("Delete", table, key)}, condition, return_item)

    def check(self, table: str, key: Item, condition: "ConditionBase", *, return_item: bool = False) -> None:
        """Writes nothing; the step happens only if the condition holds for the item."""
        parameters = {"Key": self._key("ConditionCheck", table, key)}
        self._add("ConditionCheck", table, key, parameters, condition, return_item)

    def _add(
        self,
        kind: Kind,
        table: str,
        target: Item,
        parameters: dict[str, Any],
        condition: "ConditionBase | None",
        return_item: bool,
    ) -> None:
        if self._record_table in (table, table.rpartition(":table/")[2]):
            raise InvalidWriteError(f"step {self.name!r} may not write to {table}: the locks are in that table")
        if len(self._actions) == ACTIONS_LIMIT:
            raise InvalidWriteError(f"step {self.name!r} has more than {ACTIONS_LIMIT} actions: make two steps of it")
        if kind != "Put":
            self._refuse_a_second_action(table, target)
        readable = add_condition(parameters, condition, self._what(kind, table))
        if return_item:
            parameters["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        self._actions.append(Action(kind, table, dict(target), readable, {"TableName": table, **parameters}))

    def _refuse_a_second_action(self, table: str, key: Item) -> None:
        """DynamoDB would refuse it, too, but not say which. Puts are not checked: the keys are unknown."""
        for action in self._actions:
            if action.table == table and action.target == key:
                raise InvalidWriteError(
                    f"step {self.name!r} has two actions on one item in {table}, which a transaction cannot have: "
                    "make one update of them, and give it the condition of a check"
                )

    def _key(self, kind: Kind, table: str, key: Item) -> object:
        return to_dynamodb(key, self._what(kind, table))

    def _what(self, kind: Kind, table: str) -> str:
        return f"step {self.name!r}, action {len(self._actions) + 1} ({kind} in {table})"


def add_condition(parameters: dict[str, Any], condition: "ConditionBase | None", what: str) -> str:
    """Adds a condition to the parameters of a write; returns it in readable form."""
    if condition is None:
        return ""
    from boto3.dynamodb.conditions import ConditionExpressionBuilder

    built = ConditionExpressionBuilder().build_expression(condition)
    names: dict[str, str] = built.attribute_name_placeholders
    values = to_dynamodb(built.attribute_value_placeholders, what)
    for kind, own in (("ExpressionAttributeNames", names), ("ExpressionAttributeValues", values)):
        given = parameters.setdefault(kind, {})
        if shared := sorted(set(given) & set(own)):
            raise InvalidWriteError(
                f"{what}: {shared[0]} is also a name that boto3 uses in the condition; rename yours"
            )
        given.update(own)
        if not given:
            del parameters[kind]
    parameters["ConditionExpression"] = built.condition_expression
    readable: str = built.condition_expression
    for placeholder in sorted(names, reverse=True):  # #n10 before #n1
        readable = readable.replace(placeholder, names[placeholder])
    return readable
