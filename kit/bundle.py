"""The kit as a data set for notebooks on Kaggle that run without the internet, and the notebook that uses it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from evaluation.errors import InputError
from evaluation.files import atomic
from kit.kaggle import credentials

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES, FILES = ("kit", "evaluation"), ("requirements.txt", "pyproject.toml", "LICENSE", "README.md")
SLUG = "fast-or-slow-kit"
WHEELS = ("highspy",)  # what requirements.txt names and Kaggle's image lacks; only the partition track needs it
PYTHONS = ("3.11", "3.12")  # of Kaggle's image: it changes from time to time
NOTEBOOK = REPOSITORY / "notebooks" / "kaggle"
OWNER = "YOUR_USERNAME"


def bundle(out, *, user=None, wheels=WHEELS, pythons=PYTHONS, say=print):
    """Write ``OUT/dataset`` and ``OUT/notebook``, ready to be pushed to Kaggle.

    Parameters
    ----------
    out : str or Path
        A folder that is missing, empty or an earlier bundle.
    user : str, optional
        Kaggle user name; by default that of the credentials, where those name one.
    wheels : sequence of str
        Packages to bring along as wheels; none where empty, which needs no network.
    pythons : sequence of str
        Versions of Python to bring wheels for.
    say : callable
        Gets sentences for the user.

    Raises
    ------
    InputError
        Where the folder is in use, no user name is known, or wheels cannot be had.
    """
    out, user = Path(out), _user(user)
    ours = (out / "dataset" / "dataset-metadata.json").is_file()
    if out.exists() and not ours and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out}: holds something that is no bundle; choose another --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        _write_dataset(temporary / "dataset", user, wheels, pythons)
        _write_notebook(temporary / "notebook", user)
        temporary.chmod(0o755)
        shutil.rmtree(out, ignore_errors=True)
        os.replace(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    say(f"{out}: written. Next:\n  kaggle datasets create -p {out}/dataset --dir-mode zip"
        f"    (later: datasets version -p {out}/dataset --dir-mode zip -m TEXT)"
        f"\n  kaggle kernels push -p {out}/notebook")


def _user(user):
    if user is None:
        try:
            user = credentials.find().username
        except InputError:
            user = None  # a bundle can be made without any; the name is all that is wanted
    if not user or not re.fullmatch(r"[A-Za-z0-9-]+", user):
        raise InputError("the bundle carries your Kaggle user name, and the credentials here do not tell it: "
                         "give --user NAME, the last part of your profile's address")
    return user


def _write_dataset(folder, user, wheels, pythons):
    for package in PACKAGES:
        shutil.copytree(REPOSITORY / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for name in FILES:
        if (REPOSITORY / name).is_file():
            shutil.copy(REPOSITORY / name, folder / name)
    for python in pythons if wheels else ():
        _fetch_wheels(folder / "wheels", wheels, python)
    with atomic(folder / "dataset-metadata.json") as file:
        json.dump({"title": SLUG, "id": f"{user}/{SLUG}", "licenses": [{"name": "other"}]}, file, indent=1)


def _fetch_wheels(folder, wheels, python):
    """Wheels for Kaggle's machines, whatever machine this is."""
    platforms = [part for tag in ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
                 for part in ("--platform", tag)]
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                           "--no-deps", "--only-binary", ":all:", "--python-version", python, *platforms,
                           "--dest", folder, *wheels], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"wheels of {', '.join(wheels)} for Python {python} cannot be had ({last}); check the "
                         "connection, or leave them out with --no-wheels: only the partition track needs them")


def _write_notebook(folder, user):
    """The notebook and its metadata with the user's name in them."""
    folder.mkdir()
    for path in sorted(NOTEBOOK.iterdir()):
        if path.is_file():
            with atomic(folder / path.name) as file:
                file.write(path.read_text(encoding="utf-8").replace(OWNER, user))
