"""Event source mappings: a function behind the stream of a table."""

from __future__ import annotations

from typing import Any

import pytest
from event_stand import Stand, function, queue

from oncekit.local.events.exchange import left_out

USING = "Lambda Developer Guide, Using AWS Lambda with Amazon DynamoDB"
TABLE = """
  Rows:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: changed-rows
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      StreamSpecification: { StreamViewType: NEW_AND_OLD_IMAGES }
"""


def deploy(stand: Stand, more: str = "", others: str = "") -> None:
    given = f"Stream: !GetAtt Rows.StreamArn, StartingPosition: LATEST, {more}"
    rows = f"Rows: {{ Type: DynamoDB, Properties: {{ {given} }} }}"
    stand.deploy(TABLE + others + function(stand, rows))


def put(stand: Stand, *ids: str, **more: Any) -> None:
    """All at once, so that they can be in one batch."""
    requests = [{"PutRequest": {"Item": {"id": {"S": each}, **more}}} for each in ids]
    stand.cloud.client("dynamodb").batch_write_item(RequestItems={"changed-rows": requests})


def batches(stand: Stand) -> list[list[str]]:
    return [[each["dynamodb"]["Keys"]["id"]["S"] for each in event["Records"]] for event in stand.got()]


def wait(stand: Stand, seconds: float = 600) -> None:
    stand.cloud.settle()
    stand.clock.advance(seconds)
    stand.cloud.settle()


@pytest.mark.aws(
    "Amazon DynamoDB Developer Guide, Change data capture for DynamoDB Streams",
    "operation that does not change any data in an item, DynamoDB Streams does not write a stream record",
)
def test_a_function_gets_the_changes_of_its_table_in_their_order(stand: Stand) -> None:
    deploy(stand)
    assert list(left_out(stand.stack.resources)) == []
    table, now = {"TableName": "changed-rows"}, int(stand.clock.now())
    dynamodb, row = stand.cloud.client("dynamodb"), {"id": {"S": "a"}, "n": {"N": "1"}, "b": {"B": b"xy"}}
    for _ in range(2):
        dynamodb.put_item(Item=row, **table)
    dynamodb.put_item(Item={**row, "n": {"N": "2"}}, **table)
    dynamodb.delete_item(Key={"id": {"S": "a"}}, **table)
    records = [each for event in stand.got() for each in event["Records"]]
    assert [each["eventName"] for each in records] == ["INSERT", "MODIFY", "REMOVE"]
    first = records[0]
    assert first["eventSource"] == "aws:dynamodb"
    assert first["eventSourceARN"] == stand.stack.resources["Rows"].attributes("StreamArn")
    about = first["dynamodb"]
    assert about["ApproximateCreationDateTime"] == now
    assert about["Keys"] == {"id": {"S": "a"}}
    assert about["NewImage"] == {"id": {"S": "a"}, "n": {"N": "1"}, "b": {"B": "eHk="}}
    assert "OldImage" not in about
    assert records[2]["dynamodb"]["OldImage"]["n"] == {"N": "2"}
    numbers = [int(each["dynamodb"]["SequenceNumber"]) for each in records]
    assert numbers == sorted(numbers)


@pytest.mark.aws(
    model="dynamodb",
    says="TransactWriteItems is a synchronous write operation that groups up to 100 action requests.",
)
def test_a_transaction_that_fails_is_no_change(stand: Stand) -> None:
    deploy(stand)
    dynamodb = stand.cloud.client("dynamodb")
    key = {"Key": {"id": {"S": "gone"}}, "ConditionExpression": "attribute_exists(id)", "TableName": "changed-rows"}
    first = {"Put": {"TableName": "changed-rows", "Item": {"id": {"S": "a"}}}}
    with pytest.raises(dynamodb.exceptions.TransactionCanceledException):
        dynamodb.transact_write_items(TransactItems=[first, {"ConditionCheck": key}])
    put(stand, "b")
    assert batches(stand) == [["b"]]


@pytest.mark.aws(USING, "Lambda retries the entire batch of records until processing succeeds or the data expires.")
def test_a_batch_that_fails_holds_up_what_comes_after_it(stand: Stand) -> None:
    deploy(stand)
    put(stand, "fail")
    stand.cloud.settle()
    put(stand, "b")
    assert batches(stand) == [["fail"]]
    wait(stand)
    assert set(map(str, batches(stand))) == {"['fail']"}
    assert len(batches(stand)) > 5
    wait(stand, 86_400)
    assert batches(stand)[-1] == ["b"], "a stream keeps its records for a day"


