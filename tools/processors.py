"""Run the tests as on other machines: ``python tools/processors.py [--only NAME …] [pytest's arguments]``.

Each configuration names instructions for PyTorch, NumPy and their linear algebra, a locale, a time zone, what runs
encoders, an order of the tests, and who runs them on how many cores; together they cover all of these. What this
machine cannot do is left out and named; ONNX Runtime chooses its instructions by itself and cannot be told otherwise.
Ends with a table of counts, and with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOBODY = 65534
KERNELS = {"default": ("Prescott", "SSE4_2", "SSE41"), "avx2": ("Haswell", "AVX2", "AVX2")}
KERNELS["avx512"] = ("SkylakeX", "AVX512", "AVX512_CORE")
# What NumPy may choose at run time on a processor that has AVX2 and no more, by its names of all versions.
UP_TO_AVX2 = {
    "SSE3",
    "SSSE3",
    "SSE41",
    "POPCNT",
    "SSE42",
    "AVX",
    "F16C",
    "FMA3",
    "FMA4",
    "XOP",
    "AVX2",
    "X86_V2",
    "X86_V3",
}


@dataclass(frozen=True)
class Configuration:
    """One way to run the tests.

    Attributes:
        name: for the table and ``--only``.
        kernels: instructions of PyTorch (``ATEN_CPU_CAPABILITY``), and of OpenBLAS, MKL, oneDNN and NumPy's own
            loops of the same age.
        options: of pytest, see tests/conftest.py.
        environment: further variables.
        one_core: whether to run on one core.
        ordinary: whether to run as an ordinary user, if we are root.
    """

    name: str
    kernels: str
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    one_core: bool = False
    ordinary: bool = False


CONFIGURATIONS = (
    Configuration("avx2", "avx2"),
    Configuration("oldest", "default", ("--shuffle=1", "--ulps=3"), (("LC_ALL", "C"), ("LANG", "C"))),
    Configuration("one-core", "avx2", ("--backend=onnx",), (("TZ", "Pacific/Kiritimati"),), one_core=True),
    Configuration(
        "torch", "avx512", ("--shuffle=2", "--backend=torch", "--hypothesis-profile=new"), (("TZ", "America/St_Johns"),)
    ),
    Configuration("ordinary-user", "avx2", ("--shuffle=3",), (("LC_ALL", "C"),), ordinary=True),
)


@dataclass
class Outcome:
    """Counts of one configuration, or why it was not run."""

    name: str
    done: str
    left_out: list[str]
    seconds: float = 0.0
    failed: bool = False


def variables(kernels: str, left_out: list[str]) -> dict[str, str]:
    """Return the environment that restricts instructions, without what this machine does not have."""
    blas, mkl, dnn = KERNELS[kernels]
    wanted = {"ATEN_CPU_CAPABILITY": kernels, "OPENBLAS_CORETYPE": blas}
    probe = (
        "import numpy, torch, threadpoolctl\n"
        "print(torch.backends.cpu.get_cpu_capability().lower())\n"
        "print(*(one.get('architecture', '') for one in threadpoolctl.threadpool_info()))\n"
        "from numpy._core import _multiarray_umath as umath\n"
        "print(*(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], env={**os.environ, **wanted}, capture_output=True, text=True, check=True
    )
    capability, architectures, numpy = done.stdout.splitlines()[:3]
    if capability != kernels:
        left_out.append(f"ATEN_CPU_CAPABILITY={kernels} (PyTorch uses {capability})")
        del wanted["ATEN_CPU_CAPABILITY"]
    else:
        wanted |= {"MKL_ENABLE_INSTRUCTIONS": mkl, "ONEDNN_MAX_CPU_ISA": dnn}
    # OpenBLAS has one set of kernels for the oldest processors, which goes by the name of the first.
    if not {blas.lower(), *["katmai"] * (blas == "Prescott")} & {*architectures.lower().split()}:
        left_out.append(f"OPENBLAS_CORETYPE={blas} (NumPy uses {architectures.strip() or 'another library'})")
        del wanted["OPENBLAS_CORETYPE"]
    kept = {"default": set(), "avx2": UP_TO_AVX2}.get(kernels)
    if kept is not None and platform.machine().lower() in ("x86_64", "amd64"):
        wanted["NPY_DISABLE_CPU_FEATURES"] = " ".join(name for name in numpy.split() if name not in kept)
    return wanted


@contextmanager
def readable(ordinary: bool, left_out: list[str]) -> Iterator[tuple[list[str], Path, dict[str, str]]]:
    """Lend command, checkout and variables with which this environment's Python runs, as an ordinary user if asked to.

    Root's own Python may lie where nobody else can look: it is copied, and an environment made of the same packages.
    """
    setpriv = shutil.which("setpriv")
    if not ordinary or os.geteuid() != 0 or setpriv is None:
        if ordinary and os.geteuid() == 0:
            left_out.append("an ordinary user (no setpriv here)")
        yield [sys.executable], ROOT, {}
        return
    with tempfile.TemporaryDirectory(prefix="bsx-user-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        checkout, python, home = folder / "checkout", folder / "python", folder / "home"
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for line in filter(None, listed.stdout.decode().split("\0")):
            if os.path.lexists(ROOT / line):
                (checkout / line).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / line, checkout / line, follow_symlinks=False)
        subprocess.run(["git", "init", "--quiet", str(checkout)], check=True)
        subprocess.run(["git", "-C", str(checkout), "add", "--all"], check=True)
        if (shared := ROOT.parent / "shared").is_dir():
            (folder / "shared").symlink_to(shared)
        base, packages = Path(sys.base_prefix), Path(sys.prefix) / "lib"
        # Libraries and headers, but no packages: the environment has them.
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        for part in ("bin", "include", "lib"):
            shutil.copytree(
                base / part, python / part, symlinks=True, ignore=shutil.ignore_patterns("site-packages", "test", "*.a")
            )
        own = folder / "environment"
        (own / "bin").mkdir(parents=True)
        (own / "pyvenv.cfg").write_text(f"home = {python / 'bin'}\ninclude-system-site-packages = false\n")
        (own / "lib").symlink_to(packages)
        for script in (Path(sys.prefix) / "bin").iterdir():
            if script.name.startswith("python"):
                (own / "bin" / script.name).symlink_to(python / "bin" / version)
            elif script.is_file():
                content = script.read_bytes()
                if content.startswith(b"#!"):
                    content = re.sub(rb"^#!.*python[\d.]*", f"#!{own / 'bin' / 'python'}".encode(), content)
                (own / "bin" / script.name).write_bytes(content)
                (own / "bin" / script.name).chmod(0o755)
        home.mkdir()
        for path in (checkout, home):
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(path)], check=True)
        user = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        command = [*user, str(own / "bin" / "python")]
        variables = {"HOME": str(home), "PYTHONPATH": str(checkout), "PATH": f"{own / 'bin'}:{os.environ['PATH']}"}
        variables |= {
            "LD_LIBRARY_PATH": str(python / "lib"),
            "TMPDIR": str(home),
            "USER": "nobody",
            "LOGNAME": "nobody",
        }
        tried = subprocess.run(
            [*command, "-c", "import torch, pytest, bsx"], env={**os.environ, **variables}, cwd=checkout, check=False
        )
        if tried.returncode:
            left_out.append("an ordinary user (who cannot read this environment)")
            yield [sys.executable], ROOT, {}
            return
        yield command, checkout, variables


def run(configuration: Configuration, jobs: str, arguments: list[str]) -> Outcome:
    """Run the tests in one configuration, and show what they print."""
    left_out: list[str] = []
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables(configuration.kernels, left_out)}
    environment |= dict(configuration.environment)
    with tempfile.TemporaryDirectory() as log, readable(configuration.ordinary, left_out) as (command, where, more):
        environment |= more
        prefix: list[str] = []
        if configuration.one_core:
            jobs = "0"
            if (taskset := shutil.which("taskset")) is not None:
                prefix = [taskset, "--cpu-list", str(min(os.sched_getaffinity(0)))]
            else:
                left_out.append("one core (no taskset here)")
        options = ["-m", "pytest", "-q", "-n", jobs, "-m", "not slow and not hub", "-p", "no:cacheprovider"]
        words = [*prefix, *command, *options, *configuration.options, *arguments]
        chosen = [
            f"{name}={environment[name]}"
            for name in ("ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")
            if name in environment
        ]
        print(f"== {configuration.name}: {' '.join([*chosen, *map('='.join, configuration.environment)])}", flush=True)
        began = time.monotonic()
        output = Path(log) / "output"
        with output.open("wb") as stream:
            status = subprocess.run(
                words, cwd=where, env=environment, stdout=stream, stderr=stream, check=False
            ).returncode
        text = output.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    counts = [line.strip("= ") for line in lines if re.search(r"\d+ (passed|failed|error|skipped).* in [\d.]+s", line)]
    if status:
        start = next((i for i, line in enumerate(lines) if "= FAILURES =" in line or "= ERRORS =" in line), -200)
        print("\n".join(lines[start:]), flush=True)
    done = re.sub(r" in [\d.]+s.*", "", counts[-1]) if counts else f"no counts, exit status {status}"
    return Outcome(configuration.name, done, left_out, time.monotonic() - began, status != 0)


def main(arguments: list[str]) -> int:
    """Run what was asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[one.name for one in CONFIGURATIONS])
    parser.add_argument("-n", dest="jobs", default="auto", help="processes, as for pytest")
    given, rest = parser.parse_known_args(arguments)
    names = given.only or [one.name for one in CONFIGURATIONS]
    found = [run(one, given.jobs, rest) for one in CONFIGURATIONS if one.name in names]
    width = max(len(one.name) for one in found)
    for one in found:
        kind = next(each for each in CONFIGURATIONS if each.name == one.name)
        ways = [kind.kernels, KERNELS[kind.kernels][0], *kind.options, *map("=".join, kind.environment)]
        ways += ["one core"] * kind.one_core + ["ordinary user"] * kind.ordinary
        missing = f"; left out: {', '.join(one.left_out)}" if one.left_out else ""
        print(f"{one.name:<{width}}  {one.done}, {one.seconds / 60:.1f} min ({', '.join(ways)}{missing})")
    return int(any(one.failed for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
