"""What an operator may set, within which bounds, and what holds where nothing is set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from template_parts import TEMPLATE, resolver, was_added, written_with

from oncekit.local.template import TemplateError, load, parameter_values

# Parameter, what holds by itself, the least and the most.
NUMBERS = {
    "BusinessTimeoutSeconds": (30, 1, 840),
    "LeaseMarginSeconds": (60, 30, 3600),
    "FunctionConcurrency": (0, 0, 1000),
    "MaxAttempts": (5, 1, 50),
    "MaxRecoveries": (5, 1, 50),
    "BackOffBaseSeconds": (2, 1, 300),
    "BackOffCapSeconds": (60, 1, 3600),
    "WaitTimeoutSeconds": (300, 1, 3600),
    "MaxReceiveCount": (5, 5, 1000),
    "RecoveryRounds": (50, 1, 100),
    "RolloutFailuresThreshold": (3, 0, 1_000_000),
    "QuarantinedOperationsThreshold": (0, 0, 100_000),
    "OverdueOperationsThreshold": (0, 0, 100_000),
    "OpenOperationsThreshold": (0, 0, 10_000_000),
    "OpenOperationsGrowthThreshold": (100, 0, 10_000_000),
    "RejectedRequestsThreshold": (10, 0, 1_000_000),
    "RejectedRequestsAgeThresholdHours": (24, 1, 168),
    "FailedExecutionsThreshold": (10, 0, 1_000_000),
    "DeadExecutionsThreshold": (0, 0, 1_000_000),
    "RequestAgeThresholdSeconds": (600, 60, 1_209_600),
    "PipeFailuresThreshold": (0, 0, 1_000_000),
    "HttpRequestsPerSecond": (100, 1, 10_000),
    "HttpErrorsThreshold": (10, 0, 1_000_000),
    "HttpLatencyThresholdMilliseconds": (20_000, 100, 29_000),
    "FunctionErrorsThreshold": (10, 0, 1_000_000),
    "ThrottlesThreshold": (10, 0, 1_000_000),
    "TableErrorsThreshold": (10, 0, 1_000_000),
    "InlineLimitBytes": (4096, 1200, 65_536),
}
LOG_DAYS = "1 3 5 7 14 30 60 90 120 150 180 365 400 545 731 1096 1827 2192 2557 2922 3288 3653"
# Parameter, what holds by itself, and all that it may be.
CHOICES = {
    "FunctionsByPrefix": ("true", "true false"),
    "Examples": ("yes", "yes no"),
    "Stage": ("dev", "dev prod"),
    "Lane": ("full", "full fast"),
    "Architecture": ("arm64", "arm64 x86_64"),
    "EventTrigger": ("true", "true false"),
    "QueueTrigger": ("true", "true false"),
    "HttpTrigger": ("true", "true false"),
    "HttpAccessLog": ("false", "true false"),
    "RecoveryPeriodMinutes": ("5", "1 2 3 5 10 15 30 60"),
    "Rollout": ("AllAtOnce", "AllAtOnce Canary Linear"),
    "RetentionDays": ("30", "1 3 7 14 30 60 90 180 365"),
    "LogLevel": ("INFO", "DEBUG INFO WARNING ERROR CRITICAL"),
    "LogRetentionDays": ("30", LOG_DAYS),
    "ExecutionLog": ("ERROR", "ERROR ALL OFF"),
    "IncludeExecutionData": ("false", "true false"),
}
KEY = "arn:aws:kms:us-east-1:123456789012:key/1234-abcd"
POOL = "arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_aB9"
ACL = "arn:aws:wafv2:us-east-1:123456789012:regional/webacl/mine/12-ab"
NO_KEYS = ("alias/mine", KEY.replace("123456789012", "12345678901"), f"x{KEY}", f"{KEY} ", KEY.replace("kms", "s3"))
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:my-refund"
NAMED = (
    "a=b",
    "charge-payment=my-app-Charge-1A2B:live, refund=b_2:7",
    f"a={FUNCTION}",
    f"a={FUNCTION}:live,b=c:$LATEST",
)
THIRTY = ", ".join(f"a{n}={'x' * 64}:live" for n in range(30))
MISNAMED = (
    "a",
    "a=",
    "=b",
    "A=b",
    "a=b,",
    "a=b c",
    "a=b:",
    "a=b:l:v",
    "a=b;c=d",
    "a=*",
    "a=b'c",
    f"{THIRTY}, b=c",
    "a=b\n",
)
ROLES = ("role", "my-app.Role_1,b", "a, b")
LISTED = ("charge", "a,b-2", "a, b", "x" * 40)
MISLISTED = ("Charge", "a,B", "a b", "x" * 41, "a#b")
# Parameter, what holds by itself, what it may be, and what it may not.
TEXTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "Operations": ("", (*NAMED, THIRTY), MISNAMED),
    "FunctionRoles": ("", ROLES, ("a b", "arn:aws:iam::123456789012:role/a")),
    "StepRoles": ("", ROLES, ("a b", "x" * 65)),
    "HttpUserPoolArn": ("", (POOL,), (f"x{POOL}", f"{POOL} ", POOL.replace("userpool", "pool"))),
    "HttpTenantClaim": ("custom:tenant", ("tenant", "x" * 100), ("", "a b", "x" * 101, '"', "$x")),
    "HttpCorsOrigin": (
        "",
        ("https://shop.example", "http://localhost:3000", "*"),
        ("shop.example", "https://a/", "https://a'b", "https://a, https://b", "null", "**", "https://a:x"),
    ),
    "HttpWebAclArn": ("", (ACL,), (ACL.replace("regional", "global"), f"x{ACL}", f"{ACL} ")),
    "FullLaneOperations": ("", LISTED, MISLISTED),
    "PayloadOnlyOperations": ("", LISTED, MISLISTED),
    "EventBusName": ("own", ("default", "a/b.c_D-9", "x" * 256), ("", "a b", "x" * 257, "a$")),
    "EventSource": ("", ("my.shop", "a_b-C.9", "x" * 100), ("a b", "x" * 101, "a/b")),
    "RequestQueueFilter": ("", ('{"body": {}}', "{}"), ("text", "{", "x{}", "{}x", " ")),
    "FormerStateMachineName": ("", ("Operation-1_a", "x" * 80), ("a:b", "x" * 81, "a b")),
    "AlarmEmail": ("", ("a@b", "a.b+c@d.example"), ("a", "a@", "@b", "a b@c", "a@b@c", "a@b c")),
    "EncryptionKeyArn": ("", (KEY, KEY.replace("aws", "aws-cn")), NO_KEYS),
    "FormerEncryptionKeyArn": ("", (KEY, KEY.replace("aws", "aws-cn")), NO_KEYS),
}


def is_taken(source: Mapping[str, Any], **given: object) -> bool:
    try:
        parameter_values(source["Parameters"], {name: str(value) for name, value in given.items()})
    except TemplateError:
        return False
    return True


def holds_by_itself(source: Mapping[str, Any], name: str) -> str:
    return parameter_values(source["Parameters"], {})[name]


def test_every_parameter_is_here_and_says_what_it_is_for(source: Mapping[str, Any]) -> None:
    assert set(source["Parameters"]) == {*NUMBERS, *CHOICES, *TEXTS}
    for name, declared in source["Parameters"].items():
        is_list = name in ("FullLaneOperations", "PayloadOnlyOperations", "FunctionRoles", "StepRoles")
        text = "CommaDelimitedList" if is_list else "String"
        assert declared["Type"] == ("Number" if name in {*NUMBERS, *_NUMBERED} else text), name
        assert len(declared["Description"]) > 20, name


_NUMBERED = {name for name, (_, every) in CHOICES.items() if every[0].isdigit()}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_has_bounds_and_a_value_of_its_own(name: str, source: Mapping[str, Any]) -> None:
    usual, least, most = NUMBERS[name]
    assert holds_by_itself(source, name) == str(usual)
    taken = [number for number in (least - 1, least, most, most + 1) if is_taken(source, **{name: number})]
    assert taken == [least, most]
    assert not is_taken(source, **{name: "many"})


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_between_these_and_no_others(name: str, source: Mapping[str, Any]) -> None:
    usual, every = CHOICES[name]
    assert holds_by_itself(source, name) == usual
    assert [str(each) for each in source["Parameters"][name]["AllowedValues"]] == every.split()
    assert all(is_taken(source, **{name: each}) for each in every.split())
    assert not is_taken(source, **{name: "other"})


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_of_its_form(name: str, source: Mapping[str, Any]) -> None:
    usual, good, bad = TEXTS[name]
    assert holds_by_itself(source, name) == usual
    assert [each for each in (usual, *good) if not is_taken(source, **{name: each})] == []
    assert [each for each in bad if is_taken(source, **{name: each})] == []


# Condition, parameters under which it holds, and under which it does not.
CONDITIONS: dict[str, tuple[list[dict[str, str]], list[dict[str, str]]]] = {
    "HasExamples": ([{}], [{"Examples": "no"}]),
    "HasGradualExamples": ([{"Rollout": "Canary"}], [{}, {"Rollout": "Canary", "Examples": "no"}]),
    "FindsByPrefix": ([{}], [{"FunctionsByPrefix": "false"}]),
    "HasFunctionRoles": ([{"FunctionRoles": "a"}], [{}, {"StepRoles": "a"}]),
    "HasStepRoles": ([{"StepRoles": "a"}], [{}, {"FunctionRoles": "a"}]),
    **{
        f"Operation{n:02}": (
            [{"Operations": ", ".join(f"a{each}=b" for each in range(n))}],
            [{"Operations": ", ".join(f"a{each}=b" for each in range(n - 1))}],
        )
        for n in range(1, 31)
    },
    "IsProd": ([{"Stage": "prod"}], [{}]),
    "IsFast": ([{"Lane": "fast"}], [{}, {"Lane": "full"}]),
    "LogsExecutionData": (
        [{"IncludeExecutionData": "true"}],
        [{}, {"Stage": "prod"}, {"Stage": "prod", "IncludeExecutionData": "true"}],
    ),
    "SweepsEveryMinute": ([{"RecoveryPeriodMinutes": "1"}], [{}, {"RecoveryPeriodMinutes": "10"}]),
    "TakesEvents": ([{}], [{"EventTrigger": "false"}]),
    "MakesBus": ([{}], [{"EventTrigger": "false"}, {"EventBusName": "other"}]),
    "AsksForSource": ([{"EventSource": "my.shop"}], [{}]),
    "TakesMessages": ([{}], [{"QueueTrigger": "false"}]),
    "TakesHttp": ([{}], [{"HttpTrigger": "false"}]),
    "HasUserPool": ([{"HttpUserPoolArn": POOL}], [{}]),
    "AnswersPages": ([{"HttpCorsOrigin": "*"}, {"HttpCorsOrigin": "https://a.example"}], [{}]),
    "HasWebAcl": ([{"HttpWebAclArn": ACL}], [{}, {"HttpWebAclArn": ACL, "HttpTrigger": "false"}]),
    "LogsHttp": ([{"HttpAccessLog": "true"}], [{}, {"HttpAccessLog": "true", "HttpTrigger": "false"}]),
    "FiltersMessages": ([{"RequestQueueFilter": "{}"}], [{}]),
    "LimitsOpenOperations": ([{"OpenOperationsThreshold": "1"}], [{}]),
    "HadStateMachine": ([{"FormerStateMachineName": "before"}], [{}]),
    "IsGradual": ([{"Rollout": "Canary"}, {"Rollout": "Linear"}], [{}]),
    "HasEncryptionKey": ([{"EncryptionKeyArn": KEY}], [{}, {"FormerEncryptionKeyArn": KEY}]),
    "HadEncryptionKey": ([{"FormerEncryptionKeyArn": KEY}], [{}, {"EncryptionKeyArn": KEY}]),
    "KnowsDeaths": ([{}, {"FormerEncryptionKeyArn": KEY}], [{"EncryptionKeyArn": KEY}]),
    "UsesKeys": ([{"EncryptionKeyArn": KEY}, {"FormerEncryptionKeyArn": KEY}], [{}]),
    "HasAlarmEmail": ([{"AlarmEmail": "a@b"}], [{}]),
    "ReservesConcurrency": ([{"FunctionConcurrency": "1"}], [{}]),
    "RunsInSamLocal": ([], [{}]),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_holds_under_these_parameters_and_not_under_those(name: str) -> None:
    holds, holds_not = CONDITIONS[name]
    assert [written_with(**given)[0].holds(name) for given in holds] == [True] * len(holds)
    assert [written_with(**given)[0].holds(name) for given in holds_not] == [False] * len(holds_not)


def test_only_sam_local_may_set_the_endpoint_of_a_function() -> None:
    """It drops variables that no template declares; AWS is to have none that leads calls elsewhere."""
    sam_local = {"AWS::AccountId": "123456789012", "AWS::StackName": "local"}
    elsewhere = ({"AWS::AccountId": "210987654321"}, {"AWS::StackName": "once"})
    variables = load(TEMPLATE).section("Resources")["ChargePaymentFunction"]["Properties"]["Environment"]["Variables"]
    assert resolver(load(TEMPLATE), **sam_local).resolve(variables)["AWS_ENDPOINT_URL"] == ""
    for other in elsewhere:
        assert "AWS_ENDPOINT_URL" not in resolver(load(TEMPLATE), **sam_local | other).resolve(variables)


def test_every_condition_is_here(source: Mapping[str, Any]) -> None:
    assert set(source["Conditions"]) == set(CONDITIONS)


# Resource or output, and the condition under which it is there.
MADE_WHEN = {
    "TakesEvents": "RequestRule RequestRuleRole EventDeadLetterQueue EventDeadLetterQueuePolicy EventDeadLetterAlarm",
    "MakesBus": "RequestBus",
    "TakesMessages": "RequestQueue RequestQueuePolicy RequestDeadLetterQueue RequestDeadLetterQueuePolicy RequestPipe "
    "RequestPipeRole RequestPipeLogGroup PipeFailuresQuery RequestDeadLetterAlarm RequestAgeAlarm "
    "RequestPipeFailingAlarm",
    "TakesHttp": "RequestApi RequestApiRole RequestApiErrorsAlarm RequestApiLatencyAlarm",
    "HasWebAcl": "RequestApiWebAcl",
    "LogsHttp": "RequestApiLogGroup HttpFailuresQuery",
    "UsesKeys": "EncryptionKeyPolicy",
    "HasAlarmEmail": "AlarmSubscription",
    "KnowsDeaths": "DeadExecutionsAlarm",
    "LimitsOpenOperations": "OpenOperationsAlarm",
    "IsGradual": "FunctionRolloutRole OperationRolloutAlarm FastRolloutAlarm CacheResponseRolloutAlarm",
    "HasGradualExamples": "ChargePaymentRolloutAlarm PlaceOrderRolloutAlarm BuildReportRolloutAlarm",
    "HasExamples": "ProviderLedgerTable OrdersTable StockTable "
    + " ".join(
        f"{name}{part}"
        for name in ("ChargePayment", "PlaceOrder", "BuildReport")
        for part in ("Function", "Role", "LogGroup", "ErrorsAlarm", "ThrottlesAlarm")
    ),
    "Operation01": "NamedOperationsPolicy",
}
TOLD_WHEN = {
    "TakesEvents": "EventBusName EventDeadLetterQueueUrl",
    "TakesMessages": "RequestQueueUrl RequestDeadLetterQueueUrl",
    "TakesHttp": "RequestApiUrl",
    "FindsByPrefix": "FunctionPrefix",
    "HasExamples": "ProviderLedgerTableName OrdersTableName StockTableName",
}


def test_a_resource_is_made_when_it_is_needed(source: Mapping[str, Any]) -> None:
    resources = source["Resources"]
    found = {
        name: each["Condition"]
        for name, each in resources.items()
        if "Condition" in each and not was_added(name, resources)
    }
    assert found == {name: condition for condition, names in MADE_WHEN.items() for name in names.split()}
    told = {name: each["Condition"] for name, each in source["Outputs"].items() if "Condition" in each}
    assert told == {name: condition for condition, names in TOLD_WHEN.items() for name in names.split()}


CONSOLE = "https://us-east-1.console.aws.amazon.com/"
OUTPUTS = {
    "StateMachineArn": "OperationStateMachine",
    "StateMachineAliasArn": "OperationStateMachineAlias",
    "FastStateMachineArn": "FastStateMachine",
    "FastStateMachineAliasArn": "FastStateMachineAlias",
    "FastStatesConsole": f"{CONSOLE}states/home?region=us-east-1#/statemachines/view/FastStateMachine",
    "FastLogsConsole": f"{CONSOLE}cloudwatch/home?region=us-east-1#logsV2:log-groups/log-group/"
    "$252Faws$252Fvendedlogs$252Fstates$252Fonce-fast",
    "Lane": "full",
    "EventBusName": "RequestBus",
    "RequestQueueUrl": "RequestQueue",
    "RequestDeadLetterQueueUrl": "RequestDeadLetterQueue",
    "RequestApiUrl": "https://RequestApi.execute-api.us-east-1.amazonaws.com/live",
    "EventDeadLetterQueueUrl": "EventDeadLetterQueue",
    "RecoveryStateMachineArn": "RecoveryStateMachine",
    "AlarmTopicArn": "AlarmTopic",
    "TableName": "IdempotencyTable",
    "ResponseBucketName": "ResponseBucket",
    "RejectedQueueUrl": "RejectedRequestsQueue",
    "FunctionPrefix": "once_op",
    "FunctionPolicyArn": "FunctionPolicy",
    "StepPolicyArn": "StepPolicy",
    "LayerArn": "OnceLayer",
    "ProviderLedgerTableName": "ProviderLedgerTable",
    "OrdersTableName": "OrdersTable",
    "StockTableName": "StockTable",
    "StatesConsole": f"{CONSOLE}states/home?region=us-east-1#/statemachines/view/OperationStateMachine",
    "TableConsole": f"{CONSOLE}dynamodbv2/home?region=us-east-1#item-explorer?table=IdempotencyTable",
    "QueueConsole": f"{CONSOLE}sqs/v3/home?region=us-east-1#/queues/https%3A%2F%2Fsqs.us-east-1.amazonaws.com%2F"
    "123456789012%2FRejectedRequestsQueue.QueueName",
    "DashboardConsole": f"{CONSOLE}cloudwatch/home?region=us-east-1#dashboards/dashboard/Dashboard",
    "LogsConsole": f"{CONSOLE}cloudwatch/home?region=us-east-1#logsV2:log-groups/log-group/"
    "$252Faws$252Fvendedlogs$252Fstates$252Fonce-operation",
}


def test_the_outputs_name_what_commands_and_people_need(source: Mapping[str, Any]) -> None:
    known, _ = written_with()
    assert {name: known.resolve(each["Value"]) for name, each in source["Outputs"].items()} == OUTPUTS
    other, _ = written_with(EventBusName="other")
    assert other.resolve(source["Outputs"]["EventBusName"]["Value"]) == "other"


@pytest.mark.parametrize(
    ("rollout", "is_gradual", "functions", "machine", "minutes"),
    [
        ("AllAtOnce", "false", "AllAtOnce", "ALL_AT_ONCE", None),
        ("Canary", "true", "Canary10Percent10Minutes", "CANARY", 10),
        ("Linear", "true", "Linear10PercentEvery1Minute", "LINEAR", 1),
    ],
)
def test_a_rollout_moves_functions_and_state_machine_alike(
    rollout: str, is_gradual: str, functions: str, machine: str, minutes: int | None, source: Mapping[str, Any]
) -> None:
    known, _ = written_with(Rollout=rollout)
    everywhere = known.resolve(source["Globals"]["Function"]["DeploymentPreference"])
    role = {} if is_gradual == "false" else {"Role": "FunctionRolloutRole.Arn"}
    assert everywhere == {"Enabled": is_gradual, "Type": functions, "PassthroughCondition": True, **role}
    alias = known.resolve(source["Resources"]["OperationStateMachineAlias"]["Properties"])
    preference = alias["DeploymentPreference"]
    assert (alias["Name"], preference["Type"]) == ("live", machine)
    assert preference["StateMachineVersionArn"] == "OperationStateMachineVersion"
    assert preference.get("Interval") == minutes
    assert preference.get("Percentage") == (None if minutes is None else 10)
    alarms = None if minutes is None else ["OperationRolloutAlarm", "DeadExecutionsAlarm"]
    assert preference.get("Alarms") == alarms


@pytest.mark.parametrize(
    ("rollout", "kind", "minutes"),
    [("AllAtOnce", "ALL_AT_ONCE", None), ("Canary", "CANARY", 10), ("Linear", "LINEAR", 1)],
)
def test_the_fast_lane_is_rolled_out_like_the_full_one_and_judged_by_its_own_failures(
    rollout: str, kind: str, minutes: int | None, source: Mapping[str, Any]
) -> None:
    known, _ = written_with(Rollout=rollout)
    alias = known.resolve(source["Resources"]["FastStateMachineAlias"]["Properties"])
    gradual = {"Percentage": 10, "Interval": minutes, "Alarms": ["FastRolloutAlarm"]} if minutes else {}
    preference = {"StateMachineVersionArn": "FastStateMachineVersion", "Type": kind, **gradual}
    assert alias == {"Name": "live", "DeploymentPreference": preference}


def test_a_rollout_with_a_key_of_the_users_does_not_wait_for_events_that_tell_nothing(
    source: Mapping[str, Any],
) -> None:
    known, _ = written_with(Rollout="Canary", EncryptionKeyArn=KEY)
    alias = known.resolve(source["Resources"]["OperationStateMachineAlias"]["Properties"])
    assert alias["DeploymentPreference"]["Alarms"] == ["OperationRolloutAlarm"]


@pytest.mark.parametrize("machine", ["OperationStateMachine", "FastStateMachine"])
def test_a_version_of_a_state_machine_is_made_whenever_it_changes_and_outlives_the_next(
    machine: str, source: Mapping[str, Any]
) -> None:
    version = source["Resources"][f"{machine}Version"]
    assert written_with()[0].resolve(version["Properties"]) == {
        "StateMachineArn": machine,
        "StateMachineRevisionId": f"{machine}.StateMachineRevisionId",
    }
    assert (version["DeletionPolicy"], version["UpdateReplacePolicy"]) == ("Retain", "Retain")
