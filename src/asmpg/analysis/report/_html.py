"""Small pieces of HTML, with everything escaped."""

import base64
import html
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def text(value: object) -> str:
    """`value` as it stands, whatever characters it has."""
    return html.escape(str(value))


def picture(path: Path, narrow: Path, alternative: str) -> str:
    """The picture, embedded in the page; `narrow` is the one for narrow screens."""
    return (
        f'<picture><source media="(max-width: 40rem)" srcset="{_svg(narrow)}">'
        f'<img alt="{text(alternative)}" src="{_svg(path)}"></picture>'
    )


def _svg(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


def definitions(items: Mapping[str, object]) -> str:
    """Names and their values."""
    rows = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in items.items())
    return f"<dl>{rows}</dl>"


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, name: str) -> str:
    """A table whose headings sort it; a cell is text, a number, or (text, number to sort by)."""
    head = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{text(heading)}</button></th>'
        for heading in headings
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="sortable" id="{text(name)}"><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _cell(cell: Any) -> str:
    if isinstance(cell, str):
        return f"<td>{text(cell)}</td>"
    shown, key = cell if isinstance(cell, tuple) else (cell, cell)
    key = "Infinity" if key is None or math.isinf(key) else key
    return f'<td class="number" data-key="{key}">{text(shown)}</td>'
