"""What went wrong with Kaggle, the network or the disk, and what to do next: one paragraph each."""

import errno
import json
import re

import requests
from urllib3.exceptions import IncompleteRead, NameResolutionError, ProtocolError

from evaluation.errors import InputError
from kit.kaggle.credentials import SETTINGS_PAGE

AGAIN = "Run the same command again: it goes on where it stopped."
FULL, NO_PERMISSION = (errno.ENOSPC, errno.EDQUOT), (errno.EACCES, errno.EPERM, errno.EROFS)
LONGEST_PAUSE = 300.0  # seconds that we are willing to wait when Kaggle asks for a pause


class Unanswered(InputError):
    """A request may or may not have had its effect: no answer came, or a server failed on the way."""


class Truncated(requests.RequestException):
    """A body ended before its announced length."""


class WrongLength(requests.RequestException):
    """A server announced or sent another length than it promised before."""


_STATUS = {
    400: """\
Kaggle refused the request (400) while {what}. For submissions that means as a rule that you have not joined the
competition: press "Late Submission" on {page} once, in a browser, and accept its rules there.""",
    401: """\
Kaggle does not accept the credentials from {source} (401): expired, revoked, or replaced by a newer
token. Make a new one at {settings} -> API and put it where the old one was. While {source} holds
something, no other place is read.""",
    403: """\
Kaggle refused access to the competition {slug!r} (403) while {what}. It answers so in each of these
cases; the first is the usual one:
  - its rules are not accepted yet: open {page}/rules in a browser, logged in as the owner of the token,
    and accept them (this cannot be done through the API);
  - your phone is not verified, which the competition asks for: {settings};
  - you have not joined: "Late Submission" on {page};
  - the name is wrong: it was {slug!r}; it is the last part of the competition's address.""",
    404: """\
Kaggle knows nothing under the name {slug!r} (404) while {what}. Check the name: it is the last part of
the address https://www.kaggle.com/competitions/NAME, and --competition takes it.""",
    429: """\
Kaggle asks for a pause (429, too many requests) while {what}{pause}. Wait, then run the same command
again: it goes on where it stopped.""",
}
_SERVER = """\
Kaggle has a problem of its own ({status} while {what}), and it lasted through all attempts. Nothing is
lost. {again} Whether they know: https://status.kaggle.com"""
_OTHER_STATUS = """\
Kaggle refused a request ({status} while {what}). Check that {slug!r} is the competition you mean and
that the kaggle package is up to date: python -m pip install --upgrade kaggle"""
_STORAGE = """\
the server that holds the file refused the request ({status}) while {what}. If it is Kaggle's storage: its addresses
are valid for a limited time, so a wrong clock or a proxy that rewrites addresses can be the reason. {again}"""
_LENGTH = """\
the server's file has another length than it announced, while {what}: {error}. It was probably replaced
just now; nothing of it was put in place. {again}"""
_CUT = """\
the connection ended before everything had come, again and again, while {what}. What came is kept.
{again} If it keeps stopping at one place, try another network, or fetch the archive by browser and pass
it: --source FILE.zip"""
_NOT_KAGGLE = """\
the answer while {what} was not Kaggle's: a log-in page of the network or a proxy stands between. Open
any web page in a browser, log in to the network, and run the command again."""
_TLS = """\
no secure connection (TLS) while {what}. Usual causes: a proxy of your organisation that opens
connections (set REQUESTS_CA_BUNDLE to its certificate file), a wrong clock, or HTTPS_PROXY pointing to
something else. Nothing was sent."""
_DNS = """\
the name of the server or of the proxy cannot be resolved (DNS) while {what}: no network, or a wrong
HTTP_PROXY or HTTPS_PROXY. Check the connection. {again}"""
_TIMEOUT = """\
no answer in time while {what}. Check the connection, or allow more with --timeout SECONDS. {again}"""
_NO_CONNECTION = """\
no connection, or it broke, while {what} ({kind}): no network, a firewall, or a proxy that does not
answer. {again}"""
_PACKAGE = """\
the kaggle package failed while {what} ({kind}: {error}). Bring it up to date:
python -m pip install --upgrade kaggle; if that does not help, report this line."""
_DISK_FULL = """\
{place}the disk is full, or your quota is used up. What is there is kept: free some space, or choose
fewer collections with --collection or another disk with --data. {again}"""
_NO_PERMISSION = """\
{place}no permission to write there ({error}). Choose a folder of your own with --data, or have this one
made writable for you."""
_DISK = "{place}the file system reports: {error}. Nothing half done was put in place. {again}"


