"""The bundle: the files that scenarios need, for nodes that share no folder with this machine."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from rehearsal.errors import SetupError

# What belongs to a checkout or to its tools, and to no scenario.
_LEFT_OUT = {"node_modules", "target", "__pycache__", "venv", "dist", "build"}
_MOST_BYTES = 64 << 20
# The same files give the same bytes.
_MOMENT = (1980, 1, 1, 0, 0, 0)


def pack(root: Path) -> bytes:
    """Packs the files of a folder; none whose name begins with a dot, and none that tools make.

    Raises:
        SetupError: There are too many of them.
    """
    packed, size = io.BytesIO(), 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(root):
            size += path.stat().st_size
            if size > _MOST_BYTES:
                raise SetupError(
                    f"the files below {root} are more than {_MOST_BYTES >> 20} MB, and all of them would be sent to "
                    "each node\n\nhint: start in the folder of the scenarios, or name it with --root"
                )
            entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), _MOMENT)
            entry.external_attr = (path.stat().st_mode & 0o777) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return packed.getvalue()


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path


def digest(packed: bytes) -> str:
    """Stands for what was packed."""
    return hashlib.sha256(packed).hexdigest()[:32]


def unpack(packed: bytes, home: Path) -> Path:
    """Unpacks a bundle below a folder, once, however many ask for it at a time; gives the folder of its files."""
    place = home / digest(packed)
    if place.is_dir():
        return place
    home.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=home))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, made))
            path.chmod(0o700 if entry.external_attr >> 16 & 0o100 else 0o600)
    try:
        made.rename(place)
    except OSError:  # somebody else was faster
        shutil.rmtree(made, ignore_errors=True)
    return place
