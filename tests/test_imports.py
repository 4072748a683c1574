"""Packages import in one direction only, without cycles. Imports inside functions count as well."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ORDER = (
    "errors",
    "files",
    "messages",
    "config",
    "nn",
    "prior",
    "models",
    "weights",
    "examples",
    "checkpoints",
    "training",
    "frames",
    "inference",
    "plotting",
    "forecaster",
    "evaluation",
    "cli",
    "__init__",
    "__main__",
)
"""Packages and modules of fimjax. Each may import those to its left, and nothing to its right."""

FORBIDDEN = {
    "prior": {"models", "nn.classical"},
    "models": {"prior"},
    "checkpoints": {"prior"},
    "inference": {"prior", "training"},
    "frames": {"config", "nn", "prior", "models", "checkpoints", "training"},
    "plotting": {"prior", "models", "checkpoints", "training"},
    "forecaster": {"prior", "training"},
    "evaluation": {"prior", "training"},
}
"""Packages to the left that a package does without all the same."""


def modules() -> dict[str, Path]:
    """The modules of fimjax, by name."""
    found = {}
    for path in sorted((ROOT / "fimjax").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(name: str) -> set[str]:
    """All modules of fimjax that a module imports, wherever in it, type-checking imports included."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            # `from package import name` imports a module if there is one of that name.
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else str(node.module))
    return {module for module in found if module in MODULES and module != name}


def top(module: str) -> str:
    """The package of a module, or the module itself if it lies at the top."""
    return module.split(".")[1] if "." in module else "__init__"


def test_every_package_has_its_place():
    assert {top(name) for name in MODULES} <= set(ORDER)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_nothing_to_its_right(name):
    for imported in imports(name):
        assert ORDER.index(top(imported)) <= ORDER.index(top(name)), f"{name} imports {imported}"
        for forbidden in FORBIDDEN.get(top(name), ()):
            is_inside = f"{imported}.".startswith(f"fimjax.{forbidden}.")
            assert not is_inside, f"{name} imports {imported}, though {top(name)} must not know {forbidden}"


def test_no_cycles():
    graph = {name: imports(name) for name in MODULES}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            pytest.fail(" -> ".join((*path[path.index(name) :], name)))
        if name not in done:
            for imported in sorted(graph[name]):
                visit(imported, (*path, name))
            done.add(name)

    for name in MODULES:
        visit(name, ())


def test_the_walk_sees_lazy_imports():
    """The check would miss a cycle if imports inside functions did not count."""
    assert "fimjax.checkpoints.runs" in imports("fimjax.checkpoints.pretrained")


@pytest.mark.processes
def test_importing_fimjax_imports_no_heavy_package(run_python):
    heavy = ("jax", "pandas", "flax", "orbax", "matplotlib")
    code = f"import sys, fimjax; print([m for m in {heavy} if m in sys.modules])"
    assert run_python(code).strip() == "[]"


@pytest.fixture
def run_python():
    import subprocess

    def run(code: str) -> str:
        return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    return run
