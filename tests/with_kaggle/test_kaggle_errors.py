"""Every way in which Kaggle, the network or the disk can fail: exit status 1 and a paragraph that says what to do."""

import io
import json
import socket
import subprocess
import sys
import zipfile

import pytest

from kit.kaggle.errors import explain
from tests.kaggle_server import SIGNATURE, Competition, Fault
from tests.with_kaggle.archives import KEY, REFRESH, TOKEN, tree_of, zipped

ALWAYS = 99
RULES = "https://www.kaggle.com/competitions/small/rules"


@pytest.fixture
def fails(kit, tmp_path):
    """Run a download that must fail; its message in one line."""
    def run(*more, env=None, data=tmp_path / "d"):
        done = kit("download", "--data", data, "--competition", "small", "--timeout", "5", "--retries", "1", *more,
                   env=env, check=1)
        assert done.stderr.count("error: ") == 1
        return " ".join(done.stderr.split())

    return run


@pytest.mark.parametrize(("method", "status", "fragments"), [
    ("DownloadDataFiles", 401, ["does not accept the credentials from", "access_token (401)", "kaggle.com/settings"]),
    ("DownloadDataFiles", 403, ["competition 'small' (403)", RULES, "phone is not verified", "Late Submission",
                                "the name is wrong"]),
    ("DownloadDataFiles", 404, ["nothing under the name 'small' (404)", "--competition"]),
    ("DownloadDataFiles", 500, ["problem of its own (500", "Run the same command again"]),
    ("DownloadDataFiles", 418, ["refused a request (418", "pip install --upgrade kaggle"]),
    ("IntrospectToken", 401, ["does not accept the credentials from", "access_token"]),
    ("IntrospectToken", 403, ["does not accept the credentials from", "access_token", "expired, revoked"]),
    ("IntrospectToken", 503, ["problem of its own (503", "Run the same command again"]),
])
def test_status_of_a_call_is_explained(kaggle, fails, method, status, fragments):
    kaggle.faults.append(Fault(method, ALWAYS, status=status))
    message = fails()
    for fragment in fragments:
        assert fragment in message


def test_failure_code_inside_a_200_answer_counts(kaggle, fails):
    kaggle.faults.append(Fault("DownloadDataFiles", ALWAYS, status=200, body={"code": 403, "message": "no"}))
    assert RULES in fails()


def test_token_that_kaggle_calls_inactive_is_named(kaggle, fails):
    kaggle.faults.append(Fault("IntrospectToken", ALWAYS, status=200, body={"active": False}))
    message = fails()
    assert "does not accept the credentials from" in message and "access_token" in message


def test_log_in_page_of_a_network_is_recognised(kaggle, fails):
    kaggle.faults.append(Fault("IntrospectToken", ALWAYS, status=200, body="<html>Welcome, guest</html>"))
    assert "log-in page" in fails()


def test_passing_failures_are_waited_out(kit, kaggle, files, tmp_path):
    kaggle.faults += [Fault("DownloadDataFiles", status=502), Fault("blob", status=503, window=(1, 1 << 40)),
                      Fault("blob", close=True, window=(1, 1 << 40))]
    kit("download", "--data", tmp_path / "d", "--competition", "small", check=0)
    assert tree_of(tmp_path / "d") == files


def test_retry_after_is_honoured(kit, kaggle, tmp_path):
    kaggle.faults.append(Fault("DownloadDataFiles", status=429, headers={"Retry-After": "2"}))
    kit("download", "--data", tmp_path / "d", "--competition", "small", check=0)
    first, second = [entry["time"] for entry in kaggle.log if entry["kind"] == "DownloadDataFiles"]
    assert second - first >= 2


def test_pause_that_is_too_long_is_reported_instead(kaggle, fails):
    kaggle.faults.append(Fault("DownloadDataFiles", ALWAYS, status=429, headers={"Retry-After": "4000"}))
    assert "asks for a pause (429, too many requests) while asking for the archive, for 4000 seconds" in fails()
    assert sum(entry["kind"] == "DownloadDataFiles" for entry in kaggle.log) == 1


@pytest.mark.parametrize("where", ["IntrospectToken", "DownloadDataFiles", "blob"])
def test_silent_server_is_given_up(kaggle, fails, where):
    kaggle.faults.append(Fault(where, ALWAYS, hang=20))
    assert "no answer in time" in fails("--timeout", "0.4", "--retries", "0")


def test_name_that_cannot_be_resolved(fails):
    proxy = "http://proxy.invalid:3128"
    message = fails(env={"HTTP_PROXY": proxy, "http_proxy": proxy})
    assert "cannot be resolved (DNS)" in message


def test_nobody_listens(fails):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert "no connection" in fails(env={"HTTP_PROXY": proxy, "http_proxy": proxy})


def test_no_tls(kaggle, fails):
    proxy = f"http://127.0.0.1:{kaggle.port}"
    message = fails(env={"KAGGLE_API_ENVIRONMENT": None, "HTTPS_PROXY": proxy, "https_proxy": proxy})
    assert "no secure connection (TLS)" in message and "REQUESTS_CA_BUNDLE" in message


