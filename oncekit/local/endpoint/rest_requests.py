"""Requests of REST protocols, read with botocore's models: which operation one asks for, and with which parameters.

Operations may share a method and a path. Then the one counts of whose other marks (arguments of the query, headers that
it requires) the request has all, and the most: `PUT /bucket/key?partNumber=1&uploadId=u` is UploadPart.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote
from xml.etree.ElementTree import Element, ParseError, fromstring

from botocore.model import ListShape, OperationModel, ServiceModel, Shape, StructureShape

_LABEL = re.compile(r"\{([^}]+)\}")


@dataclass(frozen=True)
class RestRequest:
    """The method, the path as it was sent, the query, the headers by their names in lower case, the body."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class _Route:
    """One operation; the query arguments and headers are those that a request must have, some with their values."""

    model: OperationModel
    method: str
    path: re.Pattern[str]
    labels: tuple[str, ...]
    literal: int
    """Characters of the path that are no parameters."""
    query: tuple[tuple[str, str | None], ...]
    headers: tuple[str, ...]

    @property
    def rank(self) -> tuple[int, int, bool]:
        """S3 has older operations, which are deprecated, with the same requests as newer ones."""
        return self.literal, len(self.query) + len(self.headers), not self.model.deprecated

    def fits(self, arguments: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        return all(
            name in arguments and (value is None or arguments[name] == value) for name, value in self.query
        ) and all(name in headers for name in self.headers)


def operation_of(service: str, request: RestRequest) -> tuple[str, dict[str, Any]] | None:
    """The name of the operation of a service, as botocore names it, and its parameters as boto3 takes them.

    None when the service has no such operation, or no REST protocol. What a stream holds is left out.
    """
    arguments = dict(parse_qsl(request.query, keep_blank_values=True))
    for path in dict.fromkeys((request.path, request.path.rstrip("/") or "/")):
        found = [
            (route, match)
            for route in _routes(service)
            if route.method == request.method
            and (match := route.path.fullmatch(path))
            and route.fits(arguments, request.headers)
        ]
        if found:
            route, match = max(found, key=lambda each: each[0].rank)
            named = dict(zip(route.labels, map(unquote, match.groups()), strict=True))
            return route.model.name, dict(_parameters(route.model, named, arguments, request))
    return None


def method_of(operation: str, *services: str) -> str | None:
    """The HTTP method of an operation of one of these services; None where none has it."""
    routes = (route for service in services for route in _routes(service))
    return next((route.method for route in routes if route.model.name == operation), None)


@functools.cache
def _routes(service: str) -> tuple[_Route, ...]:
    model = ServiceModel(loader().load_service_model(service, "service-2"), service)
    if not model.protocol.startswith("rest"):
        return ()
    return tuple(_route(model.operation_model(name)) for name in model.operation_names)


@functools.cache
def loader() -> Any:
    from botocore.loaders import create_loader

    return create_loader()


def _route(model: OperationModel) -> _Route:
    uri, _, query = model.http["requestUri"].partition("?")
    uri = uri.rstrip("/") or "/"
    marks: dict[str, str | None] = dict(parse_qsl(query, keep_blank_values=True))
    headers = []
    for name, shape in _members(model.input_shape).items():
        if name in (model.input_shape.required_members if model.input_shape else ()):
            where = shape.serialization.get("location")
            if where == "querystring":
                marks.setdefault(shape.serialization["name"], None)
            elif where == "header":
                headers.append(shape.serialization["name"].lower())
    pattern, end = "", 0
    for label in _LABEL.finditer(uri):
        pattern += re.escape(uri[end : label.start()])
        end = label.end()
        # The last one may have slashes in it, which not every client encodes: the ARN of something that is tagged.
        pattern += "(.+)" if label[1].endswith("+") else r"(.*?[^/])" if end == len(uri) else "([^/]+)"
    return _Route(
        model,
        model.http["method"],
        re.compile(pattern + re.escape(uri[end:])),
        tuple(label.rstrip("+") for label in _LABEL.findall(uri)),
        len(_LABEL.sub("", uri)),
        tuple(marks.items()),
        tuple(headers),
    )


def _members(shape: Shape | None) -> Mapping[str, Shape]:
    return shape.members if isinstance(shape, StructureShape) else {}


def _parameters(
    model: OperationModel, labels: Mapping[str, str], arguments: Mapping[str, str], request: RestRequest
) -> Iterator[tuple[str, Any]]:
    places = {"uri": labels, "querystring": arguments, "header": request.headers}
    in_body: dict[str, Shape] = {}
    for name, shape in _members(model.input_shape).items():
        where = shape.serialization.get("location")
        told = shape.serialization.get("name", name)
        if where is None:
            in_body[name] = shape
        elif (key := told.lower() if where == "header" else told) in places.get(where, {}):
            yield name, places[where][key]
    payload = model.input_shape.serialization.get("payload") if model.input_shape else None
    members = _members(in_body[payload]) if payload in in_body else in_body
    if model.has_streaming_input or not request.body or not members:
        return
    read = _of_json if model.service_model.protocol == "rest-json" else _of_xml
    with suppress(ValueError, ParseError):  # the service says what is wrong with it
        sent = read(members, request.body)
        yield from ([(payload, sent)] if payload in in_body else sent.items())


def _of_json(members: Mapping[str, Shape], body: bytes) -> dict[str, Any]:
    sent = json.loads(body)
    if not isinstance(sent, dict):
        return {}
    return {name: sent[told] for name, shape in members.items() if (told := _told(name, shape)) in sent}


def _of_xml(members: Mapping[str, Shape], body: bytes) -> dict[str, Any]:
    return _of_nodes(members, fromstring(body))  # noqa: S314 of a client with a key of this run, on this machine


def _of_nodes(members: Mapping[str, Shape], node: Element) -> dict[str, Any]:
    found = {}
    for name, shape in members.items():
        if named := [each for each in node if each.tag.rpartition("}")[2] == _told(name, shape)]:
            found[name] = _of_list(shape, named) if isinstance(shape, ListShape) else _of_node(shape, named[0])
    return found


def _of_node(shape: Shape, node: Element) -> Any:
    return _of_nodes(shape.members, node) if isinstance(shape, StructureShape) else node.text or ""


def _of_list(shape: ListShape, nodes: list[Element]) -> list[Any]:
    """Each member has the list's own name, or all are in one node of it."""
    return [_of_node(shape.member, each) for each in (nodes if shape.serialization.get("flattened") else nodes[0])]


def _told(name: str, shape: Shape) -> str:
    return str(shape.serialization.get("name", name))
