"""Between a command and moto: answers are changed, given, or kept from one test to the next."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from botocore.awsrequest import AWSResponse
from commands import KeptSession, Sessions

ASKED = "asked of the edge"
"""In the context of a call: the question, when its answer may be kept."""


class Edge:
    """Between the command and moto: answers are changed, or given."""

    def __init__(self) -> None:
        self.sessions = Sessions(self._stand_before)
        self.changes: dict[str, list[Callable[[Any], None]]] = {}
        self.replies: dict[str, Callable[[], Any]] = {}
        self.rewrites: dict[str, tuple[str, str]] = {}
        self.asked: dict[str, str] = {}
        self.keeps = False
        """Whether the stack is as it was made, so that its answers are kept, and given again."""
        self._kept: dict[str, Any] = {}
        self._kept_of: object = None

    def forget(self) -> None:
        for each in (self.changes, self.replies, self.rewrites, self.asked):
            each.clear()
        self.keeps = False

    def keep_answers(self, deployed: object) -> None:
        """From now on, and those of earlier tests for as long as the same is deployed."""
        if self._kept_of is not deployed:
            self._kept, self._kept_of = {}, deployed
        self.keeps = True

    def _stand_before(self, session: KeptSession) -> None:
        session.events.register("before-call", self._before)
        session.events.register("after-call", self._after)

    def _before(self, model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any) -> Any:
        body = params["body"]
        asked = body.decode() if isinstance(body, bytes) else str(body)
        self.asked[model.name] = asked or f"{params['url_path']}?{params['query_string']}"
        if model.name in self.rewrites:
            old, new = self.rewrites[model.name]
            params["body"] = asked.replace(old, new).encode()
        if model.name in self.replies:
            return AWSResponse("http://edge", 200, {}, None), self.replies[model.name]()
        if self.keeps:
            context[ASKED] = repr((model.name, params["url_path"], params["query_string"], params["body"]))
            if context[ASKED] in self._kept:
                return AWSResponse("http://edge", 200, {}, None), copy.deepcopy(self._kept[context[ASKED]])
        return None

    def _after(self, model: Any, parsed: Any, context: dict[str, Any], **_: Any) -> None:
        if "Error" not in parsed:
            if ASKED in context:
                self._kept.setdefault(context[ASKED], copy.deepcopy(parsed))
            for how in self.changes.get(model.name, ()):
                how(parsed)
