"""What the tests around Kaggle share: fake secrets, and archives like the competition's."""

import base64
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np

from evaluation.collections import COLLECTIONS, SPLITS
from tests.kaggle_server import SIGNATURE

TOKEN, KEY = "KGAT_fake70ken4testsonly0000000000", "fakekey4testsonly11111111111111"
REFRESH = "fakerefresh4testsonly2222222222"
SECRETS = (TOKEN, KEY, REFRESH, SIGNATURE, base64.b64encode(f"tester:{KEY}".encode()).decode())


def npz(generator, size):
    """An npz file of about `size` bytes that cannot be packed any further."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, a=generator.integers(0, 256, size, dtype=np.uint8))
    return buffer.getvalue()


def make_archive():
    """A small archive with all five collections in the layout of the competition's, about 6 MB."""
    generator = np.random.default_rng(7)
    files = {"sample_submission.csv": b"ID,TopConfigs\n" + b"tile:xla:" + b"0" * 32 + b",0;1;2;3;4\n"}
    for name, collection in COLLECTIONS.items():
        for split in SPLITS:
            for number in range(4):
                size = 2_000_000 if (name, split, number) == ("layout:nlp:random", "train", 1) else 60_000
                path = f"npz_all/npz/{collection.folder.as_posix()}/{split}/graph.{number}.npz"
                files[path] = npz(generator, size)
    return files


def zipped(files, method=zipfile.ZIP_DEFLATED):
    """A zip archive of name -> bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tree_of(folder):
    """Relative path -> bytes of every file of a data set, leaving out the kit's own records."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(Path(folder).rglob("*"))
            if path.is_file() and path.name != "download.json" and ".download" not in path.parts}


def tar_of(files):
    """A tar archive of name -> bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def npz_bytes(**arrays):
    """An npz file with these arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()
