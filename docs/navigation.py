"""A hook of MkDocs: an entry of the navigation that is a folder stands for the pages in it."""

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Write the folders out."""
    config.nav = [{title: _pages(Path(config.docs_dir), entry)} for title, entry in _pairs(config)]
    return config


def _pairs(config: Any) -> list[tuple[str, str]]:
    return [pair for entry in config.nav for pair in entry.items()]


def _pages(root: Path, entry: str) -> str | list[str]:
    if not entry.endswith("/"):
        return entry
    return sorted(str(path.relative_to(root)) for path in (root / entry).glob("*.md"))
