"""The bucket of large answers and of requests that are kept for the operator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.policies import refuses_plain_http
from oncekit.cli.doctor.verdict import Check, Verdict, ok, warning, wrong

BUCKET = "ResponseBucket"
ANSWERS, REQUESTS, IN_FLIGHT = "responses/", "requests/", "inflight/"
LEAST_IN_FLIGHT = 14
"""Days that a request must stay which its owner in the fast lane kept: as long as AWS's queues keep a message."""
RESERVE_DAYS = 45  # as template.yaml has it
BLOCKS = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")


def checks(deployment: Deployment) -> Iterator[Check]:
    looks = {"public": _public, "encryption": _encryption, "lifecycle": _lifecycle, "tls": _tls}
    for subject, look in looks.items():
        yield Check(f"bucket.{subject}", BUCKET, partial(look, deployment))


def _public(deployment: Deployment) -> Verdict:
    name = deployment.id(BUCKET)
    unset = ["NoSuchPublicAccessBlockConfiguration"]
    told = deployment.ask("s3", "get_public_access_block", unset, Bucket=name).get("PublicAccessBlockConfiguration", {})
    open_to = [each for each in BLOCKS if not told.get(each)]
    if not open_to:
        return ok("public access is blocked")
    settings = ",".join(f"{each}=true" for each in BLOCKS)
    verdict = wrong(
        f"public access is not blocked ({', '.join(open_to)}): answers and payloads could be made public",
        f"`aws s3api put-public-access-block --bucket {name} --public-access-block-configuration {settings}`",
    )
    return verdict if told else deployment.absent(verdict)


def _encryption(deployment: Deployment) -> Verdict:
    name, key = deployment.id(BUCKET), deployment.stack.parameters.get("EncryptionKeyArn", "")
    unset = ["ServerSideEncryptionConfigurationNotFoundError"]
    told = deployment.ask("s3", "get_bucket_encryption", unset, Bucket=name)
    rules = told.get("ServerSideEncryptionConfiguration", {}).get("Rules", [])
    by_default = rules[0].get("ApplyServerSideEncryptionByDefault", {}) if rules else {}
    if by_default.get("SSEAlgorithm") == "aws:kms" and (not key or by_default.get("KMSMasterKeyID") == key):
        return ok("with your key" if key else "with KMS")
    in_use = by_default.get("KMSMasterKeyID") or by_default.get("SSEAlgorithm") or "nothing"
    wanted = {"SSEAlgorithm": "aws:kms", **({"KMSMasterKeyID": key} if key else {})}
    rule = {"ApplyServerSideEncryptionByDefault": wanted, "BucketKeyEnabled": True}
    return wrong(
        f"new objects are encrypted with {in_use}, not with {'EncryptionKeyArn' if key else 'KMS'}",
        f"`aws s3api put-bucket-encryption --bucket {name} "
        f"--server-side-encryption-configuration '{json.dumps({'Rules': [rule]})}'`",
    )


def _lifecycle(deployment: Deployment) -> Verdict:
    name, retention = deployment.id(BUCKET), deployment.stack.number("RetentionDays")
    unset = ["NoSuchLifecycleConfiguration"]
    told = deployment.ask("s3", "get_bucket_lifecycle_configuration", unset, Bucket=name)
    rules = [each for each in told.get("Rules", ()) if each["Status"] == "Enabled" and "Expiration" in each]
    show = f"`aws s3api get-bucket-lifecycle-configuration --bucket {name}` shows the rules; "
    for rule in rules:
        after, days = _described(rule["Expiration"])
        if _overlaps(rule, REQUESTS):
            return wrong(
                f"the rule {rule.get('ID', '')} deletes what is under {REQUESTS} {after}: a quarantined request "
                "may be gone "
                "before an operator has decided",
                show + f"let it name {ANSWERS}",
            )
        if _overlaps(rule, IN_FLIGHT) and days < LEAST_IN_FLIGHT:
            return wrong(
                f"the rule {rule.get('ID', '')} deletes what is under {IN_FLIGHT} {after}: the request of an owner in "
                "the fast lane may be gone before recovery or an operator needs it",
                show + f"give it {RESERVE_DAYS} days",
            )
        promised = _promised(rule, retention)
        if _overlaps(rule, ANSWERS) and days < promised:
            return wrong(
                f"the rule {rule.get('ID', '')} deletes answers {after}, and their records refer to them for "
                f"{promised}: "
                "duplicates would get a reference to nothing",
                show + f"give the rule {promised + RESERVE_DAYS} days",
            )
    own = f"{ANSWERS}{retention}d/"
    if not any(own.startswith(_prefix(rule)) for rule in rules):
        return deployment.absent(
            warning(
                f"no rule deletes answers after RetentionDays ({retention}): they stay forever, and are paid for",
                show + f"add one for {own} with {retention + RESERVE_DAYS} days",
            )
        )
    if not any(_overlaps(rule, IN_FLIGHT) for rule in rules):
        return deployment.absent(
            warning(
                f"no rule deletes what is under {IN_FLIGHT}: large requests of the fast lane stay forever",
                show + f"add one with {RESERVE_DAYS} days",
            )
        )
    return ok(f"answers are kept {retention} days at least, requests until an operator has decided")


def _promised(rule: Mapping[str, Any], retention: int) -> int:
    """Days that records refer to the answers which the rule deletes: those in their keys, if the rule names them."""
    days = re.match(rf"{ANSWERS}(\d+)d/", _prefix(rule))
    return int(days[1]) if days else retention


def _described(expiration: Mapping[str, Any]) -> tuple[str, float]:
    """When a rule deletes, in words, and after how many days; a date is not a number of days, and counts as none."""
    if "Days" in expiration:
        return f"after {expiration['Days']} days", expiration["Days"]
    return (f"on {expiration['Date']}", 0) if "Date" in expiration else ("never", float("inf"))


def _overlaps(rule: Mapping[str, Any], folder: str) -> bool:
    prefix = _prefix(rule)
    deletes = "Days" in rule["Expiration"] or "Date" in rule["Expiration"]
    return deletes and (folder.startswith(prefix) or prefix.startswith(folder))


def _prefix(rule: Mapping[str, Any]) -> str:
    chosen = rule.get("Filter", {})
    return str(rule.get("Prefix") or chosen.get("Prefix") or chosen.get("And", {}).get("Prefix") or "")


def _tls(deployment: Deployment) -> Verdict:
    name = deployment.id(BUCKET)
    policy = deployment.ask("s3", "get_bucket_policy", ["NoSuchBucketPolicy"], Bucket=name).get("Policy", "")
    if refuses_plain_http(policy):
        return ok("only over TLS")
    verdict = wrong(
        "the bucket can be read and written without TLS",
        "put the statement OnlyOverTls of ResponseBucketPolicy in template.yaml back: "
        f"`aws s3api put-bucket-policy --bucket {name} --policy file://policy.json`",
    )
    return verdict if policy else deployment.absent(verdict)
