# Everything runs from a virtual environment in this folder; nothing is installed globally.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
NPM_TOOLS := build/npm
CDK := build/cdk/node_modules/aws-cdk-lib/package.json
ASL_VALIDATOR := $(NPM_TOOLS)/node_modules/.bin/asl-validator
export SAM_CLI_TELEMETRY := 0
# Empty, which is unset: where it is set, each of some hundred processes of the tests compiles every module again.
export PYTHONDONTWRITEBYTECODE :=

# Those that Once promises besides that of .venv.
PYTHONS = $(filter-out $(shell $(BIN)/python -c 'import sys; print(*sys.version_info[:2], sep=".")'),3.11 3.12 3.13 3.14)

.PHONY: help setup development wheel demo demos test test-moto e2e before-deploy evidence proof soak check format lint audit secrets sam runtime-is-here release release-check site reference pictures bench clean requirements tools cdk browser

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Python, folder. Nothing is compiled but what a function's process imports, which keeps nothing, as on Lambda.
define install-once
$(1) -m venv $(2) && \
$(2)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/pip.txt && \
$(2)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements/local.txt && \
$(2)/bin/python -m pip install -qq --disable-pip-version-check --no-build-isolation --no-deps -e . && \
$(2)/bin/python -m compileall -q $(2)/lib/python*/site-packages/{awslambdaric,aws_lambda_powertools,fastjsonschema}
endef

setup: .venv/installed ## Create the virtual environment for the command and the local cloud, pinned and hashed

development: .venv/developing ## Add what the tests, the proof and `make lint` need

.venv/installed: requirements/local.txt requirements/pip.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Once needs Python 3.11 or later; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@echo "Setting up the virtual environment (once, about a minute)..." >&2
	@$(call install-once,$(PYTHON),.venv)
	@touch $@

.venv/developing: .venv/installed requirements/development.txt
	@echo "Adding what tests and checks need (once, about a minute)..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/development.txt
	@touch $@

wheel: setup ## Build what people install, into build/wheel: pip install 'build/wheel/oncekit-...whl[local]'
	@rm -rf build/lib build/bdist.* build/wheel
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w build/wheel .
	@ls build/wheel/*.whl

demo: setup ## Run the demo on the local cloud: a charge and its duplicates, crashes, a large result, another payload
	@$(BIN)/once demo

demos: setup ## Run the demo with each other Python from 3.11 to 3.14 that is on PATH
	@for each in $(PYTHONS); do \
	  if ! python$$each -c pass 2>/dev/null; then echo "== No Python $$each here: no demo with it"; continue; fi; \
	  echo "== Python $$each"; \
	  $(MAKE) --no-print-directory .venv-python$$each/installed && .venv-python$$each/bin/once demo || exit 1; \
	done

test: development ## Run the tests on the local cloud; the tests of the proof are part of `make proof`
	@# Three on two cores: a sixth quicker than two, since browsers and other processes are waited for.
	@$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder --ignore=tests/proof

test-moto: development .venv-moto/installed ## Run the tests of the local cloud with the oldest moto that the package takes; `make test` has the newest
	@.venv-moto/bin/python -m pytest -q -n 2 --dist loadfile -p no:cacheprovider tests/local tests/scenarios/test_answers.py

e2e: development ## Run the scenarios against a deployed stack: STACK=name [PROFILE=name] [REGION=name]; QUICK=yes leaves out what takes minutes, PROD=yes allows a prod stack
	@$(BIN)/python -m pytest tests/scenarios -v --backend=aws $(if $(STACK),--stack $(STACK)) $(if $(PROFILE),--profile $(PROFILE)) $(if $(REGION),--region $(REGION)) $(if $(QUICK),--quick) $(if $(PROD),--allow-prod)

WHERE = $(if $(STACK),--stack $(STACK)) $(if $(PROFILE),--profile $(PROFILE)) $(if $(REGION),--region $(REGION))

before-deploy: development $(if $(BUCKET),sam) ## Ask AWS what it says of the template, and make nothing: [STACK=name] [PROFILE=name] [REGION=name]; BUCKET=yours, for code, also asks for a change set; PARAMETERS="Name=value"
	@rm -f build/packaged.yaml
ifneq ($(BUCKET),)
	@.venv-sam/bin/sam build
	@.venv-sam/bin/sam package --template-file .aws-sam/build/template.yaml --s3-bucket $(BUCKET) --s3-prefix before-deploy $(if $(PROFILE),--profile $(PROFILE)) $(if $(REGION),--region $(REGION)) --output-template-file build/packaged.yaml >/dev/null
endif
	@$(BIN)/python -m oncekit.evidence before $(WHERE) $(if $(BUCKET),--packaged build/packaged.yaml) $(foreach each,$(PARAMETERS),--parameter $(each))

evidence: development ## Ask AWS what docs/verify-on-aws.md believes, of a deployed stack, and measure its lanes: STACK=name [PROFILE=name] [REGION=name] [QUICK=yes] [PROD=yes]; DIRECT=function EVENT=file measures the direct lane, too
	@$(BIN)/python -m oncekit.evidence after $(WHERE) $(if $(QUICK),--quick) $(if $(PROD),--allow-prod) $(if $(DIRECT),--direct $(DIRECT) --event $(EVENT))

proof: development tools ## Inject faults everywhere, and check every promise after each (SEED=n repeats a schedule; PARTS="matrix model" runs only these parts; MUTANTS=n, CASES=n and SCHEDULES=n say how many)
	@$(BIN)/python -m oncekit.proof $(if $(SEED),--seed $(SEED)) $(if $(MUTANTS),--mutants $(MUTANTS)) $(if $(CASES),--cases $(CASES)) $(if $(SCHEDULES),--schedules $(SCHEDULES)) $(foreach part,$(PARTS),--only $(part))

soak: development ## Run schedules of the proof until stopped
	@$(BIN)/python -m oncekit.proof --soak

check: development ## Check in half a minute what a change breaks most: ruff, mypy, the gate (part of `make lint`)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m oncekit.gate

format: development ## Write the code as `make check` wants it: layout, imports, and what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: check tools .venv-sam/installed .venv-scan/installed ## Check code, template and state machines
	$(BIN)/python -m oncekit.local.deployment.write_definitions --template template.yaml --to build/definitions
	$(ASL_VALIDATOR) $(foreach name,operation fast recovery,--json-path build/definitions/$(name).json)
	@# One file at a time: sam looks at no application inside.
	for each in template.yaml */template.yaml; do .venv-sam/bin/sam validate --lint --template $$each || exit 1; done
	.venv-scan/bin/checkov --file template.yaml */template.yaml --framework cloudformation --compact --quiet --skip-download
	@if command -v python3.13 >/dev/null && python3.13 -c 'pass' 2>/dev/null; then \
	  PATH="$$(dirname "$$(python3.13 -c 'import sys; print(sys.executable)')"):$$PATH" .venv-sam/bin/sam build --cached --build-dir build/sam --cache-dir build/sam-cache; \
	else echo "sam build needs python3.13 on PATH, the runtime of the functions: not run here" >&2; [ -z "$$CI" ]; fi

