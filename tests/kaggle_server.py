"""A stand-in for Kaggle on the loopback: the endpoints that the official client uses, and every way to fail.

The client is pointed at it by its own settings (``KAGGLE_API_ENVIRONMENT=LOCALHOST`` and ``HTTP_PROXY``), so it
sends absolute addresses: ``http://localhost/api/v1/SERVICE/METHOD`` for calls, and the addresses on another host
that the answers name for storage. Standard library only.
"""

import base64
import json
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

API, STORAGE = "localhost", "storage.stand-in.test"
SIGNATURE = "X-Goog-Signature=5ecre7516na7ure"
STAMP = "Wed, 01 Nov 2023 10:00:00 GMT"
SCORED = {"status": "COMPLETE", "publicScore": "0.7", "privateScore": "0.6"}


@dataclass
class Fault:
    """How a request fails; the first that fits a request is used up `times` times.

    Attributes
    ----------
    at : str
        Method of the service (``"DownloadDataFiles"``), or ``"blob"``, ``"upload"``, ``"connect"``.
    times : int
        How many requests it spoils.
    status, body, headers
        An answer instead of the right one.
    hang : float
        Seconds to say nothing before closing.
    close : bool
        Close without an answer.
    cut : int or None
        With ``at="cut"``: position in the file (bytes) at which the answer to a ranged request breaks off.
    total : int or None
        Size of the file to claim in a ranged answer.
    window : (int, int) or None
        Only ranged requests that begin in here (bytes).
    """

    at: str
    times: int = 1
    status: int = 0
    body: object = None
    headers: dict = field(default_factory=dict)
    hang: float = 0.0
    close: bool = False
    cut: int | None = None
    total: int | None = None
    window: tuple | None = None


@dataclass
class Competition:
    """One competition: its archive, what was submitted, and how requests about it fail."""

    archive: bytes = b""
    etag: str = '"one"'
    ranges: bool = True
    faults: list = field(default_factory=list)
    submissions: list = field(default_factory=list)
    scores: list = field(default_factory=list)
    verdicts: list = field(default_factory=lambda: [dict(SCORED)])
    allowed: int = 5
    log: list = field(default_factory=list)


