"""Words of the glossary are links where a page first uses them."""

from __future__ import annotations

import re
from collections.abc import Iterator

WORDS = {
    "owner": r"owners?",
    "fence": r"fenc(?:e|es|ed)",
    "lease": r"leases?",
    "sweep": r"sweeps?",
    "quarantine": r"quarantin(?:e|es|ed)",
}
"""What a page must not use before it links it: the heading in the glossary, and the forms of the word."""

_ASIDE = re.compile(
    r"^( *)```.*?^\1```|^#.*?$|`[^`\n]+`|<[^>]*>|!\[[^\]]*\]\([^)]*\)|\[[^\[\]]*\]\([^)\s]*\)", re.DOTALL | re.MULTILINE
)
"""Code, headings, HTML, pictures and links: no place for a link."""


def unlinked(markdown: str) -> Iterator[tuple[str, int, int]]:
    """The heading of each word whose first use is no link, and where that is."""
    plain = _ASIDE.sub(lambda aside: " " * len(aside[0]), markdown)
    for heading, forms in WORDS.items():
        used = re.search(rf"(?<![\w-]){forms}(?![\w-])", plain, re.IGNORECASE)
        link = re.search(rf"\]\([\w/]*glossary\.md#{heading}\)", markdown)
        if used and (link is None or link.start() > used.start()):
            yield heading, used.start(), used.end()


def linked(markdown: str) -> str:
    """The page, with the links that it lacks."""
    for heading, start, end in sorted(unlinked(markdown), key=lambda each: -each[1]):
        markdown = f"{markdown[:start]}[{markdown[start:end]}](glossary.md#{heading}){markdown[end:]}"
    return markdown
