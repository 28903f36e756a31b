"""One request to an API: validated, mapped for the integration, and its answer mapped for the client."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.local.gateway.integrations import Backend, Integrations
from oncekit.local.gateway.refusals import Answer, NotRunHere, Refused
from oncekit.local.gateway.rest_api import Method, RestApi
from oncekit.local.gateway.variables import Context, Input, Util
from oncekit.local.gateway.velocity import TemplateFault, render

JSON = "application/json"
_PATH = "integration.request.path."
_HEADER = "method.response.header."


@dataclass(frozen=True)
class Sent:
    """What a client sent to a method."""

    method: Method
    path: Mapping[str, str]
    querystring: Mapping[str, str]
    headers: Mapping[str, str]
    body: str

    @property
    def content_type(self) -> str:
        """ "If content-type is not provided AWS assumes application/json", as recorded by LocalStack."""
        return (self.header("content-type") or JSON).partition(";")[0].strip().lower()

    def value(self, place: str, name: str) -> str:
        found = self.header(name.lower()) if place == "header" else self.querystring.get(name)
        return found or ""

    def header(self, name: str) -> str | None:
        return next((value for given, value in self.headers.items() if given.lower() == name), None)

    @property
    def parameters(self) -> dict[str, Mapping[str, str]]:
        return {"path": self.path, "querystring": self.querystring, "header": self.headers}


def answered(api: RestApi, sent: Sent, integrations: Integrations, context: Context) -> Answer:
    """The answer of the integration. Raises Refused where API Gateway answers by itself."""
    _validate(api, sent)
    integration = sent.method.integration
    if "requestTemplates" not in integration:
        raise NotRunHere(f"an integration of the type {integration.get('type')}")
    # "Only the MIME type is used from the Accept and Content-Type headers when selecting a mapping template."
    template = integration["requestTemplates"].get(sent.content_type)
    passes = integration.get("passthroughBehavior", "when_no_match").lower() == "when_no_match"
    if template is None and not passes:
        raise Refused("UNSUPPORTED_MEDIA_TYPE", "Unsupported Media Type")
    body = sent.body if template is None else rendered(template, sent.body, sent, context)
    if integration["type"].lower() == "mock":  # its answer has the status that the template says
        backend = Backend(int(json.loads(body)["statusCode"]), "")
        return _mapped(integration["responses"], backend, sent, context)
    path = _static(integration.get("requestParameters"), _PATH)
    backend = integrations.call(integration, body, path | context["requestOverride"]["path"], api.id)
    return _mapped(integration["responses"], backend, sent, context)


def _static(parameters: Mapping[str, str] | None, prefix: str) -> dict[str, str]:
    """Parameters of this kind, by name. Static values only, which stand in quotes."""
    given = (parameters or {}).items()
    return {name.removeprefix(prefix): value.strip("'") for name, value in given if name.startswith(prefix)}


def _validate(api: RestApi, sent: Sent) -> None:
    """https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-method-request-validation.html"""
    checks = api.checks(sent.method)
    if checks.get("validateRequestParameters"):
        missing = [name for place, name in sent.method.required if not sent.value(place, name).strip()]
        if missing:
            raise Refused("BAD_REQUEST_PARAMETERS", f"Missing required request parameters: [{', '.join(missing)}]")
    schema = sent.method.body_types.get(sent.content_type)
    if checks.get("validateRequestBody") and schema is not None and not _fits(schema, sent.body):
        raise Refused("BAD_REQUEST_BODY", "Invalid request body")


def _fits(schema: Mapping[str, Any], body: str) -> bool:
    """Whether a body is what a model of this type asks for; other rules of a model are not looked at."""
    try:
        value = json.loads(body or "{}")
    except (ValueError, RecursionError):
        return False
    return schema.get("type") != "object" or isinstance(value, dict)


def rendered(template: str, body: str, sent: Sent, context: Context) -> str:
    """What a mapping template makes of a payload. Raises Refused where it fails, as AWS does."""
    variables = {"input": Input(body, sent.parameters), "util": Util(), "context": context}
    try:
        return render(template.strip(), variables)
    except TemplateFault as fault:
        logging.getLogger(__name__).error("a mapping template failed: %s", fault)  # noqa: TRY400  its text says all
        raise Refused("API_CONFIGURATION_ERROR", "Internal server error") from fault


def _mapped(responses: Mapping[str, Any], backend: Backend, sent: Sent, context: Context) -> Answer:
    """The first response whose pattern fits the status of the service, else the default one."""
    fitting = (each for pattern, each in responses.items() if re.fullmatch(pattern, str(backend.status)))
    response = next(fitting, None) or responses["default"]
    templates = response.get("responseTemplates")
    text = backend.body if templates is None else rendered(templates[JSON], backend.body, sent, context)
    override = context["responseOverride"]
    # "AWS ignores the status if the override isn't an integer between 100 and 599": recorded by LocalStack.
    valid = isinstance(override.get("status"), int) and 100 <= override["status"] < 600
    headers = {"Content-Type": JSON, **_static(response.get("responseParameters"), _HEADER), **override["header"]}
    status = override["status"] if valid else int(response["statusCode"])
    return Answer(status, text.encode(), headers)
