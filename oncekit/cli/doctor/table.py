"""The table of locks and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from oncekit.cli.deployed.listing import INDEX
from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.verdict import Check, Verdict, ok, warning, wrong

TABLE = "IdempotencyTable"
EXPIRES = "expiresAt"
INDEX_KEYS = [("openShard", "HASH"), ("leaseExpiresAt", "RANGE")]


def checks(deployment: Deployment) -> Iterator[Check]:
    looks = {
        "status": _status,
        "ttl": _time_to_live,
        "backup": _backup,
        "index": _index,
        "protection": _protection,
        "encryption": _encryption,
    }
    for subject, look in looks.items():
        yield Check(f"table.{subject}", TABLE, partial(look, deployment))


def _table(deployment: Deployment) -> Mapping[str, Any]:
    table: Mapping[str, Any] = deployment.ask("dynamodb", "describe_table", TableName=deployment.id(TABLE))["Table"]
    return table


def _status(deployment: Deployment) -> Verdict:
    status = _table(deployment)["TableStatus"]
    if status in ("ACTIVE", "UPDATING"):
        return ok(status)
    advice = (
        "the key's policy must let this account use it, and the key must be enabled"
        if status == "INACCESSIBLE_ENCRYPTION_CREDENTIALS"
        else "nothing can be locked until it is ACTIVE; restore it from a backup if it was deleted"
    )
    return wrong(f"the table is {status}", advice)


def _time_to_live(deployment: Deployment) -> Verdict:
    name = deployment.id(TABLE)
    told = deployment.ask("dynamodb", "describe_time_to_live", TableName=name)["TimeToLiveDescription"]
    status, attribute = told["TimeToLiveStatus"], told.get("AttributeName")
    turn_on = (
        f"`aws dynamodb update-time-to-live --table-name {name} "
        f"--time-to-live-specification Enabled=true,AttributeName={EXPIRES}`"
    )
    if status not in ("ENABLED", "ENABLING"):
        return wrong("time to live is off: expired answers stay forever, and are paid for", turn_on)
    if attribute != EXPIRES:
        return wrong(
            f"time to live looks at {attribute}, not at {EXPIRES}: it may delete locks, and never deletes answers",
            f"turn it off for {attribute}; an hour later {turn_on}",
        )
    return ok(f"on, by {EXPIRES}")


def _backup(deployment: Deployment) -> Verdict:
    name = deployment.id(TABLE)
    told = deployment.ask("dynamodb", "describe_continuous_backups", TableName=name)["ContinuousBackupsDescription"]
    if told.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED":
        return ok("point-in-time recovery is on")
    return wrong(
        "point-in-time recovery is off: if its data is damaged, the table cannot be restored to an earlier time",
        f"`aws dynamodb update-continuous-backups --table-name {name} "
        "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`",
    )


def _index(deployment: Deployment) -> Verdict:
    found = {each["IndexName"]: each for each in _table(deployment).get("GlobalSecondaryIndexes", ())}
    blind = "recovery and `once ls` find open operations by it"
    if INDEX not in found:
        return wrong(
            f"there is no index {INDEX}: {blind}",
            f"`aws dynamodb update-table --table-name {deployment.id(TABLE)} --attribute-definitions "
            "AttributeName=openShard,AttributeType=S AttributeName=leaseExpiresAt,AttributeType=N "
            f"--global-secondary-index-updates '{json.dumps([{'Create': _made_new()}])}'`",
        )
    keys = [(each["AttributeName"], each["KeyType"]) for each in found[INDEX]["KeySchema"]]
    if keys != INDEX_KEYS:
        shown = ", ".join(name for name, _ in keys)
        return wrong(
            f"the index {INDEX} has the keys {shown}: {blind}, with {', '.join(name for name, _ in INDEX_KEYS)}",
            "take the index out of the template, deploy, put it back, deploy",
        )
    status = found[INDEX].get("IndexStatus", "ACTIVE")
    if status != "ACTIVE":
        return wrong(f"the index {INDEX} is {status}: {blind}, and now see only part", "wait until it is ACTIVE")
    return ok(f"{INDEX} is active")


def _made_new() -> dict[str, object]:
    keys = [{"AttributeName": name, "KeyType": kind} for name, kind in INDEX_KEYS]
    return {"IndexName": INDEX, "KeySchema": keys, "Projection": {"ProjectionType": "KEYS_ONLY"}}


def _protection(deployment: Deployment) -> Verdict:
    protected = bool(_table(deployment).get("DeletionProtectionEnabled"))
    if deployment.is_prod and not protected:
        name = deployment.id(TABLE)
        return wrong(
            "the table of a prod stack can be deleted by mistake, and every lock and answer with it",
            f"`aws dynamodb update-table --table-name {name} --deletion-protection-enabled`",
        )
    return ok(
        "it cannot be deleted by mistake" if protected else "not protected against deletion, as the stage is not prod"
    )


def _encryption(deployment: Deployment) -> Verdict:
    key = deployment.stack.parameters.get("EncryptionKeyArn", "")
    told = _table(deployment).get("SSEDescription", {})
    if told.get("InaccessibleEncryptionDateTime"):
        return wrong(
            f"the key {told.get('KMSMasterKeyArn')} cannot be used since {told['InaccessibleEncryptionDateTime']}",
            "enable the key, and let its policy name this account's roles; the table is archived a week after "
            "that date",
        )
    fix = f"`aws dynamodb update-table --table-name {deployment.id(TABLE)} --sse-specification Enabled=true,SSEType=KMS"
    if key and told.get("KMSMasterKeyArn") != key:
        in_use = told.get("KMSMasterKeyArn", "a key of AWS")
        verdict = wrong(f"it is encrypted with {in_use}, not with EncryptionKeyArn", f"{fix},KMSMasterKeyId={key}`")
    elif told.get("Status") not in ("ENABLED", "ENABLING", "UPDATING"):
        verdict = warning("it is encrypted with a key that DynamoDB owns, not with one of the account", f"{fix}`")
    else:
        return ok("with your key" if key else "with the account's key")
    return verdict if told else deployment.absent(verdict)
