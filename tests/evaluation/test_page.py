"""The page in a real browser: no errors, no requests, sorting by click and by keyboard, foreign text as text."""

import os
import shutil

import pytest

from evaluation.leaderboard import contest, update
from tests.evaluation.conftest import make_entry

EVIL = "<script>alert(1)</script>"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium; the tests are skipped where there is none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    root = hasattr(os, "geteuid") and os.geteuid() == 0  # as root Chromium only runs without its sandbox
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if root else [])
        yield running
        running.close()


@pytest.fixture
def opened(contest_data, browser):
    """The page of a board with an entry of an evil name, and everything that went wrong while it was open."""
    data, entries, dataset, runtimes = contest_data
    make_entry(entries / "evil", {id: range(12) for id in runtimes if "nlp" not in id}, dataset, entry=EVIL,
               command=EVIL, parameters={EVIL: "</script><img src=x onerror=alert(2)>"}, model='"><b>bold</b>')
    update(entries, contest(data), html=True)
    page, wrong, requests = browser.new_page(), [], []
    page.set_default_timeout(10_000)
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((entries / "leaderboard.html").as_uri())
    yield page
    assert wrong == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == [] and len(requests) <= 2
    page.close()


def entries_in_order(page):
    return page.locator("section.board tbody button.open").all_inner_texts()


def head(page, name):
    return page.locator("section.board thead th", has=page.get_by_role("button", name=name, exact=True))


def test_it_shows_the_board(opened):
    assert sorted(entries_in_order(opened)) == sorted(["good", "fair", "poor", EVIL])
    assert entries_in_order(opened)[0] == "good"
    assert opened.locator(".intervals svg circle").count() == 4
    assert opened.locator("p.simulated").is_visible() and "SIMULATED" in opened.locator("h2").first.inner_text()


def test_sorting_by_click_and_by_keyboard(opened):
    ranked = entries_in_order(opened)
    head(opened, "score").get_by_role("button").click()
    assert entries_in_order(opened) == ranked and head(opened, "score").get_attribute("aria-sort") == "descending"
    head(opened, "score").get_by_role("button").click()
    assert entries_in_order(opened) == ranked[::-1] and head(opened, "score").get_attribute("aria-sort") == "ascending"
    head(opened, "entry").get_by_role("button").focus()
    opened.keyboard.press("Enter")
    assert entries_in_order(opened) == sorted(ranked) and head(opened, "score").get_attribute("aria-sort") == "none"
    opened.keyboard.press("Space")
    assert entries_in_order(opened) == sorted(ranked, reverse=True)


def test_gaps_stay_below_in_both_directions(opened):
    for _ in range(2):
        head(opened, "layout:nlp:random").get_by_role("button").click()
        assert entries_in_order(opened)[-1] == EVIL


def test_foreign_text_is_text(opened):
    button = opened.get_by_role("button", name=EVIL)
    assert button.inner_text() == EVIL
    button.click()
    panel = opened.locator(".panel")
    assert panel.locator("h3").inner_text() == EVIL and EVIL in panel.locator("pre").inner_text()
    assert "onerror" in panel.locator("dl").inner_text() and panel.locator("img, b, script").count() == 0


def test_the_panel_and_its_search_view(opened):
    opened.get_by_role("button", name="good").focus()
    opened.keyboard.press("Enter")
    panel = opened.locator(".panel")
    assert panel.locator("h3:focus").inner_text() == "good"
    assert panel.locator("details tbody tr").count() == 9  # graphs of the public half
    slider, text = panel.locator("input[type=range]"), panel.locator(".search-text")
    slider.focus()
    opened.keyboard.press("End")
    assert "first 12 of each ranking (36 of 36 configurations) ends 0.00 % above" in text.inner_text()
    opened.keyboard.press("Home")
    assert "first 1 of each ranking (3 of 36 configurations)" in text.inner_text()
    panel.locator("input[type=number]").fill("3600")
    assert "It takes 3 h" in text.inner_text() and "trying everything takes 36 h" in text.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(opened, scheme):
    opened.emulate_media(color_scheme=scheme)
    opened.set_viewport_size({"width": 360, "height": 740})
    opened.get_by_role("button", name="good").click()
    assert opened.evaluate("document.documentElement.scrollWidth") <= 360
    ground, ink = (opened.locator("body").evaluate(f"e => getComputedStyle(e).{name}") for name in
                   ("backgroundColor", "color"))
    light = sum(map(int, ground[4:-1].split(","))) > sum(map(int, ink[4:-1].split(",")))
    assert light == (scheme == "light")
