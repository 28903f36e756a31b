"""Rules for what keeps data: tables, bucket, queue and logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from once.result_store import ResultStore

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
Resources = dict[str, dict[str, Any]]
OWN_KEY = {"Fn::If": ["HasEncryptionKey", {"Ref": "EncryptionKeyArn"}, {"Ref": "AWS::NoValue"}]}


def of_type(resources: Resources, kind: str) -> dict[str, Any]:
    """The properties of each resource of a type, by its name."""
    found = {name: each["Properties"] for name, each in resources.items() if each["Type"] == kind}
    assert len(found) > 1
    return found


def test_records_expire_by_their_own_attribute_and_by_nothing_else(resources: Resources) -> None:
    table = resources["IdempotencyTable"]["Properties"]
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expiresAt", "Enabled": True}


def test_every_table_is_encrypted_with_a_key_of_the_users_and_can_be_restored(resources: Resources) -> None:
    for name, table in of_type(resources, "AWS::DynamoDB::Table").items():
        assert table["SSESpecification"]["KMSMasterKeyId"] == OWN_KEY, name
        assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True, name


KEY_PROPERTY = {
    "AWS::Logs::LogGroup": "KmsKeyId",
    "AWS::SNS::Topic": "KmsMasterKeyId",
    "AWS::SQS::Queue": "KmsMasterKeyId",
    "AWS::Serverless::Function": "KmsKeyArn",
}


def test_a_key_of_the_users_encrypts_everything_that_is_kept(resources: Resources) -> None:
    kept = [(name, r) for name, r in resources.items() if r["Type"] in KEY_PROPERTY]
    assert len(kept) > 10
    for name, resource in kept:
        assert resource["Properties"][KEY_PROPERTY[resource["Type"]]] == OWN_KEY, name


def test_whoever_reads_or_writes_what_the_key_encrypts_may_use_it(resources: Resources) -> None:
    """By a policy that a role names, so that it has it before anything uses the role."""
    assert resources["EncryptionKeyPolicy"]["Condition"] == "HasEncryptionKey"
    uses_key = {"Fn::If": ["HasEncryptionKey", [{"Ref": "EncryptionKeyPolicy"}], {"Ref": "AWS::NoValue"}]}
    for name, resource in resources.items():
        # A rule only starts an execution: what it puts into its dead-letter queue, it puts there as the service.
        # A rollout only moves aliases.
        if resource["Type"] == "AWS::IAM::Role" and not name.endswith(("RuleRole", "RolloutRole")):
            attached = resource["Properties"].get("ManagedPolicyArns", [])
            assert attached in (uses_key, [{"Ref": "FunctionPolicy"}], [{"Ref": "MachinePolicy"}]), name


def test_a_function_that_a_user_adds_may_use_the_key_too(resources: Resources) -> None:
    statements = resources["FunctionPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    [(condition, use, _)] = [each["Fn::If"] for each in statements if "Fn::If" in each]
    assert condition == "HasEncryptionKey"
    [same] = resources["EncryptionKeyPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert use == same


def expirations(resources: Resources) -> dict[str, int]:
    """Days after which objects go, by the beginning of their key. All rules are on, and none depends on a parameter."""
    rules = resources["ResponseBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    expiring = [rule for rule in rules if "ExpirationInDays" in rule]
    assert all(rule["Status"] == "Enabled" and isinstance(rule["ExpirationInDays"], int) for rule in expiring)
    assert len({rule["Id"] for rule in expiring}) == len({rule["Prefix"] for rule in expiring}) == len(expiring)
    return {rule["Prefix"]: rule["ExpirationInDays"] for rule in expiring}


def kept_for(key: str, expirations: Mapping[str, int]) -> int:
    """Where rules overlap, the shorter time holds (S3's user guide, "How Amazon S3 handles conflicts")."""
    return min(days for prefix, days in expirations.items() if key.startswith(prefix))


def allowed_retention(source: Mapping[str, Any]) -> list[int]:
    allowed: list[int] = source["Parameters"]["RetentionDays"]["AllowedValues"]
    return allowed


class Written:
    """S3 that remembers the key of what was put."""

    def put_object(self, **put: Any) -> None:
        self.key = str(put["Key"])


def key_of(retention: int) -> str:
    s3 = Written()
    ResultStore("bucket", retention, cast("Any", s3)).put(id="acme#pay#k", fence=1, owner="o", text="1")
    return s3.key


def test_an_answer_in_the_bucket_outlives_its_record(source: Mapping[str, Any], resources: Resources) -> None:
    rules = expirations(resources)
    for retention in allowed_retention(source):
        assert retention + 30 < kept_for(key_of(retention), rules) <= retention + 60, retention


@pytest.mark.parametrize("prefix", ["requests/", "rejected/"])
def test_what_waits_for_an_operator_is_kept_for_half_a_year(resources: Resources, prefix: str) -> None:
    assert kept_for(f"{prefix}x", expirations(resources)) == 180


def test_what_waits_in_a_queue_is_kept_as_long_as_sqs_can(resources: Resources) -> None:
    queues = of_type(resources, "AWS::SQS::Queue")
    assert {name: queue["MessageRetentionPeriod"] for name, queue in queues.items()} == dict.fromkeys(
        queues, 14 * 86_400
    )


def test_bucket_and_queues_are_reached_over_tls_only(resources: Resources) -> None:
    for name in ("ResponseBucket", *of_type(resources, "AWS::SQS::Queue")):
        statement = resources[f"{name}Policy"]["Properties"]["PolicyDocument"]["Statement"][0]
        assert statement["Effect"] == "Deny" and "false" in str(statement["Condition"]["Bool"]), name


def test_every_function_and_state_machine_logs_into_a_group_of_its_own_that_forgets(
    functions: Resources, resources: Resources
) -> None:
    machines = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::StepFunctions::StateMachine"]
    logs = [
        machine["LoggingConfiguration"]["Destinations"][0]["CloudWatchLogsLogGroup"]["LogGroupArn"]
        for machine in machines
    ]
    groups = [log["Fn::GetAtt"][0] for log in logs]
    groups += [function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"] for function in functions.values()]
    assert len(set(groups)) == len(functions) + 3
    for group in groups:
        assert resources[group]["Type"] == "AWS::Logs::LogGroup"
        assert resources[group]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
