"""boto3's conditions, for the writes of a step: `condition=Attr("available").gte(2)`.

They are boto3's own classes. A function that uses them should import them from here, at its top: boto3 is slow to
import, and a function has more CPU while Lambda starts it than later.
"""

from boto3.dynamodb.conditions import And, Attr, ConditionBase, Key, Not, Or

__all__ = ["And", "Attr", "ConditionBase", "Key", "Not", "Or"]
