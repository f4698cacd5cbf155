"""The official ``kaggle`` package, held at arm's length: imported late, silent, with time-outs and clear "
  "errors."""

import contextlib
import io
import os
import re
import sys
import tempfile
import threading
import time
from functools import cached_property

import requests

from evaluation.errors import InputError
from kit.kaggle import credentials
from kit.kaggle.errors import explain, pause_before, status_of

COMPETITION = "predict-ai-model-runtime"
_NOISY = ("KAGGLE_API_TOKEN", "KAGGLE_API_V1_TOKEN", "VERBOSE", "VERBOSE_OUTPUT")


def competition_slug(text):
    """The competition's name from a name or an address.

    Raises
    ------
    InputError
        Where it is neither; Kaggle itself would answer 403 to that, which says nothing.
    """
    match = re.fullmatch(r"(?:(?:https?://)?(?:www\.)?kaggle\.com/(?:competitions|c)/)?([a-z0-9][a-z0-9-]*)(?:[/?#].*)?",
                         text.strip())
    if not match:
        raise InputError(f"{text!r} is no competition's name; give the last part of its address, "
                         f"as in https://www.kaggle.com/competitions/{COMPETITION}")
    return match[1]


@contextlib.contextmanager
def _environment(changes):
    """The process's environment with `changes` (None removes), put back afterwards."""
    before = {name: os.environ.get(name) for name in changes}
    try:
        _set(changes)
        yield
    finally:
        _set(before)


def _set(values):
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextlib.contextmanager
def _contained():
    """Neither output nor input for whatever the package does; it prints help and closes standard input."""
    stdin, sys.stdin = sys.stdin, io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        sys.stdin = stdin


def load_package():
    """Import ``kaggle`` without what its import does besides.

    Importing it authenticates: it makes a network call without a time-out where a token is about, prints help
    and closes standard input where nothing is, and makes a configuration folder. With a stand-in key
    and an empty home for the moment of the import none of that happens. ``VERBOSE``
    would make it print every request with its Authorization header, so it does not get to see it.

    Returns
    -------
    type
        ``kaggle.api.kaggle_api_extended.KaggleApi``.

    Raises
    ------
    InputError
        Where it is not installed or too old.
    """
    folder = credentials.config_folder()
    with tempfile.TemporaryDirectory() as empty:
        quiet = {**dict.fromkeys(_NOISY), "KAGGLE_USERNAME": "nobody", "KAGGLE_KEY": "none", "HOME": empty,
                 "USERPROFILE": empty, "KAGGLE_CONFIG_DIR": str(folder if folder.is_dir() else empty)}
        try:
            with _environment(quiet), _contained():
                from kaggle.api.kaggle_api_extended import KaggleApi
        except ImportError as error:
            raise InputError(f"the kaggle package cannot be imported ({error}); install it: "
                             "python -m pip install 'kaggle>=2.2.5' six") from error
    if not hasattr(KaggleApi, "build_kaggle_client"):
        raise InputError("the kaggle package is too old; bring it up to date: python -m pip install --upgrade kaggle")
    return KaggleApi


