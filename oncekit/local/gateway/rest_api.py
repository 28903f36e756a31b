"""A REST API as deployed: an OpenAPI document with API Gateway's extensions, looked at route by route."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.local.resources import Deployed

_EXTENSION = "x-amazon-apigateway-"
ANY = f"{_EXTENSION}any-method"
METHODS = ("get", "post", "put", "delete", "head", "options", "patch", ANY)
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
        self._body = body
        self._methods = [
            Method(name.upper(), resource, description)
            for resource, methods in body["paths"].items()
            for name, description in methods.items()
            if name in METHODS
        ]

    def route(self, method: str, path: str) -> Route | None:
        """The method for a path, and its path parameters as they were sent: percent-encoded.

        That they reach templates undecoded is unconfirmed (V64); REST APIs hand them so to functions
        (https://github.com/middleapi/standard-server/pull/93, with answers recorded on AWS).
        """
        fitting = (each for each in self._methods if each.name in (method, ANY.upper()))
        found = [(each, match) for each in fitting if (match := _match(each, path))]
        if not found:
            return None
        # A fixed path before one with a parameter, and a method before any.
        best, parameters = min(found, key=lambda each: (len(each[1]), each[0].name != method))
        return best, {name: value for name, value in parameters.items() if name}

    def checks(self, method: Method) -> Mapping[str, bool]:
        """What the method's request validator looks at."""
        validators = self._body.get(f"{_EXTENSION}request-validators", {})
        return dict(validators.get(method.description.get(f"{_EXTENSION}request-validator"), {}))

    def authorization(self, method: Method) -> str | None:
        """What callers have to show: awsSigv4, cognito_user_pools, another type, or None."""
        schemes = self._body.get("components", {}).get("securitySchemes", {})
        schemes = schemes or self._body.get("securityDefinitions", {})  # of Swagger 2.0, as SAM writes it
        needed = [schemes[name] for each in method.description.get("security", ()) for name in each]
        return next((str(scheme.get(f"{_EXTENSION}authtype", scheme["type"])) for scheme in needed), None)

    @property
    def origin(self) -> str | None:
        """That of the pages which may call, as its answers to OPTIONS name it; * is any, None: no page at all."""
        for each in self._methods:
            if each.name == "OPTIONS":
                answer = each.integration.get("responses", {}).get("default", {})
                named = answer.get("responseParameters", {}).get(f"method.response.header.{ALLOWED}")
                return None if named is None else str(named).strip("'")
        return None

    def refusals(self) -> Mapping[str, Mapping[str, Any]]:
        """The API's own gateway responses, by their type."""
        return dict(self._body.get(f"{_EXTENSION}gateway-responses", {}))


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
        if each.type == "AWS::ApiGateway::RestApi" and each.ref in stages and "Body" in each.properties
    ]


def _match(method: Method, path: str) -> dict[str, str] | None:
    """The parameters of a path, and "" for the path itself, so that no match is empty."""
    pattern = re.sub(r"\\{(\w+)(\\\+)?\\}", _group, re.escape(method.resource))
    match = re.fullmatch(pattern, path)
    return None if match is None else {"": path, **match.groupdict()}


def _group(parameter: re.Match[str]) -> str:
    return f"(?P<{parameter[1]}>{'.+' if parameter[2] else '[^/]+'})"
