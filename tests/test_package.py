"""The package itself: its public names, and what importing it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import vsacli


def test_the_package_is_light_until_something_is_used():
    code = """
import sys, vsacli
heavy = {"torch", "sklearn", "pandas", "pyarrow", "numpy"} & set(sys.modules)
assert not heavy, heavy
assert set(vsacli.__all__) <= set(dir(vsacli))
assert issubclass(vsacli.VsaError, Exception)
from vsacli import VSAClassifier, load_checkpoint
assert not {"torch"} & set(sys.modules)
try:
    vsacli.nothing
except AttributeError as e:
    print(e)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == "module 'vsacli' has no attribute 'nothing'"


def test_the_help_of_every_command_is_light():
    code = """
import sys
from vsacli.cli import Commands, main
for command in Commands.registered:
    main([command, "--help"])
    heavy = {"torch", "sklearn", "pandas", "pyarrow", "numpy"} & set(sys.modules)
    assert not heavy, (command, heavy)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("Usage: vsa ") >= 5


def test_star_import_has_the_public_names():
    import vsacli

    assert {name for name in vsacli.__all__ if not hasattr(vsacli, name)} == set()


def test_no_function_has_more_than_eight_parameters():
    """But for the commands, whose parameters are the options of the command line."""
    from vsacli.cli import Commands

    commands = {(module, name) for module, name, _ in Commands.registered.values()}
    found, seen = [], 0
    root = Path(vsacli.__file__).parent
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and (module, node.name) not in commands:
                a = node.args
                names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p is not None]
                if len(names) - (names[:1] in (["self"], ["cls"])) > 8:
                    found.append(f"{module}.{node.name}")
                seen += 1
    assert seen > 1000
    assert found == []
