"""Who imports whom in a package, read from its source without running any of it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

#: When the module is loaded, when a function is called, for the type checker only.
When = Literal["load", "call", "types"]


@dataclass(frozen=True)
class Import:
    """`source`, in `line`, imports `target`: a module, of the package or of somebody else."""

    source: str
    target: str
    line: int
    when: When

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


@dataclass(frozen=True)
class Package:
    """The modules of the package in the folder `root`, and every import in them."""

    name: str
    modules: frozenset[str]
    packages: frozenset[str]
    imports: tuple[Import, ...]

    @staticmethod
    def read(root: Path) -> "Package":
        """Read every `.py` file below `root`."""
        files = {_module_name(root, file): file for file in sorted(root.rglob("*.py"))}
        packages = {name for name, file in files.items() if file.name == "__init__.py"}
        found = []
        for name, file in files.items():
            inside = name if name in packages else name.rpartition(".")[0]
            for node, when in _imports(ast.parse(file.read_text(), str(file)), "load"):
                for target in sorted(_targets(node, inside, {*files})):
                    found.append(Import(name, target, node.lineno, when))
        return Package(root.name, frozenset(files), frozenset(packages), tuple(found))

    def loads(self, module: str) -> set[str]:
        """Modules of the package that are loaded before `module` is: its imports, their parents.

        Its own parents are not among them: they are being loaded already.
        """
        before = _parents(module)
        found = set()
        for each in self.imports:
            if each.source == module and each.when == "load" and each.target in self.modules:
                found |= {each.target, *(_parents(each.target) - before)}
        return found - {module}

    def cycles(self) -> list[list[str]]:
        """Modules that need each other to be loaded first, as closed walks."""
        found, done = [], set()

        def visit(module: str, walk: list[str]) -> None:
            if module in walk:
                found.append([*walk[walk.index(module) :], module])
            elif module not in done:
                for target in sorted(self.loads(module)):
                    visit(target, [*walk, module])
                done.add(module)

        for module in sorted(self.modules):
            visit(module, [])
        return found


def within(name: str, prefix: str) -> bool:
    """Whether `name` is `prefix`, or something inside it."""
    return name == prefix or name.startswith(prefix + ".")


def _module_name(root: Path, file: Path) -> str:
    parts = file.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _parents(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


def _imports(node: ast.AST, when: When) -> Iterator[tuple[ast.Import | ast.ImportFrom, When]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, when
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _imports(child, "call")
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for inner in child.body:
                yield from _imports(ast.Module([inner], []), "types")
            yield from _imports(ast.Module(child.orelse, []), when)
        else:
            yield from _imports(child, when)


def _targets(node: ast.Import | ast.ImportFrom, inside: str, modules: set[str]) -> set[str]:
    """The modules a statement imports: `from a import b` is `a.b` where that is a module."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    base = node.module or ""
    if node.level:
        parts = inside.split(".")
        above = ".".join(parts[: len(parts) - node.level + 1])
        base = f"{above}.{base}" if base else above
    names = (f"{base}.{alias.name}" for alias in node.names)
    return {name if name in modules else base for name in names}
