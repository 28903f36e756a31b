"""A REST API as deployed: an OpenAPI document with API Gateway's extensions, looked at route by route."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oncekit.local.deployment.resources import Deployed

_EXTENSION = "x-amazon-apigateway-"
_KEY = "api_key"
ANY = f"{_EXTENSION}any-method"
METHODS = ("get", "post", "put", "delete", "head", "options", "patch", ANY)
API = "AWS::ApiGateway::RestApi"
DEFAULT = "$default"
"""Of an HTTP API: the route for what no other one takes, and the stage that is not in the path."""
ALLOWED = "Access-Control-Allow-Origin"
Route = tuple["Method", Mapping[str, str]]


@dataclass(frozen=True)
class Method:
    """A method of a route."""

    name: str
    """In capitals."""
    resource: str
    """The path as the document writes it, as /{tenant}/{operation}."""
    description: Mapping[str, Any]

    @property
    def breadth(self) -> tuple[bool, bool, int]:
        """The less of it, the fewer paths fit: of two routes for a path, that one counts. Last comes HTTP's `$default`,
        and before it a path with a rest."""
        return self.resource.endswith(DEFAULT), "+}" in self.resource, self.resource.count("{")

    @property
    def integration(self) -> Mapping[str, Any]:
        return dict(self.description.get(f"{_EXTENSION}integration", {}))

    @property
    def required(self) -> Iterator[tuple[str, str]]:
        """Place and name of each parameter that must be there; those of the path are."""
        for each in self.description.get("parameters", ()):
            if each.get("required") and each["in"] != "path":
                yield each["in"], each["name"]

    @property
    def body_types(self) -> Mapping[str, Mapping[str, Any]]:
        """By content type, the schema of the body."""
        content = self.description.get("requestBody", {}).get("content", {})
        return {kind: each.get("schema", {}) for kind, each in content.items()}


class RestApi:
    """What a client can ask for. `id` is the API's, `stage` the one that is served."""

    def __init__(self, id: str, stage: str, body: Mapping[str, Any]) -> None:
        self.id = id
        self.stage = stage
        self.body = body
        self.methods = [
            Method(name.upper(), resource, description)
            for resource, methods in body["paths"].items()
            for name, description in methods.items()
            if name in METHODS
        ]

    @property
    def address(self) -> str:
        """The pattern of its URL on AWS, which has the stage in the path unless that is the default one."""
        stage = "" if self.stage == DEFAULT else f"/{re.escape(self.stage)}"
        return rf"https://{re.escape(self.id)}\.execute-api\.[^/]+{stage}"

    def route(self, method: str, path: str) -> Route | None:
        """The method for a path, and its path parameters as they were sent: percent-encoded.

        That they reach templates undecoded is unconfirmed (V64); REST APIs hand them so to functions
        (https://github.com/middleapi/standard-server/pull/93, with answers recorded on AWS).
        """
        fitting = (each for each in self.methods if each.name in (method, ANY.upper()))
        found = [(each, match) for each in fitting if (match := _match(each, path))]
        if not found:
            return None
        # A fixed path before one with a parameter, and a method before any.
        best, parameters = min(found, key=lambda each: (each[0].breadth, each[0].name != method))
        return best, {name: value for name, value in parameters.items() if name}

    def checks(self, method: Method) -> Mapping[str, bool]:
        """What the method's request validator looks at."""
        validators = self.body.get(f"{_EXTENSION}request-validators", {})
        return dict(validators.get(method.description.get(f"{_EXTENSION}request-validator"), {}))

    def authorization(self, method: Method) -> str | None:
        """What callers have to show: awsSigv4, cognito_user_pools, jwt, another type, or None."""
        schemes = self.body.get("components", {}).get("securitySchemes", {})
        schemes = schemes or self.body.get("securityDefinitions", {})  # of Swagger 2.0, as SAM writes it
        needed = [schemes[name] for name in self._named(method) if name in schemes]  # SAM writes NONE, too
        return next((_type_of(scheme) for scheme in needed), None)

    def needs_key(self, method: Method) -> bool:
        """Whether callers have to send an API key, as SAM writes it."""
        return any(name == _KEY for each in method.description.get("security", ()) for name in each)

    def _named(self, method: Method) -> list[str]:
        return [name for each in method.description.get("security", ()) for name in each if name != _KEY]

    def scopes(self, method: Method) -> Sequence[str]:
        """One of these a token of an HTTP API needs to have, if there are any."""
        return [
            scope for each in method.description.get("security", ()) for scopes in each.values() for scope in scopes
        ]

    @property
    def origin(self) -> str | None:
        """That of the pages which may call, as its answers to OPTIONS name it; * is any, None: no page at all."""
        for each in self.methods:
            if each.name == "OPTIONS":
                answer = each.integration.get("responses", {}).get("default", {})
                named = answer.get("responseParameters", {}).get(f"method.response.header.{ALLOWED}")
                return None if named is None else str(named).strip("'")
        return None

    def refusals(self) -> Mapping[str, Mapping[str, Any]]:
        """The API's own gateway responses, by their type."""
        return dict(self.body.get(f"{_EXTENSION}gateway-responses", {}))


def _type_of(scheme: Mapping[str, Any]) -> str:
    authorizer = scheme.get(f"{_EXTENSION}authorizer") or {}
    return str(scheme.get(f"{_EXTENSION}authtype") or authorizer.get("type") or scheme["type"])


def rest_apis(resources: Mapping[str, Deployed]) -> list[RestApi]:
    """The APIs that were deployed, each with its stage."""
    stages = {
        str(each.properties["RestApiId"]): each.properties
        for each in resources.values()
        if each.type == "AWS::ApiGateway::Stage" and each.ref
    }
    return [
        RestApi(each.ref, str(stages[each.ref]["StageName"]), each.properties["Body"])
        for each in resources.values()
        if each.type == API and each.ref in stages and "Body" in each.properties
    ]


def _match(method: Method, path: str) -> dict[str, str] | None:
    """The parameters of a path, and "" for the path itself, so that no match is empty."""
    pattern = re.sub(r"\\{(\w+)(\\\+)?\\}", _group, re.escape(method.resource))
    match = re.fullmatch(pattern, path)
    return None if match is None else {"": path, **match.groupdict()}


def _group(parameter: re.Match[str]) -> str:
    return f"(?P<{parameter[1]}>{'.+' if parameter[2] else '[^/]+'})"
