"""Access keys that AssumeRole returned to a client of this run: their calls are checked against the assumed role."""

from __future__ import annotations

from oncekit.local.access_keys import Holder


def holder_of_temporary(key: str) -> Holder | None:
    """The holder of a key that AssumeRole returned; None for other keys. The role may be unknown to the template."""
    from moto.sts.models import sts_backends

    for account in list(sts_backends.values()):
        for backend in list(account.values()):
            for assumed in list(backend.assumed_roles):
                if assumed.access_key_id == key:
                    return Holder(assumed.session_name, assumed.role_arn)
    return None