audit: secrets ## Look for secrets in what is committed, and for known vulnerabilities in all requirements (queries the registries)
	@# Strict: a package that the index does not know is not audited, and by default that counts as "no known vulnerabilities".
	@for each in requirements/*.txt shared/requirements.txt; do echo "== $$each"; .venv-audit/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r $$each || exit 1; done
	@for each in requirements/*/package.json; do npm audit --package-lock-only --prefix "$$(dirname $$each)" || exit 1; done

secrets: .venv-audit/installed ## Look for secrets in what is committed
	@# Hashes look like secrets: of requirements, and of what tests expect. The words left out are those of the local cloud and of tests.
	git ls-files -z | xargs -0 .venv-audit/bin/detect-secrets-hook --disable-plugin HexHighEntropyString --exclude-files '^requirements/|^shared/requirements' --exclude-secrets '^(local|testing|first|once-prod-IdempotencyTable-.*)$$'

sam: .venv-sam/installed ## Install AWS SAM's command into .venv-sam, pinned

# sam build wants the runtime of the functions on PATH.
RUNTIME := python3.13
RELEASE := build/release

runtime-is-here:
	@$(RUNTIME) -c pass || { echo "sam build needs $(RUNTIME) on PATH, the runtime of the functions; or try: make RUNTIME=PATH/OF/python3.13 $(MAKECMDGOALS)" >&2; exit 2; }

release: runtime-is-here development .venv-release/installed .venv-sam/installed ## Build all that a release has, into build/release (RUNTIME=a python3.13 that is not on PATH)
	@rm -rf $(RELEASE) build/lib build/bdist.*
	@mkdir -p $(RELEASE)/index
	@# The wheel is built from the sdist: what that forgot is missing in both.
	@.venv-release/bin/python -m build --no-isolation --outdir $(RELEASE)/index . >build/release.log || { cat build/release.log >&2; exit 1; }
	@for each in arm64 x86_64; do \
	  PATH="$$(dirname "$$($(RUNTIME) -c 'import sys; print(sys.executable)')"):$$PATH" .venv-sam/bin/sam build --cached --cache-dir build/sam-cache-$$each \
	    --build-dir build/bundle-$$each --parameter-overrides Architecture=$$each >build/release.log 2>&1 || { cat build/release.log >&2; exit 1; }; \
	  $(BIN)/python -m oncekit.release bundle $(RELEASE) --built build/bundle-$$each --architecture $$each || exit 1; \
	done
	@.venv-release/bin/python -W ignore -m cyclonedx_py requirements --output-reproducible --pyproject pyproject.toml -o $(RELEASE)/oncekit.cdx.json requirements/local.txt
	@.venv-release/bin/python -W ignore -m cyclonedx_py requirements --output-reproducible -o $(RELEASE)/once-layer.cdx.json shared/requirements.txt
	@$(BIN)/python -m oncekit.release sums $(RELEASE)

