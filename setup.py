"""Three folders side by side as one package, whether or not bsx/ has its links; all else is in pyproject.toml."""

from setuptools import find_packages, setup

FOLDERS = {"bsx": "bsx", "bsx.analysis": "analysis", "bsx.registry": "registry"}

setup(
    package_dir=FOLDERS,
    # A set, since the links lead find_packages to the same names a second time.
    packages=sorted(
        {f"{root}.{below}".rstrip(".") for root in FOLDERS for below in ("", *find_packages(FOLDERS[root]))}
    ),
)
