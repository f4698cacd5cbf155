"""Which Kaggle credentials are there, in the order in which the official client looks for them."""

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from evaluation.errors import InputError

SETTINGS_PAGE = "https://www.kaggle.com/settings"

NONE_FOUND = f"""no Kaggle credentials found. Any one of these three will do:
  1. a token: {SETTINGS_PAGE} -> API -> "Generate New Token"; save it to ~/.kaggle/access_token
     (chmod 600), or set KAGGLE_API_TOKEN to it;
  2. a key: the same page -> "Create Legacy API Key" gives kaggle.json; move it to {{folder}} (chmod 600),
     or set KAGGLE_USERNAME and KAGGLE_KEY;
  3. a log-in by browser: kaggle auth login"""


@dataclass(frozen=True)
class Credentials:
    """What the client will send.

    Attributes
    ----------
    kind : {"token", "key", "oauth"}
    source : str
        Where they were found, for messages.
    secrets : tuple of str
        Texts that must never be shown.
    username : str or None
        Where it is known without asking Kaggle.
    """

    kind: str
    source: str
    secrets: tuple = ()
    username: str | None = None

    def __repr__(self):
        """Never shows the secrets, whatever prints the object."""
        return f"Credentials(kind={self.kind!r}, source={self.source!r})"


def config_folder():
    """Folder of ``kaggle.json``, as the client chooses it: KAGGLE_CONFIG_DIR, ~/.kaggle, or XDG's."""
    if os.environ.get("KAGGLE_CONFIG_DIR"):
        return Path(os.environ["KAGGLE_CONFIG_DIR"])
    folder = Path.home() / ".kaggle"
    if os.name == "posix" and not folder.exists() and os.uname().sysname == "Linux":
        return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "kaggle"
    return folder


def find(warn=lambda text: None):
    """Find the credentials that the client will use.

    Parameters
    ----------
    warn : callable, optional
        Called with a sentence about what is odd yet works (a file that others can read).

    Returns
    -------
    Credentials

    Raises
    ------
    InputError
        Where there are none, or the first ones found cannot work; the message says how to get some.
    """
    return _token(warn) or _key(warn) or _oauth(warn) or _none()


def _none():
    raise InputError(NONE_FOUND.format(folder=config_folder()))


def _token_places():
    """(where, path or None, value or None) of each place where the client looks for a token."""
    if os.environ.get("KAGGLE_KERNEL_RUN_TYPE") and os.environ.get("KAGGLE_DATA_PROXY_URL"):
        yield "the notebook's own token", os.environ.get("KAGGLE_API_V1_TOKEN"), None
    value = os.environ.get("KAGGLE_API_TOKEN")
    if value and Path(value).exists():
        yield "the file that KAGGLE_API_TOKEN names", value, None
    elif value:
        yield "KAGGLE_API_TOKEN", None, value
    for name in ("access_token", "access_token.txt"):
        path = Path.home() / ".kaggle" / name
        yield str(path), path, None


def _token(warn):
    for source, path, value in _token_places():
        if path is not None and Path(path).exists():
            value = _read(Path(path), warn).strip()
        if value:
            _check_sendable(value, source)
            return Credentials("token", source, (value,))
    return None


def _key(warn):
    """KAGGLE_USERNAME and KAGGLE_KEY win over kaggle.json one by one, as in the client."""
    file = config_folder() / "kaggle.json"
    environment = {name: os.environ.get(f"KAGGLE_{name.upper()}") for name in ("username", "key")}
    record = {} if all(environment.values()) or not file.exists() else _read_json(file, warn)
    username, key = (environment[name] or record.get(name) for name in ("username", "key"))
    if not (username and key):
        if record:
            raise InputError(f'{file}: holds no "username" and "key"; fetch it again: {SETTINGS_PAGE} -> API')
        return None
    source = "KAGGLE_KEY" if environment["key"] else str(file)
    _check_sendable(key, source)
    if key.startswith("KGAT_"):
        raise InputError(f"{source}: the key begins with KGAT_, so it is a token of the new kind, which does not "
                         "work there. Save it, alone on one line, to ~/.kaggle/access_token (chmod 600) or set "
                         "KAGGLE_API_TOKEN to it, and take it out of where it is.")
    return Credentials("key", source, (key,), username)


def _oauth(warn):
    file = Path.home() / ".kaggle" / "credentials.json"
    if not file.exists():
        return None
    record = _read_json(file, warn)
    secrets = tuple(str(record[name]) for name in ("refresh_token", "access_token") if record.get(name))
    if not record.get("refresh_token"):
        raise InputError(f"{file}: holds no log-in; delete it and log in again: kaggle auth login")
    return Credentials("oauth", str(file), secrets, record.get("username"))


def _check_sendable(secret, source):
    """A pasted line break or a curly quote would fail later with a message that quotes the secret."""
    if not isinstance(secret, str) or not re.fullmatch(r"[\x21-\x7e]+", secret):
        raise InputError(f"{source}: holds characters that no Kaggle token has (a space, a line break or a quote "
                         f"that was pasted with it?); copy the token again: {SETTINGS_PAGE} -> API")


def _read(path, warn):
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(f"{path}: cannot be read ({reason}); make it a file that only you can read, "
                         f"or fetch a new one: {SETTINGS_PAGE} -> API") from None
    if os.name == "posix" and mode & (stat.S_IRGRP | stat.S_IROTH):
        warn(f"warning: {path} can be read by others; mend it: chmod 600 {path}")
    return text


def _read_json(path, warn):
    try:
        record = json.loads(_read(path, warn))
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise InputError(f'{path}: is not the JSON that Kaggle gives, {{"username": ..., "key": ...}}; '
                         f"fetch it again: {SETTINGS_PAGE} -> API")
    return record
