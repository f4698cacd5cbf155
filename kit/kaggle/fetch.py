"""Reading a file over HTTP: resumable, by ranges, and never believing an answer that does not fit."""

import io
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import requests

from evaluation.errors import InputError
from kit.kaggle.errors import Truncated, WrongLength, explain, pause_before, status_of

CHUNK = 1 << 16  # bytes: what a broken connection can cost at most
EXPIRED = (400, 401, 403, 404, 410)  # what storage answers when the signature of an address has run out


class Changed(Exception):
    """The file on the server is another one than before."""


@dataclass(frozen=True)
class Remote:
    """A file on a server as it is now.

    Attributes
    ----------
    url : str
        Often signed, so secret, and valid for a limited time.
    size : int
        Bytes.
    validator : str
        Its ETag, else its date; empty where the server gives neither and nothing can be resumed.
    ranges : bool
        Whether the server serves parts.
    """

    url: str
    size: int
    validator: str
    ranges: bool

    @classmethod
    def of(cls, response):
        """From a response that would deliver the whole file."""
        length = response.headers.get("Content-Length", "")
        if not re.fullmatch(r"\d+", length):
            raise WrongLength("it does not say how long the file is")
        etag = response.headers.get("ETag", "")
        strong = etag if etag and not etag.startswith("W/") else ""  # If-Range must not hold a weak one
        return cls(response.url, int(length), strong or response.headers.get("Last-Modified", ""),
                   response.headers.get("Accept-Ranges", "") == "bytes")


def probe(url, timeout):
    """`Remote` of a public address, by a HEAD request."""
    response = requests.head(url, timeout=timeout, allow_redirects=True, headers={"Accept-Encoding": "identity"})
    response.raise_for_status()
    return Remote.of(response)


@dataclass
class Source:
    """A file that can be read from any byte on, across broken connections and expired addresses.

    Attributes
    ----------
    locate : callable
        Gives a fresh `Remote`; asked at the start and whenever the address has expired.
    slug, what : str
        For messages: the competition (or the server) and what is being fetched.
    timeout : float
        Seconds to wait for the next bytes.
    retries : int
        Attempts in a row without one new byte, after the first.
    warn : callable
        Gets sentences for the user.
    """

    locate: Callable
    slug: str
    what: str
    timeout: float = 60.0
    retries: int = 4
    warn: Callable = lambda text: None

    def __post_init__(self):
        try:
            self.remote = self._located()
        except Changed as error:  # cannot happen on the first look
            raise AssertionError("no earlier file to differ from") from error

    def _located(self, before=None):
        attempt = 0
        while True:
            attempt += 1
            try:
                remote = self.locate()
                break
            except requests.RequestException as error:
                self._pause(error, attempt)
        if before and (remote.size, remote.validator) != (before.size, before.validator):
            raise Changed
        return remote

    def _pause(self, error, attempt):
        pause = pause_before(error, attempt)
        if pause is None or attempt > self.retries:
            raise explain(error, slug=self.slug, what=self.what, storage=True) from None
        if attempt > 1 or status_of(error):
            self.warn(f"no success yet while {self.what}; next attempt in {pause:.1f} s")
            time.sleep(pause)

    def stream(self, start=0, end=None):
        """Yield the bytes from `start` to `end` (the file's end by default) in pieces.

        Raises
        ------
        Changed
            Where the server has another file now, or sends all of it when asked for a part.
        InputError
            Where no attempt brings more; the message says what to do.
        """
        end = self.remote.size if end is None else end
        failures = 0
        while start < end:
            try:
                for piece in self._part(start, end):
                    start += len(piece)
                    failures = 0
                    yield piece
                if start < end:
                    raise Truncated(f"{start} of {end} bytes")
            except requests.RequestException as error:
                failures += 1
                if status_of(error) in EXPIRED and failures <= self.retries:
                    self.remote = self._located(before=self.remote)
                else:
                    self._pause(error, failures)

    def _part(self, start, end):
        """One request: the pieces of bytes `start` to `end`, from an answer that was checked to be those."""
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        if self.remote.validator:
            headers["If-Range"] = self.remote.validator
        with requests.get(self.remote.url, headers=headers, stream=True, timeout=self.timeout) as response:
            if response.status_code == 416:
                raise Changed
            response.raise_for_status()
            self._check(response, start)
            left = end - start
            for piece in response.iter_content(CHUNK):
                if len(piece) > left:
                    raise WrongLength(f"more than the announced {self.remote.size} bytes come")
                left -= len(piece)
                yield piece

    def _check(self, response, start):
        """A 200 is the whole file; a 206 must begin where we asked, and be of the same file."""
        if response.status_code == 200:
            if start or self.remote.ranges:
                raise Changed
            return
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        if response.status_code != 206 or not found or int(found[1]) != start:
            raise WrongLength(f"asked for bytes from {start} on, it answers {response.status_code} with "
                              f"{response.headers.get('Content-Range', 'no range')!r}")
        if int(found[2]) != self.remote.size:
            raise WrongLength(f"{self.remote.size} bytes were announced, now it is {found[2]}")


class RemoteFile(io.RawIOBase):
    """A `Source` as a seekable file: sequential reads share one connection, a jump opens another."""

    def __init__(self, source):
        super().__init__()
        self.source, self._at, self._pieces, self._rest = source, 0, None, b""

    def readable(self):
        """Always."""
        return True

    def seekable(self):
        """Always; a seek to where we are costs nothing."""
        return True

    def tell(self):
        """Position in bytes."""
        return self._at

    def seek(self, offset, whence=io.SEEK_SET):
        """Move; the connection is dropped unless the position stays."""
        target = offset + (0, self._at, self.source.remote.size)[whence]
        if target != self._at:
            self.close_connection()
            self._at = target
        return target

    def read(self, size=-1):
        """Up to `size` bytes, fewer at the end of the file only."""
        size = self.source.remote.size - self._at if size is None or size < 0 else size
        if self._pieces is None:
            self._pieces = self.source.stream(self._at)
        parts = [self._rest]
        have = len(self._rest)
        while have < size and (piece := next(self._pieces, b"")):
            parts.append(piece)
            have += len(piece)
        data = b"".join(parts)
        self._rest = data[size:]
        self._at += len(data[:size])
        return data[:size]

    def close_connection(self):
        """Drop the connection and what was read ahead."""
        if self._pieces is not None:
            self._pieces.close()
        self._pieces, self._rest = None, b""


def fetch(source, partial, report):
    """Fetch a whole file into `partial`, going on from what is there.

    Parameters
    ----------
    source : Source
    partial : Path
        Must hold nothing but the first bytes of this very file. Each piece is on disk before the next is asked
        for, so that a killed process loses none that it counted.
    report : callable
        Gets the number of bytes of each piece.

    Raises
    ------
    Changed
        Where the file was replaced; `partial` is worthless then.
    InputError
        Network or disk; what came is kept.
    """
    with open(partial, "ab", buffering=0) as file:
        at = file.tell()
        if at > source.remote.size:
            raise Changed
        for piece in source.stream(at):
            _write(file, piece)
            report(len(piece))
        os.fsync(file.fileno())
    if partial.stat().st_size != source.remote.size:
        raise InputError(f"{partial}: has {partial.stat().st_size} bytes instead of {source.remote.size}; is "
                         "another download at work in this folder? Delete this file and run the command again.")


def _write(file, piece):
    """An unbuffered write may be short when the disk fills up."""
    view = memoryview(piece)
    while view:
        view = view[file.write(view):]
