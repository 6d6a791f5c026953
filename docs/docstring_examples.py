"""An extension of griffe: examples in docstrings are code, not quotations."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?:>>>|\.\.\.).*)*", re.MULTILINE)


class DocstringExamples(griffe.Extension):
    """Puts fences around lines that start with `>>>`."""

    def on_object(self, *, obj: Any, **options: Any) -> None:
        """Change the docstring of one object."""
        del options
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(found: re.Match[str]) -> str:
    return f"```python\n{found.group()}\n```"
