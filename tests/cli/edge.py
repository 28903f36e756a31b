"""Between a command and moto: answers are changed, given, or kept from one test to the next."""

from __future__ import annotations

import pickle
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
        self.touched: set[str] = set()
        """Services whose answers are not kept, for a test may have changed what they have."""
        self.keeps = False
        """Whether any answer is kept, and given again."""
        self._stack_id = ""
        self._kept: dict[Any, bytes] = {}
        self._kept_of: object = None

    def forget(self) -> None:
        for each in (self.changes, self.replies, self.rewrites, self.asked, self.touched):
            each.clear()
        self.keeps = False

    def keep_answers(self, deployed: object, stack_id: str) -> None:
        """From now on, and those of earlier tests for as long as the same is deployed."""
        if self._kept_of is not deployed:
            self._kept, self._kept_of = {}, deployed
        self.keeps, self._stack_id = True, stack_id

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
        service = model.service_model.service_name
        if self.keeps and service not in self.touched:
            given = (params["url_path"], params["query_string"], params["body"])
            context[ASKED] = (self._stack_id, service, model.name, repr(given))
            if context[ASKED] in self._kept:
                status, answer = pickle.loads(self._kept[context[ASKED]])
                return AWSResponse("http://edge", status, {}, None), answer
        return None

    def _after(self, http_response: Any, model: Any, parsed: Any, context: dict[str, Any], **_: Any) -> None:
        if ASKED in context and context[ASKED] not in self._kept:
            self._kept[context[ASKED]] = pickle.dumps((http_response.status_code, parsed))
        if "Error" not in parsed:
            for how in self.changes.get(model.name, ()):
                how(parsed)
