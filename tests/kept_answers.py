"""Answers of moto that are given again, in a later test, too, for as long as the same is deployed."""

from __future__ import annotations

import pickle
from typing import Any

from botocore.awsrequest import AWSResponse
from commands import KeptSession

ASKED = "asked of the kept answers"
"""In the context of a call: the question, when its answer may be kept."""


class KeptAnswers:
    """Of one deployment. Errors are answers, too."""

    def __init__(self) -> None:
        self._kept: dict[Any, bytes] = {}
        self._deployed: object = None

    def of(self, deployed: object) -> None:
        """From now on what is asked is asked of this."""
        if self._deployed is not deployed:
            self._kept, self._deployed = {}, deployed

    def before(self, model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any) -> Any:
        """A handler of botocore's event `before-call`."""
        service, asked = model.service_model.service_name, (params["url"], params["body"])
        context[ASKED] = (service, model.name, repr(asked))
        if context[ASKED] not in self._kept:
            return None
        status, answer = pickle.loads(self._kept[context[ASKED]])
        return AWSResponse("http://kept", status, {}, None), answer

    def after(self, http_response: Any, parsed: Any, context: dict[str, Any], **_: Any) -> None:
        """A handler of `after-call`."""
        if ASKED in context and context[ASKED] not in self._kept:
            self._kept[context[ASKED]] = pickle.dumps((http_response.status_code, parsed))

    def describe_stacks(self, session: KeptSession) -> None:
        """Stand before a session where a stack is described, which each command asks for first.

        The answers of `once up` say by their dates what time it is there, and are its own.
        """
        session.events.register("before-call.cloudformation.DescribeStacks", self._unless_of_once_up)
        session.events.register("after-call.cloudformation.DescribeStacks", self.after)

    def _unless_of_once_up(self, params: dict[str, Any], **more: Any) -> Any:
        return self.before(params=params, **more) if ".amazonaws.com" in params["url"] else None
