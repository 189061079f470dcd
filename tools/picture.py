"""Take the picture of the dashboard that opens the README: the bundled table adult, in Chromium.

Run it as ``make screenshots``, or ``python tools/picture.py docs/dashboard.png``.
"""

import io
import shutil
import sys
import threading
import time
from pathlib import Path

import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright

import adtc
from adtc.dashboard import make_app
from adtc.dashboard.serving import listen

COLOURS = 256  # as many as a palette holds; keeps the file well under 200 kB


def question() -> adtc.Profile:
    """Ask what the picture shows: adult, small trees that are right for 78 % or more."""
    data = adtc.load_dataset("adult", nbins=4)
    space = adtc.Space(max_depth=3, relminsup=0.05, max_size=6)
    return adtc.profile(data, space, ["size", "acc", "f1", "dp", "eodd_sum"], where="acc >= 0.78")


def main(target: Path) -> None:
    """Serve the dashboard, and store what its first screen looks like."""
    listener = listen(0)
    config = uvicorn.Config(make_app(question()), log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        page.wait_for_selector("body[data-ready]", timeout=120_000)
        taken = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    server.should_exit = True
    taken.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS).save(target, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
