"""What sam would start containers with, by its own code. It has no command that only says so."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

SAM = Path(__file__).parents[1] / ".venv-sam" / "bin" / "sam"
PROGRAM = """
import json, sys
from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
template, given, file = sys.argv[1:]
stacks, _ = SamLocalStackProvider.get_stacks(template, parameter_overrides=json.loads(given))[:2]
runner = LocalLambdaRunner(None, SamFunctionProvider(stacks), None, None, env_vars_values=json.loads(file))
runner.get_aws_creds = lambda: {}
functions = [(each, runner._make_env_vars(each).resolve()) for each in runner.provider.get_all()]
print(json.dumps({each.name: [each.architectures, made] for each, made in functions}))
"""


def as_sam(
    template: Path, parameters: dict[str, str], env_vars: dict[str, dict[str, str]], home: Path
) -> dict[str, tuple[list[str], dict[str, str]]]:
    """The processors and the variables of each function, by its logical id."""
    ran = subprocess.run(
        [SAM.with_name("python"), "-c", PROGRAM, str(template), json.dumps(parameters), json.dumps(env_vars)],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    made: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    return {name: (architectures, variables) for name, (architectures, variables) in made.items()}
