"""Between a command and moto: answers are changed, given, or kept from one test to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.awsrequest import AWSResponse
from commands import KeptSession, Sessions
from kept_answers import KeptAnswers


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
        self._kept = KeptAnswers()

    def forget(self) -> None:
        for each in (self.changes, self.replies, self.rewrites, self.asked, self.touched):
            each.clear()
        self.keeps = False

    def keep_answers(self, deployed: object, stack_id: str) -> None:
        """From now on, and those of earlier tests for as long as the same is deployed."""
        self._kept.of(deployed, stack_id)
        self.keeps = True

    def _stand_before(self, session: KeptSession) -> None:
        session.events.register("before-call", self._before)
        session.events.register("after-call", self._after)

    def _before(self, model: Any, params: dict[str, Any], **more: Any) -> Any:
        body = params["body"]
        asked = body.decode() if isinstance(body, bytes) else str(body)
        self.asked[model.name] = asked or f"{params['url_path']}?{params['query_string']}"
        if model.name in self.rewrites:
            old, new = self.rewrites[model.name]
            params["body"] = asked.replace(old, new).encode()
        if model.name in self.replies:
            return AWSResponse("http://edge", 200, {}, None), self.replies[model.name]()
        if self.keeps and model.service_model.service_name not in self.touched:
            return self._kept.before(model, params, **more)
        return None

    def _after(self, model: Any, parsed: Any, **more: Any) -> None:
        self._kept.after(parsed=parsed, **more)
        if "Error" not in parsed:
            for how in self.changes.get(model.name, ()):
                how(parsed)