class StandIn:
    """The server, in threads of the test's own process.

    Attributes
    ----------
    tokens, keys : set, dict
        Accepted access tokens; accepted keys by user name.
    competitions : dict of str to Competition
    log : list of dict
        Every request: method, address without its query, range, bytes sent, time, whether it was authorised.
    """

    def __init__(self, tokens=(), keys=None):
        self.tokens, self.keys = set(tokens), dict(keys or {})
        self.refresh_tokens = {}
        self.competitions, self.uploads, self.log, self.faults = {}, {}, [], []
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"stand_in": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients hang up, which is their right
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def port(self):
        """TCP port on the loopback."""
        return self.server.server_address[1]

    def close(self):
        """Stop serving."""
        self.server.shutdown()
        self.server.server_close()

    def environment(self, home):
        """Settings that point the official client here, with a home and configuration folder of its own."""
        return {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", "HTTP_PROXY": f"http://127.0.0.1:{self.port}",
                "http_proxy": f"http://127.0.0.1:{self.port}", "NO_PROXY": "", "no_proxy": "", "HOME": str(home),
                "XDG_CONFIG_HOME": str(home / ".config"), "KAGGLE_CONFIG_DIR": str(home / "kaggle")}

    def fault(self, at, competition, start=0):
        """The fault for a request of kind `at` that begins at byte `start`, used up once, or None."""
        with self.lock:
            for one in (*(competition.faults if competition else ()), *self.faults):
                low, high = one.window or (0, start)
                if one.at == at and one.times and low <= start <= high:
                    one.times -= 1
                    return one
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stand_in: StandIn

    def log_message(self, *_):
        """The test reads `StandIn.log` instead."""

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_CONNECT(self):
        """A tunnel that leads to something that speaks no TLS."""
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.connection.recv(1)
        self.wfile.write(b"HTTP/1.1 400 this is no TLS\r\n\r\n")
        self.close_connection = True

    def do_POST(self):
        """A call of the client."""
        service, method = urlsplit(self.path).path.rsplit("/", 2)[1:]
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        competition = self.stand_in.competitions.get(body.get("competitionName"))
        self._record(competition, method)
        fault = self.stand_in.fault(method, competition)
        if fault and fault.cut is None and self._fail(fault):
            return
        if service != "users.AccountService" and not self._authorised(body):
            return self._answer({"code": 401, "message": "Unauthorized"}, 401)
        answer = getattr(self, f"_{method}", None)
        if answer is None:
            return self._answer({"code": 404, "message": "no such method"}, 404)
        if competition is None and "competitionName" in body:
            return self._answer({"code": 403, "message": "Permission denied"}, 403)
        answer(body, competition)

    def do_HEAD(self):
        """Of storage: what a GET would say."""
        self.do_GET()

    def do_GET(self):
        """Storage: an archive, by ranges."""
        name = urlsplit(self.path).path.strip("/").removesuffix(".zip")
        competition = self.stand_in.competitions.get(name)
        entry = self._record(competition, "blob")
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        fault = self.stand_in.fault("blob", competition, int(wanted[1]) if wanted else 0)
        if fault and fault.cut is None and fault.total is None and self._fail(fault):
            return
        if competition is None or (urlsplit(self.path).hostname == STORAGE and SIGNATURE not in self.path):
            return self._answer({"error": "AccessDenied"}, 403)
        self._blob(competition, entry, fault, wanted)

    def do_PUT(self):
        """Storage: an upload."""
        data = self.rfile.read(int(self.headers["Content-Length"]))
        name = urlsplit(self.path).path.rsplit("/", 1)[1]
        competition = self.stand_in.competitions.get(self.stand_in.uploads[name]["competitionName"])
        self._record(competition, "upload")
        fault = self.stand_in.fault("upload", competition)
        if fault and self._fail(fault):
            return
        self.stand_in.uploads[name]["data"] = data
        self._answer({})

    def _record(self, competition, kind):
        entry = {"kind": kind, "host": urlsplit(self.path).hostname, "path": urlsplit(self.path).path, "sent": 0,
                 "method": self.command, "range": self.headers.get("Range"), "time": time.monotonic(),
                 "authorization": bool(self.headers.get("Authorization"))}
        self.stand_in.log.append(entry)
        if competition:
            competition.log.append(entry)
        return entry

    def _authorised(self, body):
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            user, _, key = base64.b64decode(value).decode().partition(":")
            return self.stand_in.keys.get(user) == key
        return (value or body.get("token")) in self.stand_in.tokens

    def _fail(self, fault):
        """Fail as told; False where the answer is to be given all the same."""
        if fault.hang:
            time.sleep(fault.hang)
            self.close_connection = True
            return True
        if fault.close:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return True
        self._answer(fault.body if fault.body is not None else {"code": fault.status, "message": "told to fail"},
                     fault.status, fault.headers)
        return True

    def _answer(self, body, status=200, headers=()):
        text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if isinstance(body, str) else "application/json; "
                                                                                   "charset=utf-8")
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _blob(self, competition, entry, fault, wanted):
        data = competition.archive
        start, end = 0, len(data)
        fits = self.headers.get("If-Range") in (None, competition.etag)
        if wanted and competition.ranges and fits:
            start = int(wanted[1])
            end = min(end, int(wanted[2]) + 1) if wanted[2] else end
            if start >= len(data):
                return self._answer({"error": "InvalidRange"}, 416)
            self.send_response(206)
            total = fault.total if fault and fault.total else len(data)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{total}")
        else:
            self.send_response(200)
        if competition.ranges:
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", competition.etag)
        self.send_header("Last-Modified", STAMP)
        self.send_header("Content-Type", "application/zip")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if self.command == "GET":
            self._send(data[start:end], start, entry, competition)

    def _send(self, data, start, entry, competition):
        """Send `data`, which begins at `start` of the file, and break off where a fault says so."""
        cut = next((f for f in competition.faults if f.at == "cut" and f.times
                    and start <= f.cut < start + len(data)), None) if entry["range"] else None
        if cut:
            cut.times -= 1
            data = data[:cut.cut - start]
        try:
            for at in range(0, len(data), 1 << 16):
                self.wfile.write(data[at:at + (1 << 16)])
                entry["sent"] += len(data[at:at + (1 << 16)])
        except OSError:
            self.close_connection = True  # the client hung up
        if cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def _IntrospectToken(self, body, _):
        self._answer({"active": True, "username": "tester", "userId": 7})

    def _GenerateAccessToken(self, body, _):
        token = self.stand_in.refresh_tokens.get(body.get("refreshToken"))
        if token is None:
            return self._answer({"code": 401, "message": "Unauthorized"}, 401)
        self._answer({"token": token, "expiresIn": 3600, "userName": "tester", "userId": 7})

    def _DownloadDataFiles(self, body, competition):
        self._answer({}, 302, {"Location": f"http://{STORAGE}/{body['competitionName']}.zip?{SIGNATURE}"})

    def _GetSubmissionLimits(self, body, competition):
        self._answer({"numToday": len(competition.submissions), "numTotal": len(competition.submissions),
                      "numAllowedNow": competition.allowed, "limitedByTotal": False})

    def _StartSubmissionUpload(self, body, competition):
        name = f"upload-{len(self.stand_in.uploads)}"
        self.stand_in.uploads[name] = dict(body)
        self._answer({"token": f"blob-{name}", "createUrl": f"http://{STORAGE}/{name}?{SIGNATURE}"})

    def _CreateSubmission(self, body, competition):
        upload = self.stand_in.uploads[body["blobFileTokens"].removeprefix("blob-")]
        ref = 1000 + len(competition.submissions)
        competition.submissions.append({
            "ref": ref, "date": "2026-01-02T03:04:05.000Z",
            "description": body.get("submissionDescription", ""), "fileName": upload["fileName"],
            "totalBytes": len(upload["data"]), "data": upload["data"], "asked": 0})
        competition.allowed -= 1
        self._answer({"message": "Successfully submitted to the stand-in", "ref": ref})

    def _public(self, competition, submission):
        """A submission as the client sees it: each look takes it one verdict further."""
        verdict = competition.verdicts[min(submission["asked"], len(competition.verdicts) - 1)]
        submission["asked"] += 1
        return {**{k: v for k, v in submission.items() if k not in ("data", "asked")}, **verdict}

    def _GetSubmission(self, body, _):
        for competition in self.stand_in.competitions.values():
            for submission in competition.submissions:
                if submission["ref"] == body["ref"]:
                    return self._answer(self._public(competition, submission))
        self._answer({"code": 404, "message": "Not found"}, 404)

    def _ListSubmissions(self, body, competition):
        self._answer({"submissions": [self._public(competition, s) for s in reversed(competition.submissions)]})

    def _GetLeaderboard(self, body, competition):
        start, size = int(body.get("pageToken") or 0), body.get("pageSize", 20)
        rows = [{"teamId": i, "teamName": f"team {i}", "score": str(score)}
                for i, score in enumerate(competition.scores)][start:start + size]
        after = start + size
        self._answer({"submissions": rows, "nextPageToken": str(after) if after < len(competition.scores) else ""})
