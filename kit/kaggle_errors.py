"""What went wrong with Kaggle, the network or the disk, and what to do next: one paragraph each."""

import errno
import re

import requests
from urllib3.exceptions import IncompleteRead, NameResolutionError, ProtocolError

from evaluation.errors import InputError
from kit.credentials import SETTINGS_PAGE

AGAIN = "Run the same command again: it goes on where it stopped."
FULL, NO_PERMISSION = (errno.ENOSPC, errno.EDQUOT), (errno.EACCES, errno.EPERM, errno.EROFS)
TOO_LONG = 300.0  # seconds that we are willing to wait when Kaggle asks for a pause


class Truncated(requests.RequestException):
    """A body ended before its announced length."""


class WrongLength(requests.RequestException):
    """A server announced or sent another length than it promised before."""


def _forbidden(slug):
    page = f"https://www.kaggle.com/competitions/{slug}"
    return (f"Kaggle refused access to the competition {slug!r} (403). It answers so in each of these cases; the "
            f"first is the usual one:\n"
            f"  - its rules are not accepted yet: open {page}/rules in a browser, logged in as the owner of the "
            "token, and accept them (this cannot be done through the API);\n"
            f"  - your phone is not verified, which late submissions need: {SETTINGS_PAGE};\n"
            f'  - you have not joined: "Late Submission" on {page};\n'
            f"  - the name is wrong: it was {slug!r}, the last part of the competition's address, no URL.")


_STATUS = {
    401: "Kaggle does not accept the credentials from {source} (401): expired, revoked, or replaced by a newer "
         f"token. Make a new one at {SETTINGS_PAGE} -> API and put it where the old one was; other places where "
         "an "
         "old one may lie come later in the order and are not read.",
    404: "Kaggle knows nothing under the name {slug!r} (404) that fits {what}. Check the name: it is the last "
         "part "
         "of https://www.kaggle.com/competitions/NAME.",
    429: "Kaggle asks for a pause (429, too many requests) while {what}{pause}. Wait that long and " + AGAIN[0].lower()
         + AGAIN[1:],
}


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
        return asked if asked <= TOO_LONG else None
    return min(60.0, 0.5 * 2 ** (attempt - 1))


def redact(text, secrets=()):
    """`text` without secrets and without the query of any URL (signed URLs carry their key there)."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return re.sub(r"\?[^\s'\")>]+", "?***", text)


def explain(error, *, slug, what, source="the credentials found", secrets=()):
    """Turn a failure into an `InputError` that says what to do next.

    Parameters
    ----------
    error : Exception
        Of requests, or an `OSError`.
    slug : str
        The competition's name as it was used.
    what : str
        What was being done, after "while": "asking for the archive".
    source : str
        Where the credentials came from.
    secrets : sequence of str
        Never shown.

    Returns
    -------
    InputError
        With no trace of the original exception, whose text may hold a token or a signed URL.
    """
    if isinstance(error, InputError):
        return error
    status = status_of(error)
    if status is not None:
        return InputError(_of_status(status, error, slug, what, source))
    if isinstance(error, (requests.RequestException, ProtocolError)):
        return InputError(_of_network(error, what))
    if isinstance(error, OSError):
        return InputError(of_disk(error))
    text = redact(str(error), secrets)[:300]
    return InputError(f"the kaggle package failed while {what} ({type(error).__name__}: {text}). Bring it up to "
                      "date: python -m pip install --upgrade kaggle; if that does not help, report this line.")


def _of_status(status, error, slug, what, source):
    if status == 403:
        return _forbidden(slug)
    if status in _STATUS:
        asked = pause_asked(error)
        pause = f", for {asked:.0f} seconds" if asked else ""
        return _STATUS[status].format(slug=slug, what=what, source=source, pause=pause)
    if status >= 500:
        return (f"Kaggle has a problem of its own ({status} while {what}), and it lasted through all attempts. "
                f"Nothing is lost. {AGAIN} How they are: https://status.kaggle.com")
    return (f"Kaggle refused a request ({status} while {what}). Check that the competition {slug!r} is the one "
            "you "
            "mean and that the kaggle package is up to date: python -m pip install --upgrade kaggle")


def _causes(error):
    """The exception and everything that it was raised from or wraps."""
    seen = []
    queue = [error]
    while queue:
        one = queue.pop()
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            queue += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
    return seen


def _of_network(error, what):
    kinds = {type(one) for one in _causes(error)}
    if isinstance(error, WrongLength):
        return (f"the server's file has another length than it announced, while {what}: {error}. It was probably "
                f"replaced just now; nothing of it was put in place. {AGAIN}")
    if isinstance(error, Truncated) or kinds & {IncompleteRead, requests.exceptions.ChunkedEncodingError}:
        return (f"the connection ended before everything had come, again and again, while {what}. What came is "
                f"kept. {AGAIN} If it keeps stopping at one place, try another network or fetch the archive by "
                "browser and pass it with --source FILE.zip.")
    if isinstance(error, requests.exceptions.JSONDecodeError):
        return (f"the answer while {what} was no answer of Kaggle's: a log-in page of the network or a proxy "
                "stands "
                "between. Open any web page in a browser, log in to the network, and run the command again.")
    if isinstance(error, requests.exceptions.SSLError):
        return (f"no secure connection (TLS) while {what}. Usual causes: a proxy of your organisation that opens "
                "connections (set REQUESTS_CA_BUNDLE to its certificate file), a wrong clock, or a proxy setting "
                "(HTTPS_PROXY) that points to something else. Nothing was sent.")
    if NameResolutionError in kinds:
        return (f"the name of the server or of the proxy cannot be resolved (DNS) while {what}: no network, or a "
                f"wrong HTTP_PROXY or HTTPS_PROXY. Check the connection. {AGAIN}")
    if isinstance(error, requests.exceptions.Timeout):
        return (f"no answer in time while {what}. Check the connection or allow more with --timeout SECONDS. "
                f"{AGAIN}")
    return (f"no connection, or it broke, while {what} ({type(error).__name__}): no network, a firewall, or a "
            "proxy "
            f"that does not answer. {AGAIN}")


def of_disk(error):
    """One paragraph about an `OSError` of the file system."""
    place = f"{error.filename}: " if getattr(error, "filename", None) else ""
    if error.errno in FULL:
        return (f"{place}the disk is full (or your quota is used up). What is there is kept: free some space, or "
                "choose fewer collections with --collection or another disk with --data. " + AGAIN)
    if error.errno in NO_PERMISSION:
        return (f"{place}no permission to write there ({error.strerror}). Choose a folder of your own with "
                "--data, "
                "or have this one made writable for you.")
    return f"{place}the file system reports: {error.strerror or error}. Nothing half done was put in place. "
           f"{AGAIN}"
