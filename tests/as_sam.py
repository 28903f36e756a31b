"""What sam would start containers with, by its own code. It has no command that only says so."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

SAM = Path(__file__).parents[1] / ".venv-sam" / "bin" / "sam"
PROGRAM = """
import gc, json, sys
gc.disable()
import yaml
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # which sam reads with: in C, it is four times as quick
from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
template, file, *given = sys.argv[1:]
for parameters in given:
    stacks, _ = SamLocalStackProvider.get_stacks(template, parameter_overrides=json.loads(parameters))[:2]
    runner = LocalLambdaRunner(None, SamFunctionProvider(stacks), None, None, env_vars_values=json.loads(file))
    runner.get_aws_creds = lambda: {}
    functions = [(each, runner._make_env_vars(each).resolve()) for each in runner.provider.get_all()]
    print(json.dumps({each.name: [each.architectures, made] for each, made in functions}))
"""


Made = dict[str, tuple[list[str], dict[str, str]]]
"""The processors and the variables of each function, by its logical id."""


def as_sam(template: Path, env_vars: dict[str, dict[str, str]], home: Path, *parameters: dict[str, str]) -> list[Made]:
    """With each of these parameters."""
    ran = subprocess.run(
        [SAM.with_name("python"), "-c", PROGRAM, str(template), *map(json.dumps, (env_vars, *parameters))],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [
        {name: (architectures, variables) for name, (architectures, variables) in json.loads(line).items()}
        for line in ran.stdout.strip().splitlines()[-len(parameters) :]
    ]
