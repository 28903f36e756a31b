"""What functions write is in the tables as it was written."""

from __future__ import annotations

from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.plugin import RunMatrix

REQUEST = {"operation": "seals", "idempotencyKey": "k", "payload": {}}
SEAL, SEALS = b"\x00\xff", {b"\x00", b"\xfe"}


def test_binary_values_of_every_kind_of_write_are_kept(application: TestCloud) -> None:
    ended = application.run(REQUEST)
    assert ended.status == "SUCCEEDED", ended.why
    assert ended.output["result"] == f'"{SEAL.hex()}"'
    notes, stock = application.rows("Notes"), application.rows("StockTable")
    assert [each.get("seals") for each in notes if each["note"] == "put_once"] == [SEALS]
    assert [each["inside"] for each in notes if "inside" in each] == [[{"seal": SEAL}]]
    assert {each["sku"]: (each["seal"], each.get("seals")) for each in stock} == {
        "apply_once": (SEAL, None),
        "step": (SEAL, SEALS),
    }
    [order] = application.rows("OrdersTable")
    assert (order["seal"], order["seals"]) == (SEAL, SEALS)
    assert {type(each["seal"]) for each in (*notes, *stock, order)} == {bytes}


def test_the_matrix_takes_binary_values(application: TestCloud, once_matrix: RunMatrix) -> None:
    once_matrix(REQUEST)
