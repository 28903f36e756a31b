"""What is asked before a deployment, and how its answers are read: AWS is a client with the answers of each test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from evidence.answering import Aws

from oncekit.evidence.before import CONDITIONS, EVENTS, LINES, Before, policies_of
from oncekit.evidence.finding import GREEN, NOBODY, NOT_HERE, RED, Finding, Question, answer
from oncekit.local.deployment.deploy import planned

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
NAMED = "arn:*:lambda:*:*:function:evidence:live"


@pytest.fixture
def aws() -> Aws:
    return Aws()


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    path = tmp_path / "packaged.yaml"
    path.write_text("Resources: { OnceLayer: { Properties: { ContentUri: 's3://sams-bucket/once/1234' } } }")
    return path


def questions(aws: Aws, packaged: Path | None = None, **parameters: str) -> dict[str, Question]:
    return {each.row: each for each in Before(aws, TEMPLATE, parameters, "once", packaged).questions()}


def asked(question: Question) -> Finding:
    return answer(question, is_local=False)


def test_each_machine_is_validated_as_the_type_that_it_has(aws: Aws) -> None:
    found = {row: each for row, each in questions(aws).items() if row.startswith("definition ")}
    for _ in found:
        aws.says("stepfunctions", "validate_state_machine_definition", {"result": "OK", "diagnostics": []})
    assert {asked(each).verdict for each in found.values()} == {GREEN}
    calls = aws.calls("ValidateStateMachineDefinition")
    types = {row.split(" ")[1]: call["type"] for row, call in zip(found, calls, strict=True)}
    assert types == {
        "OperationStateMachine": "STANDARD",
        "FastStateMachine": "EXPRESS",
        "RecoveryStateMachine": "EXPRESS",
    }


def test_a_definition_that_aws_refuses_is_red_and_says_why(aws: Aws) -> None:
    wrong = {"severity": "ERROR", "code": "SCHEMA_VALIDATION_FAILED", "message": "Field is not supported"}
    aws.says("stepfunctions", "validate_state_machine_definition", {"result": "FAIL", "diagnostics": [wrong]})
    found = asked(questions(aws)["definition FastStateMachine"])
    assert (found.verdict, found.seen) == (RED, "FAIL; ERROR SCHEMA_VALIDATION_FAILED: Field is not supported")


@pytest.mark.parametrize(("kind", "verdict"), [("ERROR", RED), ("SECURITY_WARNING", RED), ("SUGGESTION", GREEN)])
def test_every_policy_is_checked_with_the_one_for_functions_that_operations_names(
    aws: Aws, kind: str, verdict: str
) -> None:
    made = planned(TEMPLATE, {**CONDITIONS, "Operations": "evidence=evidence:live"}).resources
    policies = list(policies_of({name: each for name, each in made.items() if each.ref}))
    wrong = {"findingDetails": "x", "findingType": kind, "issueCode": "INVALID_ARN", "learnMoreLink": "x"}
    for _, document, _ in policies:
        has = NAMED in json.dumps(document)
        aws.says("accessanalyzer", "validate_policy", {"findings": [{**wrong, "locations": []}] if has else []})
    found = asked(questions(aws)["policies"])
    assert (found.verdict, found.seen) == (verdict, f"LanesPolicy: {kind} INVALID_ARN")
    calls = aws.calls("ValidatePolicy")
    assert all(json.loads(each["policyDocument"])["Statement"] for each in calls)
    told = ("AWS::S3::Bucket", "AWS::IAM::AssumeRolePolicyDocument", "IDENTITY_POLICY", "RESOURCE_POLICY")
    assert {each.get("validatePolicyResourceType", each["policyType"]) for each in calls} == set(told)


def test_a_policy_that_is_made_under_a_condition_is_checked_too(aws: Aws) -> None:
    calls = 200
    for _ in range(calls):
        aws.says("accessanalyzer", "validate_policy", {"findings": []})
    assert asked(questions(aws)["policies"]).verdict == GREEN
    asked_about = json.dumps([each["policyDocument"] for each in aws.calls("ValidatePolicy")])
    for of_a_condition in ("events:DescribeEventBus", "kms:GenerateDataKey", "codedeploy"):
        assert of_a_condition in asked_about


def matches(messages: Mapping[str, str], *names: str) -> dict[str, Any]:
    return {"matches": [{"eventNumber": 1, "eventMessage": messages[name], "extractedValues": {}} for name in names]}


@pytest.mark.parametrize(("counted", "verdict"), [(("died", "crashed"), GREEN), (("died", "no JSON"), RED)])
def test_the_filters_of_the_logs_are_given_lines_of_each_kind(aws: Aws, counted: tuple[str, ...], verdict: str) -> None:
    each = questions(aws)["log filters"]
    patterns = [["timed out"], counted, counted]
    for names in patterns:
        aws.says("logs", "test_metric_filter", matches(EVENTS, *names))
    found = asked(each)
    order = ["TimedOut" in call["filterPattern"] for call in aws.calls("TestMetricFilter")]
    assert order == [True, False, False], "the answers above are in the order of the template"
    assert found.verdict == verdict


def test_the_patterns_of_once_show_are_given_lines_of_a_function(aws: Aws) -> None:
    ids = ("the id", "another id", "a quote in it")
    for names in (("the id",), ids, ("an end by Lambda",)):
        aws.says("logs", "test_metric_filter", matches(LINES, *names))
    assert asked(questions(aws)["V51"]).verdict == GREEN
    for names in (ids, ids, ("an end by Lambda",)):
        aws.says("logs", "test_metric_filter", matches(LINES, *names))
    assert asked(questions(aws)["V51"]).verdict == RED


def change_set(
    aws: Aws,
    is_there: bool,
    ends: dict[str, Any],
    processed: str | None = None,
    then: str = "REVIEW_IN_PROGRESS",
    others: Sequence[str] = (),
    is_made: bool = True,
    has: Mapping[str, str] = MappingProxyType({}),
) -> None:
    def stack(status: str) -> dict[str, Any]:
        parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in has.items()]
        return {"Stacks": [{"StackName": "once", "CreationTime": 0, "StackStatus": status, "Parameters": parameters}]}

    aws.says("s3", "put_object")
    if is_there:
        aws.says("cloudformation", "describe_stacks", stack("CREATE_COMPLETE"))
    else:
        aws.refuses("cloudformation", "describe_stacks", "ValidationError", "Stack with id once does not exist")
    aws.says("cloudformation", "create_change_set", {"Id": "arn:aws:cloudformation:us-east-1:123456789012:changeSet/x"})
    aws.says("cloudformation", "describe_change_set", ends)
    if processed is not None:
        aws.says("cloudformation", "get_template", {"TemplateBody": processed})
    if not is_made:
        aws.refuses("cloudformation", "delete_change_set", "InvalidChangeSetStatus", "it is in CREATE_IN_PROGRESS")
        aws.says("cloudformation", "describe_change_set", {"Status": "CREATE_COMPLETE"})
    aws.says("cloudformation", "delete_change_set")
    if not is_there:
        aws.says("cloudformation", "describe_stacks", stack(then))
        aws.says("cloudformation", "list_change_sets", {"Summaries": [{"ChangeSetName": each} for each in others]})
        aws.says("cloudformation", "delete_stack")
    aws.says("s3", "delete_object")


def lanes(resources: Any) -> str:
    statement = {"Fn::If": ["NamesOperations", {"Sid": "InvokeNamedFunctions", "Resource": resources}, 0]}
    document = {"Statement": [{"Sid": "LockAndRecord"}, statement]}
    return json.dumps({"Resources": {"LanesPolicy": {"Properties": {"PolicyDocument": document}}}})


@pytest.mark.parametrize("is_there", [False, True])
def test_a_change_set_is_made_and_deleted_and_a_stack_only_if_it_was_not_there(
    aws: Aws, packaged: Path, is_there: bool
) -> None:
    change_set(aws, is_there, {"Status": "CREATE_COMPLETE"}, lanes([NAMED]))
    of = questions(aws, packaged, Operations="a=f:live")
    assert (asked(of["change set"]).verdict, asked(of["V79"]).verdict) == (GREEN, GREEN)
    [made] = aws.calls("CreateChangeSet")
    assert made["ChangeSetType"] == ("UPDATE" if is_there else "CREATE")
    assert made["Parameters"] == [{"ParameterKey": "Operations", "ParameterValue": "a=f:live,evidence=evidence:live"}]
    assert "sams-bucket" in made["TemplateURL"] and "?" not in made["TemplateURL"]
    assert not aws.calls("ExecuteChangeSet")
    assert len(aws.calls("DeleteChangeSet")) == len(aws.calls("DeleteObject")) == 1
    assert len(aws.calls("DeleteStack")) == (0 if is_there else 1)


def test_a_change_set_that_fails_is_red_and_deleted(aws: Aws, packaged: Path) -> None:
    change_set(aws, False, {"Status": "FAILED", "StatusReason": "Template error: Fn::Join layout is incorrect"})
    of = questions(aws, packaged)
    assert asked(of["change set"]).seen == "FAILED: Template error: Fn::Join layout is incorrect"
    assert len(aws.calls("DeleteStack")) == 1
    assert asked(of["V79"]).verdict == NOBODY


def test_a_stack_that_somebody_else_deploys_meanwhile_is_not_deleted(aws: Aws, packaged: Path) -> None:
    change_set(aws, False, {"Status": "CREATE_COMPLETE"}, lanes([NAMED]), then="CREATE_IN_PROGRESS")
    assert asked(questions(aws, packaged)["change set"]).verdict == GREEN
    assert aws.calls("DeleteChangeSet") and not aws.calls("DeleteStack")


def test_a_stack_that_is_there_keeps_the_parameters_that_are_not_given(aws: Aws, packaged: Path) -> None:
    declared = "".join(f"\n  {name}: {{ Type: String, Default: x }}" for name in ("Operations", "Stage", "Lane"))
    packaged.write_text(f"{packaged.read_text()}\nParameters:{declared}\n")
    has = {"Operations": "mine=m:live", "Stage": "prod", "Lane": "fast", "Removed": "1"}
    change_set(aws, True, {"Status": "CREATE_COMPLETE"}, lanes([NAMED]), has=has)
    assert asked(questions(aws, packaged, Lane="full")["change set"]).verdict == GREEN
    [made] = aws.calls("CreateChangeSet")
    assert {each["ParameterKey"]: each.get("ParameterValue", "as before") for each in made["Parameters"]} == {
        "Operations": "mine=m:live,evidence=evidence:live",
        "Stage": "as before",
        "Lane": "full",
    }
    assert all("ParameterValue" in each or each["UsePreviousValue"] for each in made["Parameters"])


def test_a_stack_whose_first_deployment_waits_for_somebody_elses_answer_is_not_deleted(
    aws: Aws, packaged: Path
) -> None:
    change_set(aws, False, {"Status": "CREATE_COMPLETE"}, lanes([NAMED]), others=["samcli-deploy1"])
    assert asked(questions(aws, packaged)["change set"]).verdict == GREEN
    assert aws.calls("DeleteChangeSet") and not aws.calls("DeleteStack")


def test_a_change_set_that_is_still_being_made_is_waited_for_and_deleted_with_its_stack(
    aws: Aws, packaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_set(aws, False, {"Status": "CREATE_IN_PROGRESS"}, is_made=False)

    def interrupted(_: float) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("botocore.waiter.time.sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        asked(questions(aws, packaged)["change set"])
    assert len(aws.calls("DeleteChangeSet")) == 2 and len(aws.calls("DeleteStack")) == 1


def test_what_the_transform_left_unresolved_is_not_what_was_expected(aws: Aws, packaged: Path) -> None:
    change_set(aws, True, {"Status": "CREATE_COMPLETE"}, lanes({"Fn::Split": [",", "x"]}))
    of = questions(aws, packaged)
    asked(of["change set"])
    assert asked(of["V79"]).verdict == RED


@pytest.mark.parametrize(("region", "verdict"), [("us-east-1", NOBODY), ("ca-west-1", GREEN)])
def test_a_region_without_pipes_is_settled_there_only(packaged: Path, region: str, verdict: str) -> None:
    aws = Aws(region)
    change_set(aws, True, {"Status": "CREATE_COMPLETE"}, lanes([NAMED]))
    of = questions(aws, packaged, QueueTrigger="false")
    asked(of["change set"])
    assert asked(of["V99"]).verdict == verdict


def test_whoever_may_not_ask_has_not_looked(aws: Aws) -> None:
    aws.refuses("accessanalyzer", "validate_policy", "AccessDeniedException", "user of 123456789012 may not")
    found = asked(questions(aws)["policies"])
    assert found.verdict == NOBODY
    assert "user of ACCOUNT may not" in found.seen


def test_nothing_of_it_is_green_on_once_up(aws: Aws) -> None:
    assert {answer(each, is_local=True).verdict for each in questions(aws).values()} == {NOT_HERE}
    assert aws.asked == []
