"""Run where the generated client is: requests an operation twice, with another payload, and asks; prints what it read.

python generated_client.py FOLDER URL TOKEN     the package `once_client` is in FOLDER
"""

from __future__ import annotations

import json
import sys

sys.path.insert(0, sys.argv[1])

from once_client import AuthenticatedClient  # type: ignore[import-not-found]
from once_client.api.default import look_up_operation as look_up  # type: ignore[import-not-found]
from once_client.api.default import request_charge_payment as request  # type: ignore[import-not-found]
from once_client.models import (  # type: ignore[import-not-found]
    RequestChargePaymentPayloadOfChargePayment as Payload,
)


def main(url: str, token: str) -> None:
    client = AuthenticatedClient(base_url=url, token=token, prefix="", raise_on_unexpected_status=True)

    def sent(amount: int) -> object:
        body = Payload.from_dict({"orderId": "12345", "amount": amount, "currency": "EUR"})
        return request.sync_detailed("acme", client=client, body=body, idempotency_key="k")

    answers = [sent(4200), sent(4200), look_up.sync_detailed("acme", "charge-payment", "k", client=client), sent(1)]
    told = [
        {"status": each.status_code, "replayed": each.headers.get("Idempotent-Replayed"), "parsed": _plain(each.parsed)}
        for each in answers
    ]
    print(json.dumps(told))


def _plain(parsed: object) -> object:
    return parsed.to_dict() if hasattr(parsed, "to_dict") else parsed


if __name__ == "__main__":
    main(sys.argv[2], sys.argv[3])
