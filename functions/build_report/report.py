"""A report whose content depends on its size only."""

import json

from once import JSON


def report(size: int) -> JSON:
    """A report whose compact JSON text has exactly `size` bytes (at least 1,024); the same size is the same report."""
    frame: dict[str, JSON] = {"bytes": size, "rows": [], "padding": ""}
    left = size - len(_text(frame))
    rows: list[JSON] = []
    while True:
        row = _row(len(rows))
        needed = len(_text(row)) + (1 if rows else 0)
        if needed > left:
            return {"bytes": size, "rows": rows, "padding": "." * left}
        rows.append(row)
        left -= needed


def _row(number: int) -> JSON:
    # Numbers of more than 15 digits and characters outside ASCII: what a careless copy would change.
    return {
        "row": number,
        "checksum": (number + 1) * 6364136223846793005 % 2**53,
        "share": 1 / (number + 3),
        "name": f"Zeile №{number}",
    }


def _text(value: JSON) -> str:
    return json.dumps(value, separators=(",", ":"))
