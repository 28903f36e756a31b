"""AWS::LanguageExtensions comes before SAM, and resolves what it can: Split and Join may see parameters alone."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from template_parts import PARTS, TEMPLATE, values_for
from tools import tool

from oncekit.adoption.folder import installed
from oncekit.local.templates.template import parse

RESOLVE = """
import json, sys
from samcli.lib.cfn_language_extensions import process_template
from samcli.lib.cfn_language_extensions.resolvers.fn_join import FnJoinResolver
from samcli.lib.cfn_language_extensions.resolvers.fn_split import FnSplitResolver

seen = []
for kind in (FnJoinResolver, FnSplitResolver):
    def resolve(self, value, was=kind.resolve):
        [(name, arguments)] = value.items()
        seen.append([name, self.parent.resolve_value(arguments[1])])
        return was(self, value)
    kind.resolve = resolve
given = json.load(sys.stdin)
process_template(given["template"], given["parameters"])
print(json.dumps(seen))
"""
"""Runs SAM CLI's port of the transform, and tells what each Split and Join in a template is over."""

OTHERS = {
    "Operations": "charge=shop-Charge-1A2B:live,refund=arn:aws:lambda:us-east-1:123456789012:function:refund",
    "PayloadOnlyOperations": "charge,refund",
    "DirectLaneName": "shop",
    "FullLaneOperations": "refund",
    "Stage": "prod",
    "Lane": "fast",
    "Rollout": "Canary",
    "ExecutionLog": "DATA",
    "EncryptionKeyArn": "arn:aws:kms:us-east-1:123456789012:key/k",
    "HttpUserPoolArn": "arn:aws:cognito-idp:us-east-1:123456789012:userpool/p",
    "HttpCorsOrigin": "https://shop.example",
    "HttpAccessLog": "true",
    "EventSource": "com.shop",
    "AlarmEmail": "oncall@shop.example",
}
OFF = {"Examples": "no", "EventBusName": "none", "QueueTrigger": "false", "HttpTrigger": "false"}


@pytest.mark.parametrize("given", [{}, OTHERS, OFF, OTHERS | OFF], ids=["defaults", "others", "off", "others and off"])
@pytest.mark.parametrize("file", [TEMPLATE, *PARTS], ids=lambda file: file.parent.name)
def test_split_and_join_are_over_parameters_alone(file: Path, given: dict[str, str]) -> None:
    """What a resource or an application inside will be called is not known when AWS resolves them."""
    over = resolved(parse(file.read_text(), file), values_for(file, **given))
    assert over or file != TEMPLATE, "no Split or Join was looked at"


def test_split_and_join_are_over_parameters_alone_in_what_is_copied_beside_an_application() -> None:
    template = parse(installed()["template.yaml"].decode(), TEMPLATE)
    resolved(template, values_for(TEMPLATE, **{**OTHERS, "Examples": "no"}))


def resolved(source: dict[str, Any], parameters: dict[str, str]) -> list[str]:
    """What each Split and Join is over. None is over what is not known yet."""
    template = {"template": source, "parameters": parameters}
    command = [tool(".venv-sam/bin/sam").with_name("python"), "-c", RESOLVE]
    environment = {**os.environ, "SAM_CLI_TELEMETRY": "0"}
    done = subprocess.run(command, input=json.dumps(template), env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    over = [json.dumps(each) for each in json.loads(done.stdout)]
    assert not [each for each in over if '{"' in each or "${" in each]
    return over
