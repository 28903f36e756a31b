"""Time that runs far ahead: what S3 deletes."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from event_stand import Stand

DAY = 86_400
BUCKET = """
  Bucket:
    Type: AWS::S3::Bucket
    Properties:
      LifecycleConfiguration:
        Rules:
          - { Id: short, Status: Enabled, Prefix: short/, ExpirationInDays: 2 }
          - { Id: all, Status: Enabled, Prefix: "", ExpirationInDays: 30 }
          - { Id: off, Status: Disabled, Prefix: kept/, ExpirationInDays: 1 }
"""


def keys(stand: Stand) -> list[str]:
    listed = stand.cloud.client("s3").list_objects_v2(Bucket=stand.stack.resources["Bucket"].ref)
    return [each["Key"] for each in listed.get("Contents", [])]


@pytest.mark.aws(
    "S3 User Guide, Lifecycle configuration elements",
    "Amazon S3 rounds the transition or expiration date of an object to midnight UTC the next day.",
)
def test_object_is_gone_at_midnight_after_the_days_of_its_rule(stand: Stand) -> None:
    stand.deploy(BUCKET)
    s3, bucket = stand.cloud.client("s3"), stand.stack.resources["Bucket"].ref
    stand.clock.advance(DAY - stand.clock.now() % DAY + 3600)  # one o'clock in the morning
    for key in ("short/a", "kept/b"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    stand.clock.advance(2 * DAY)
    assert keys(stand) == ["kept/b", "short/a"], "two days old, but it is not midnight"
    s3.put_object(Bucket=bucket, Key="short/new", Body=b"x")
    stand.clock.advance(23 * 3600)
    assert keys(stand) == ["kept/b", "short/new"]
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3.get_object(Bucket=bucket, Key="short/a")
    stand.clock.advance(27 * DAY)
    assert keys(stand) == ["kept/b"]
    stand.clock.advance(DAY)
    assert keys(stand) == []