def status_of(error):
    """HTTP status behind an exception, or None; a failure code inside a 200 answer counts as that code."""
    response = getattr(error, "response", None)
    if response is None:
        return None
    if response.status_code < 400:
        try:
            return int(response.json()["code"])
        except (ValueError, KeyError, TypeError):
            return None
    return response.status_code


def pause_asked(error):
    """Seconds that ``Retry-After`` asks for, or None; dates are left to the usual back-off."""
    response = getattr(error, "response", None)
    text = response.headers.get("Retry-After", "") if response is not None else ""
    return float(text) if re.fullmatch(r"\d{1,7}", text) else None


def pause_before(error, attempt):
    """Seconds to wait before the next attempt, or None where another attempt is pointless.

    Parameters
    ----------
    error : Exception
        From requests.
    attempt : int
        How many attempts in a row have failed, from 1.
    """
    status = status_of(error)
    if isinstance(error, (requests.exceptions.SSLError, requests.exceptions.InvalidURL)):
        return None
    if status is not None and status not in (408, 429) and status < 500:
        return None
    asked = pause_asked(error)
    if asked is not None:
        return asked if asked <= LONGEST_PAUSE else None
    return min(60.0, 0.5 * 2 ** (attempt - 1))


def redact(text, secrets=()):
    """`text` without secrets and without the query of any URL (signed URLs carry their key there)."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return re.sub(r"\?[^\s'\")>]+", "?***", text)


def explain(error, *, slug, what, source="the place where they were found", secrets=(), storage=False):
    """Turn a failure into an `InputError` that says what to do next.

    Parameters
    ----------
    error : Exception
        Of requests or of the package, or an `OSError`.
    slug : str
        The competition's name as it was used.
    what : str
        What was being done, after "while": "asking for the archive".
    source : str
        Where the credentials came from.
    secrets : sequence of str
        Never shown.
    storage : bool
        Whether the server is one that holds files: a refusal of its says nothing about rules or tokens.

    Returns
    -------
    InputError
        To be raised ``from None``: the text of the original exception may hold a token or a signed URL.
    """
    if isinstance(error, InputError):
        return error
    status = status_of(error)
    if status is not None:
        asked = pause_asked(error)
        template = _STATUS.get(status) or (_SERVER if status >= 500 else _OTHER_STATUS)
        if storage and status < 500 and status != 429:
            template = _STORAGE
        return (Unanswered if status >= 500 else InputError)(template.format(
            status=status, slug=slug, what=what, source=source, settings=SETTINGS_PAGE, again=AGAIN,
            page=f"https://www.kaggle.com/competitions/{slug}",
            pause=f", for {asked:.0f} seconds" if asked else ""))
    if isinstance(error, OSError) and not isinstance(error, requests.RequestException):
        return of_disk(error)
    network = isinstance(error, (requests.RequestException, ProtocolError, json.JSONDecodeError))
    template = _of_network(error) if network else _PACKAGE
    return (Unanswered if network else InputError)(template.format(what=what, again=AGAIN, kind=type(error).__name__,
                                                                   error=redact(str(error), secrets)[:300]))


def _causes(error):
    """The exception and everything that it was raised from or wraps."""
    seen, queue = [], [error]
    while queue:
        one = queue.pop()
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            queue += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
    return seen


def _of_network(error):
    """The paragraph for a failure without a status."""
    kinds = {type(one) for one in _causes(error)}
    if isinstance(error, WrongLength):
        return _LENGTH
    if isinstance(error, Truncated) or kinds & {IncompleteRead, requests.exceptions.ChunkedEncodingError}:
        return _CUT
    if isinstance(error, json.JSONDecodeError):
        return _NOT_KAGGLE
    if isinstance(error, requests.exceptions.SSLError):
        return _TLS
    if NameResolutionError in kinds:
        return _DNS
    return _TIMEOUT if isinstance(error, requests.exceptions.Timeout) else _NO_CONNECTION


def of_disk(error):
    """`InputError` about an `OSError` of the file system."""
    special = {**dict.fromkeys(FULL, _DISK_FULL), **dict.fromkeys(NO_PERMISSION, _NO_PERMISSION)}
    template = special.get(error.errno, _DISK)
    place = f"{error.filename}: " if getattr(error, "filename", None) else ""
    return InputError(template.format(place=place, error=error.strerror or error, again=AGAIN))