@pytest.mark.aws(
    "Lambda Developer Guide, Retaining discarded records for a DynamoDB event source in Lambda",
    "sends a document to the destination with details about the batch",
)
def test_a_batch_is_given_up_after_its_retries_and_told_to_its_destination(stand: Stand) -> None:
    ends = "DestinationConfig: { OnFailure: { Type: SQS, Destination: !GetAtt Ends.Arn } }"
    deploy(stand, f"MaximumRetryAttempts: 2, {ends}", queue("Ends"))
    put(stand, "fail", "a")
    stand.cloud.settle()
    put(stand, "b")
    wait(stand)
    assert batches(stand) == [["fail", "a"]] * 3 + [["b"]]
    [record] = stand.bodies("Ends")
    assert record["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == 3
    assert record["DDBStreamBatchInfo"]["batchSize"] == 2
    assert "requestPayload" not in record


@pytest.mark.aws(
    "Lambda Developer Guide, Polling and batching streams", "Splitting a batch doesn't count against the retry quota."
)
def test_a_batch_that_fails_can_be_split_until_one_record_is_left(stand: Stand) -> None:
    deploy(stand, "BisectBatchOnFunctionError: true, MaximumRetryAttempts: 0")
    put(stand, "a", "b", "fail", "d")
    wait(stand)
    assert batches(stand) == [["a", "b", "fail", "d"], ["a", "b"], ["fail", "d"], ["fail"], ["d"]]


@pytest.mark.aws(
    "Lambda Developer Guide, Configuring partial batch response with DynamoDB and Lambda",
    "Lambda uses the lowest sequence number as the checkpoint, and retries all records starting from that",
)
@pytest.mark.aws(unconfirmed="V113")
def test_records_from_the_first_that_failed_on_come_again(stand: Stand) -> None:
    deploy(stand, "FunctionResponseTypes: [ReportBatchItemFailures], MaximumRetryAttempts: 1")
    put(stand, "a", "bad", "c")
    wait(stand)
    assert batches(stand) == [["a", "bad", "c"], ["bad", "c"], ["bad", "c"]]


@pytest.mark.aws(USING, "Lambda reads records in batches and invokes your function to process records from the batch.")
def test_a_batch_of_records_waits_for_more_and_takes_what_its_filter_takes(stand: Stand) -> None:
    pattern = '{"dynamodb": {"NewImage": {"kind": {"S": ["order"]}}}}'
    filters = f"FilterCriteria: {{ Filters: [{{ Pattern: '{pattern}' }}] }}"
    deploy(stand, f"BatchSize: 3, MaximumBatchingWindowInSeconds: 20, {filters}")
    with stand.clock.held():
        put(stand, "a", kind={"S": "order"})
        put(stand, "b", kind={"S": "other"})
        put(stand, "c", "d", kind={"S": "order"})
    assert batches(stand) == [["a", "c"], ["d"]]


@pytest.mark.aws(
    "Lambda Developer Guide, How Lambda processes records from stream and queue-based event sources",
    "Lambda event source mappings process each event at least once, and duplicate processing of records can occur",
)
def test_a_batch_that_comes_late_holds_up_what_is_behind_it_and_may_come_twice(stand: Stand) -> None:
    deploy(stand, "BatchSize: 1")
    began = stand.clock.now()
    fates = iter([[30.0, 30.0]])
    with stand.cloud.lose_events(lambda _: next(fates, [0.0])):
        put(stand, "a")
        put(stand, "b")
        assert batches(stand) == [["a"], ["a"], ["b"]]
    assert stand.clock.now() == began + 30


@pytest.mark.ours
def test_what_was_written_while_nothing_is_delivered_is_not_delivered_later(stand: Stand) -> None:
    deploy(stand)
    put(stand, "fail")
    stand.cloud.settle()
    stand.cloud.reset()
    assert stand.got() == []
    stand.deploy((stand.folder / "template.yaml").read_text().partition("Resources:\n")[2])
    put(stand, "a")
    assert batches(stand) == [["a"]]
