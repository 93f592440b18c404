"""Build the wheel and the source archive, install each where nothing of the checkout is, and run the command there.

The dependencies come from the environment that runs this, through a path file; the package itself must not.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEPENDENCIES = next(p for p in sys.path if p.endswith("site-packages"))
NEEDED = ("vsacli/py.typed", "vsacli/cli/label.py", "vsacli/_models/classification/model.safetensors")
TABLE = "x,y,label\n" + "".join(
    f"{i % 2 * 8 + i % 5},{i % 2 * -9 + i % 3},{'ab'[i % 2] if i < 6 else ''}\n" for i in range(30)
)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        build(ROOT, work / "dist", "wheel", "sdist")
        wheel, archive = next((work / "dist").glob("*.whl")), next((work / "dist").glob("*.tar.gz"))
        files = contents(wheel)
        absent = [needed for needed in NEEDED if needed not in files]
        foreign = [file for file in files if not file.startswith(("vsacli/", "vsacli-"))]
        if absent or foreign:
            sys.exit(f"{wheel.name}: lacks {absent}, has {foreign}")
        with tarfile.open(archive) as packed:
            packed.extractall(work / "source", filter="data")
        build(next((work / "source").iterdir()), work / "again", "wheel")
        rebuilt = next((work / "again").glob("*.whl"))
        differing = [file for file, digest in contents(rebuilt).items() if files.get(file) != digest]
        if differing or len(contents(rebuilt)) != len(files):
            sys.exit(f"the wheel built from {archive.name} differs: {differing[:5]}")
        for package in (wheel, rebuilt):
            try_out(package, work / package.parent.name / "environment", work)
        print(f"{wheel.name}, {archive.name}: built, installed, run")


def build(source: Path, out: Path, *targets: str) -> None:
    options = [word for target in targets for word in ("-t", target)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", out, *options], cwd=source, check=True, capture_output=True
    )


def contents(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as packed:
        return {name: hashlib.sha256(packed.read(name)).hexdigest() for name in packed.namelist()}


def try_out(package: Path, environment: Path, work: Path) -> None:
    """Install a wheel alone, and label a table in a folder where there is nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", package], check=True)
    site = next(environment.glob("lib/*/site-packages"))
    (site / "dependencies.pth").write_text(DEPENDENCIES + "\n")
    empty = work / f"run-{environment.parent.name}"
    empty.mkdir()
    (empty / "table.csv").write_text(TABLE)

    def run(*command: str | Path) -> str:
        return subprocess.run(command, cwd=empty, check=True, capture_output=True, text=True).stdout

    home = run(python, "-c", "import vsacli; print(vsacli.__file__)").strip()
    if not home.startswith(str(site)):
        sys.exit(f"{package.name}: what ran is {home}, not what was installed")
    labeled = run(environment / "bin" / "vsa", "label", "table.csv", "-t", "label", "-q").splitlines()
    wrong = [line for i, line in enumerate(labeled[1:]) if not line.endswith("," + "ab"[i % 2])]
    if len(labeled) != 31 or wrong:
        sys.exit(f"{package.name}: labeled wrongly: {wrong[:3]}")
    if "bundled" not in run(environment / "bin" / "vsa", "download", "--list"):
        sys.exit(f"{package.name}: no bundled checkpoint")


if __name__ == "__main__":
    main()
