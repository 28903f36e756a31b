"""What the local cloud leaves out to start quickly is missed by nobody."""

from __future__ import annotations

import boto3
import pytest
from botocore.exceptions import UnknownServiceError

from oncekit.local import LocalCloud

pytestmark = pytest.mark.ours


def test_another_region_can_be_called_and_has_nothing(cloud: LocalCloud) -> None:
    there = boto3.client("dynamodb", region_name="eu-central-1", endpoint_url=cloud.endpoint_url)
    assert there.list_tables()["TableNames"] == []
    assert cloud.client("dynamodb").list_tables()["TableNames"]


def test_key_of_encrypted_tables_is_one_of_awss_own_that_encrypts(cloud: LocalCloud) -> None:
    key = cloud.client("kms").describe_key(KeyId="alias/aws/dynamodb")["KeyMetadata"]
    assert (key["KeySpec"], key["KeyState"]) == ("SYMMETRIC_DEFAULT", "Enabled")
    sealed = cloud.client("kms").encrypt(KeyId=key["KeyId"], Plaintext=b"x")["CiphertextBlob"]
    assert cloud.client("kms").decrypt(CiphertextBlob=sealed)["Plaintext"] == b"x"


def test_key_that_signs_has_a_pair(cloud: LocalCloud) -> None:
    kms = cloud.client("kms")
    key = kms.create_key(KeyUsage="SIGN_VERIFY", KeySpec="RSA_2048")["KeyMetadata"]["KeyId"]
    given = {"KeyId": key, "Message": b"x", "SigningAlgorithm": "RSASSA_PSS_SHA_256"}
    signed = kms.sign(**given)["Signature"]
    assert kms.verify(**given, Signature=signed)["SignatureValid"]


def test_service_that_nobody_has_is_still_unknown(cloud: LocalCloud) -> None:
    with pytest.raises(UnknownServiceError):
        cloud.client("no-such-service")


def test_number_of_items_is_what_a_scan_counts(cloud: LocalCloud) -> None:
    table = cloud.outputs["TableName"]
    for key in ("a", "b"):
        cloud.client("dynamodb").put_item(TableName=table, Item={"id": {"S": key}})
    assert cloud.item_counts()["IdempotencyTable"] == 2 == cloud.client("dynamodb").scan(TableName=table)["Count"]
