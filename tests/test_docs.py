"""Every Python block of the README and the docs runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_the_block_runs(block):
    exec(compile(block, "block", "exec"), {})


def test_there_are_blocks():
    assert len(BLOCKS) >= 4


def test_local_links_lead_somewhere():
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"