release-check: release ## Use what a release has as somebody who has nothing else (TAG=v1.2.3 is compared with version and CHANGELOG)
	@$(BIN)/python -m oncekit.release check $(RELEASE) $(if $(TAG),--tag $(TAG))

site: .venv-site/installed ## Build the pages of docs/ as a site with search, into build/site
	@NO_MKDOCS_2_WARNING=true .venv-site/bin/mkdocs build --strict --quiet
	@echo "To read it: $(PYTHON) -m http.server --directory build/site --bind 127.0.0.1"

reference: setup ## Generate the pages of parameters, alarms and states again, from the template and the definitions
	@$(BIN)/python tests/docs/write_reference.py --to docs

pictures: development ## Draw the pictures in docs/ again; those of the console only where a browser is (make browser)
	@PYTHONPATH=tests:tests/docs:tests/statemachine $(BIN)/python tests/console/pictures.py --to docs

bench: development ## Count what each path costs, and tell how many requests a second each lane can handle
	@$(BIN)/python -m oncekit.bench

browser: ## Install Chromium for the tests of the console (Debian and Ubuntu, as root); they are skipped without one
	@# The shell has no window, and takes two thirds of the CPU; some releases have the whole browser alone.
	@command -v chromium-headless-shell >/dev/null || { apt-get update -qq; \
	  apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null 2>&1 \
	  || command -v chromium >/dev/null || command -v google-chrome >/dev/null \
	  || apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

tools: $(ASL_VALIDATOR) ## Install the npm tools of `make lint` and of a test (needs npm)

# By the lock, which has the hash of each package and the host of no registry; no package runs code of its own as it is installed.
$(ASL_VALIDATOR): requirements/npm/package.json requirements/npm/package-lock.json
	@mkdir -p $(NPM_TOOLS)
	@cp $^ $(NPM_TOOLS)
	@npm ci --silent --ignore-scripts --no-audit --no-fund --prefix $(NPM_TOOLS)
	@touch $@

cdk: $(CDK) ## Install AWS's CDK for the test of docs/other-tools.md, which is skipped without it (needs npm)

$(CDK): requirements/cdk/package.json requirements/cdk/package-lock.json
	@mkdir -p build/cdk
	@cp $^ build/cdk
	@npm ci --silent --ignore-scripts --no-audit --no-fund --prefix build/cdk
	@touch $@

.venv-python%/installed: requirements/local.txt requirements/pip.txt pyproject.toml
	@$(call install-once,python$*,.venv-python$*)
	@touch $@

# What is in .venv, but for moto.
.venv-moto/installed: .venv/developing requirements/moto.txt
	@$(BIN)/python -m venv .venv-moto
	@$(BIN)/python -c 'import site; [place] = site.getsitepackages(); print(f"import site; site.addsitedir({place!r})")' \
	  >"$$(.venv-moto/bin/python -c 'import site; print(*site.getsitepackages())')/all.pth"
	@.venv-moto/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --ignore-installed -r requirements/moto.txt
	@touch $@

.venv-%/installed: requirements/%.txt
	@$(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/pip.txt
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/$*.txt
	@touch $@

requirements: ## Compile the pinned, hashed requirements again (needs uv)
	uv pip compile --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/local.in -o requirements/local.txt
	uv pip compile --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/development.in -c requirements/local.txt -o requirements/development.txt
	uv pip compile --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/sam.in -o requirements/sam.txt
	uv pip compile --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/scan.in -o requirements/scan.txt
	uv pip compile --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/audit.in -o requirements/audit.txt
	uv pip compile --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/site.in -o requirements/site.txt
	uv pip compile --no-strip-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/release.in -o requirements/release.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/pip.in -o requirements/pip.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-deps requirements/moto.in -o requirements/moto.txt
	uv pip compile --no-strip-extras --universal --python-version 3.13 --generate-hashes --no-emit-index-url --no-header requirements/layer.in -o shared/requirements.txt
	for each in npm cdk; do npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund --prefix requirements/$$each || exit 1; done

clean: ## Remove everything that the commands above created
	rm -rf .venv .venv-moto .venv-sam .venv-scan .venv-audit .venv-site .venv-release .venv-python* build .aws-sam .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info shared/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
