"""What the function of an operation gets as its event: the request, as the library expects it, or the payload alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_IMPORTS_ONCE = re.compile(r"^\s*(from|import)\s+once\b", re.MULTILINE)


def knows_once(properties: Mapping[str, Any], folder: Path) -> bool:
    """Whether the code of a function, by the properties of it in the template in `folder`, imports the library."""
    code = properties.get("CodeUri", properties.get("Code"))
    if not isinstance(code, str):
        return False
    files = (folder / code).rglob("*.py") if (folder / code).is_dir() else ()
    return any(_IMPORTS_ONCE.search(path.read_text(errors="replace")) for path in files)