def test_body_that_always_ends_early(kaggle, archive, fails, tmp_path):
    kaggle.competitions["small"].faults.append(Fault("cut", ALWAYS, cut=len(archive) // 2))
    message = fails()
    assert "the connection ended before everything had come" in message
    kept = (tmp_path / "d" / ".download" / "small.zip.partial").stat().st_size
    assert len(archive) // 2 - (1 << 16) <= kept <= len(archive) // 2


def test_length_other_than_announced(kaggle, fails, tmp_path):
    kaggle.competitions["small"].faults.append(Fault("blob", ALWAYS, total=123_456_789, window=(1, 1 << 40)))
    assert "another length than it announced" in fails()
    assert not tree_of(tmp_path / "d")


@pytest.mark.parametrize(("status", "fragment"), [(403, "(403)"), (500, "(500")])
def test_error_page_of_storage_never_gets_into_the_partial_file(kaggle, archive, fails, tmp_path, status, fragment):
    competition, half = kaggle.competitions["small"], len(archive) // 2
    competition.faults = [Fault("cut", cut=half), Fault("blob", ALWAYS, status=status, body="<Error/>" * 50_000,
                                                        window=(1, half))]
    assert fragment in fails()
    partial = (tmp_path / "d" / ".download" / "small.zip.partial").read_bytes()
    assert partial == archive[:len(partial)]


def test_disk_that_fills_up_while_fetching(kit, fails, tmp_path):
    kit("download", "--data", tmp_path / "d", "--competition", "small", kill=["download", 1])
    partial = tmp_path / "d" / ".download" / "small.zip.partial"
    partial.unlink()
    partial.symlink_to("/dev/full")
    message = fails()
    assert "the disk is full" in message and "--collection" in message


def test_disk_that_fills_up_while_unpacking(fails, files, tmp_path):
    name = next(name for name in files if name.endswith("/xla/default/valid/graph.2.npz"))
    path = tmp_path / "d" / name
    path.parent.mkdir(parents=True)
    path.with_name(f".{path.name}.part").symlink_to("/dev/full")
    assert "the disk is full" in fails()
    assert not path.exists()


def test_archive_that_does_not_fit_is_refused_before_anything_is_fetched(kit, kaggle, fails, tmp_path):
    kaggle.competitions["small"] = Competition(declaring(1 << 50))
    message = fails()
    assert "1.13e+03 TB more are needed" in message and "nothing was fetched" in message
    assert "--delete-archive" in message
    assert not any((tmp_path / "d").rglob("*.partial"))


def declaring(size):
    """An archive whose directory declares members of `size` bytes that may well be packed into what it says."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("npz_all/npz/tile/xla/train/a.npz", b"x")
        archive.infolist()[0].file_size = archive.infolist()[0].compress_size = size
    return buffer.getvalue()


def test_folder_without_permission(fails):
    message = fails(data="/sys/kernel/nowhere")
    assert "no permission to write there" in message and "--data" in message


@pytest.mark.parametrize("name", ["https://www.kaggle.com/competitions/small", "www.kaggle.com/c/small/data",
                                  "https://www.kaggle.com/competitions/small/overview?tab=1"])
def test_address_instead_of_a_name_is_understood(kit, files, tmp_path, name):
    kit("download", "--data", tmp_path / "d", "--competition", name, check=0)
    assert tree_of(tmp_path / "d") == files


def test_misspelt_name_is_quoted_with_its_rules_page(fails):
    assert "competitions/smal/rules" in fails("--competition", "smal")


def test_nonsense_instead_of_a_name(fails):
    assert "'Fast or Slow?' is no competition's name" in fails("--competition", "Fast or Slow?")


# Credentials


def key_file(home, text, mode=0o600):
    """Put a kaggle.json into the configuration folder, and take the token away."""
    (home / ".kaggle" / "access_token").unlink()
    (home / "kaggle").mkdir()
    (home / "kaggle" / "kaggle.json").write_text(text, encoding="utf-8")
    (home / "kaggle" / "kaggle.json").chmod(mode)


def test_no_credentials_gives_the_three_ways(kaggle, home, fails):
    (home / ".kaggle" / "access_token").unlink()
    message = fails()
    for fragment in ("1. a token", "2. a key", "3. a log-in by browser: kaggle auth login", "~/.kaggle/access_token"):
        assert fragment in message
    assert not kaggle.log


@pytest.mark.parametrize("where", ["environment", "file named by environment", "access_token.txt", "kaggle.json",
                                   "username and key", "log-in"])
def test_each_kind_of_credentials_works(kit, home, tmp_path, where):
    key_file(home, json.dumps({"username": "tester", "key": KEY} if where == "kaggle.json" else {}))
    env = {"environment": {"KAGGLE_API_TOKEN": TOKEN}, "username and key":
           {"KAGGLE_USERNAME": "tester", "KAGGLE_KEY": KEY},
           "file named by environment": {"KAGGLE_API_TOKEN": str(home / "token")}}.get(where)
    if where != "kaggle.json":
        (home / "kaggle" / "kaggle.json").unlink()
    (home / "token").write_text(TOKEN, encoding="utf-8")
    if where == "access_token.txt":
        (home / ".kaggle" / "access_token.txt").write_text(TOKEN, encoding="utf-8")
    if where == "log-in":
        record = {"refresh_token": REFRESH, "username": "tester", "scopes": []}
        (home / ".kaggle" / "credentials.json").write_text(json.dumps(record), encoding="utf-8")
    kit("download", "--data", tmp_path / "d", "--competition", "small", "--collection", "tile:xla", env=env, check=0)


def test_revoked_log_in_is_named(kaggle, home, fails):
    (home / ".kaggle" / "access_token").unlink()
    record = {"refresh_token": "revoked-refresh-token", "username": "tester"}
    (home / ".kaggle" / "credentials.json").write_text(json.dumps(record), encoding="utf-8")
    message = fails()
    assert "credentials.json" in message and "kaggle auth login" in message


@pytest.mark.parametrize(("text", "fragment"), [
    (json.dumps({"username": "tester", "key": TOKEN}), "begins with KGAT_"),
    ("username: tester", "is not the JSON that Kaggle gives"),
    ('["tester"]', "is not the JSON that Kaggle gives"),
    ('{"username": "tester"}', 'holds no "username" and "key"'),
    (json.dumps({"username": "tester", "key": "two words"}), "characters that no Kaggle token has"),
])
def test_unusable_key_file_is_recognised_before_any_call(kaggle, home, fails, text, fragment):
    key_file(home, text)
    message = fails()
    assert fragment in message and "kaggle.json" in message
    assert not kaggle.log


def test_token_of_the_new_kind_in_the_key_variable(kaggle, home, fails):
    (home / ".kaggle" / "access_token").unlink()
    assert "KAGGLE_KEY: the key begins with KGAT_" in fails(env={"KAGGLE_USERNAME": "x", "KAGGLE_KEY": TOKEN})


def test_wrong_key_names_its_file(home, fails):
    key_file(home, json.dumps({"username": "tester", "key": "0" * 32}))
    message = fails()
    assert f"credentials from {home}/kaggle/kaggle.json (401)" in message


def test_file_that_others_can_read_is_warned_of(kit, home, tmp_path):
    key_file(home, json.dumps({"username": "tester", "key": KEY}), mode=0o644)
    done = kit("download", "--data", tmp_path / "d", "--competition", "small", check=0)
    assert f"chmod 600 {home}/kaggle/kaggle.json" in done.stdout + done.stderr


def test_token_pasted_with_a_quote_is_refused_without_showing_it(kaggle, home, fails):
    (home / ".kaggle" / "access_token").write_text(f"“{TOKEN}”", encoding="utf-8")
    assert "characters that no Kaggle token has" in fails()
    assert not kaggle.log


@pytest.mark.parametrize("variable", ["VERBOSE", "VERBOSE_OUTPUT"])
def test_verbose_mode_of_the_package_shows_no_token(kit, tmp_path, variable):
    done = kit.process("download", "--data", tmp_path / "d", "--competition", "small", env={variable: "1"}, check=0)
    assert "Authorization" not in done.stdout + done.stderr


def test_refusal_leaves_nothing_behind(kit, home, fails, tmp_path):
    (home / ".kaggle" / "access_token").unlink()
    (home / ".kaggle").rmdir()
    fails()
    assert not list(home.iterdir()) and not (tmp_path / "d").exists()


IMPORT = """
import os, sys
before = dict(os.environ)
from kit.kaggle.client import load_package
assert load_package().__name__ == "KaggleApi"
assert dict(os.environ) == before
print(sys.stdin.read())
"""


@pytest.mark.parametrize("token", [TOKEN, None])
def test_import_of_the_package_is_silent_offline_and_leaves_standard_input_open(kit, kaggle, home, token):
    (home / ".kaggle" / "access_token").unlink()
    done = subprocess.run([sys.executable, "-c", IMPORT], input="still open", capture_output=True, text=True,
                          check=True, env=kit.environment({"KAGGLE_API_TOKEN": token}))
    assert (done.stdout, done.stderr) == ("still open\n", "")
    assert not kaggle.log
    assert [path.name for path in home.iterdir()] == [".kaggle"]


def test_failure_of_the_package_is_quoted_without_secrets():
    text = f"bad header 'Bearer {TOKEN}' for http://storage.test/a.zip?{SIGNATURE}&x=1"
    message = str(explain(RuntimeError(text), slug="small", what="asking", secrets=(TOKEN,)))
    assert "RuntimeError" in message and "pip install --upgrade kaggle" in message
    assert TOKEN not in message and SIGNATURE not in message


def test_zip_method_is_no_matter(kit, kaggle, files, tmp_path):
    kaggle.competitions["small"].archive = zipped(files, zipfile.ZIP_STORED)
    kit("download", "--data", tmp_path / "d", "--competition", "small", check=0)
    assert tree_of(tmp_path / "d") == files