class Kaggle:
    """One competition on Kaggle, through the official client.

    Parameters
    ----------
    slug : str
        The competition's name, or its address.
    timeout : float
        Seconds after which a call without an answer is given up; the package itself waits for ever.
    retries : int
        Attempts after a failed one, for calls that may be repeated.
    warn : callable
        Gets sentences for the user.

    Raises
    ------
    InputError
        From every method, with the next step; never an exception of requests or of the package.
    """

    def __init__(self, slug=COMPETITION, *, timeout=60.0, retries=4, warn=lambda text: None):
        self.slug = competition_slug(slug)
        self.timeout, self.retries, self.warn = timeout, retries, warn
        self.credentials = credentials.find(warn)

    @cached_property
    def _api(self):
        api = load_package()()
        self._call("checking the credentials", self._authenticate, api)
        method = str(api.get_config_value("auth_method"))
        expected = {"token": "ACCESS_TOKEN", "key": "LEGACY_API_KEY", "oauth": "OAUTH"}[self.credentials.kind]
        if not method.endswith(expected):
            # The package would go on to the next credentials, and its HTTP layer still send the dead token.
            raise self._refused()
        return api

    def _authenticate(self, api):
        try:
            api.authenticate()
        except SystemExit:
            raise self._refused() from None

    def _refused(self):
        return InputError(f"Kaggle does not accept the credentials from {self.credentials.source}: expired, revoked or "
                          f"cut short when copied. Make new ones at {credentials.SETTINGS_PAGE} -> API (or: kaggle "
                          "auth login) and put them in the same place.")

    def explain(self, error, what):
        """`InputError` for whatever went wrong while doing `what`; see `kit.kaggle.errors.explain`."""
        return explain(error, slug=self.slug, what=what, source=self.credentials.source,
                       secrets=self.credentials.secrets)

    def _call(self, what, function, *arguments, repeatable=True):
        """Call into the package: contained, within the time-out, repeated with back-off where that may help."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._bounded(function, *arguments)
            except InputError:
                raise
            except Exception as error:  # the package raises whatever it likes, bare Exception included
                pause = pause_before(error, attempt)
                safe = isinstance(error, requests.RequestException) and (repeatable or status_of(error) == 429)
                if not safe or pause is None or attempt > self.retries:
                    raise self.explain(error, what) from None
                self.warn(f"no success yet while {what}; next attempt in {pause:.1f} s")
                time.sleep(pause)

    def _bounded(self, function, *arguments):
        """Run `function` in a thread that is left behind when it does not answer in time."""
        result = {}

        def work():
            try:
                result["value"] = function(*arguments)
            except BaseException as error:
                result["error"] = error

        thread = threading.Thread(target=work, daemon=True)
        with _contained():
            thread.start()
            thread.join(self.timeout)
        if thread.is_alive():
            raise requests.exceptions.ReadTimeout(f"no answer within {self.timeout:g} s")
        if "error" in result:
            raise result["error"]
        return result["value"]

    def _request(self, what, method, kind, *, repeatable=True, none_if=None, **fields):
        """One call of the competition service: `kind` names the request's class, `fields` are set on it."""
        from kagglesdk.competitions.types import competition_api_service as types

        api = self._api
        request = getattr(types, kind)()
        for name, value in fields.items():
            setattr(request, name, value)

        def send():
            with api.build_kaggle_client() as client:
                try:
                    return getattr(client.competitions.competition_api_client, method)(request)
                except requests.HTTPError as error:
                    if none_if is None or status_of(error) != none_if:
                        raise
                    return None

        return self._call(what, send, repeatable=repeatable)

    def archive(self):
        """Response to the request for the whole archive: its address, length and validator; the body unread."""
        response = self._request("asking for the archive", "download_data_files", "ApiDownloadDataFilesRequest",
                                 competition_name=self.slug)
        response.close()
        return response

    def limits(self):
        """Submissions made today and in total, and how many are allowed now."""
        return self._request("asking for the daily allowance", "get_submission_limits",
                             "ApiGetSubmissionLimitsRequest", competition_name=self.slug)

    def submissions(self, count=20):
        """The latest submissions, newest first."""
        return self._request("listing submissions", "list_submissions", "ApiListSubmissionsRequest",
                             competition_name=self.slug, page_size=count).submissions

    def submission(self, ref):
        """One submission with its status and scores, or None where Kaggle does not know it (yet)."""
        return self._request("asking for the score", "get_submission", "ApiGetSubmissionRequest", ref=int(ref),
                             none_if=404)

    def start_upload(self, name, size, modified):
        """Where to upload a submission of `size` bytes to, and the token that stands for it afterwards."""
        return self._request("announcing the upload", "start_submission_upload", "ApiStartSubmissionUploadRequest",
                             competition_name=self.slug, file_name=name, content_length=size,
                             last_modified_epoch_seconds=int(modified))

    def create_submission(self, token, message):
        """Make an uploaded file a submission. Never repeated blindly: each costs one of the day's allowance."""
        return self._request("submitting the uploaded file", "create_submission", "ApiCreateSubmissionRequest",
                             repeatable=False, competition_name=self.slug, blob_file_tokens=token,
                             submission_description=message)

    def leaderboard_scores(self, pages=20):
        """Scores on the competition's leaderboard, best first."""
        scores, token = [], ""
        for _ in range(pages):
            answer = self._request("reading the leaderboard", "get_leaderboard", "ApiGetLeaderboardRequest",
                                   competition_name=self.slug, page_size=200, page_token=token)
            scores += [float(row.score) for row in answer.submissions if row.score]
            token = answer.next_page_token
            if not token:
                break
        return scores

