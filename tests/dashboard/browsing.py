"""What browser tests of the dashboard share: a page that is watched, and a server to open."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

READY = "body[data-ready]"
SETTLED = "body[data-ready]:not([data-asking])"  # every question to the server has its answer
ALL = "#where=&fit=0"


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Run an application as users do, on a free port, and give its address."""
    uvicorn = pytest.importorskip("uvicorn", reason="the dashboard needs uvicorn")
    from adtc.dashboard.serving import listen

    listener = listen(0)
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=lambda: running.run(sockets=[listener]), daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join(10)
    listener.close()


class Watched:
    """A page, with all that went wrong on it and every address it asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.troubles: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(120_000)
        page.on("console", lambda m: self._note(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def _note(self, trouble: str) -> None:
        self.troubles.append(trouble)

    def open(self, address: str) -> Any:
        """Open an address; one that names no view shows all trees, not only those near the best."""
        self.page.goto(address if "#" in address else f"{address}/{ALL}")
        self.page.wait_for_selector(READY)
        return self.page

    def draw(self) -> None:
        """Draw a tree and wait until it is there."""
        self.page.click("#redraw")
        self.page.wait_for_selector(SETTLED)

    def check(self, server: str) -> None:
        """Nothing was asked of another machine, nothing failed, no name became code."""
        outside = [url for url in self.asked if not url.startswith((server, "data:", "blob:"))]
        assert outside == []
        assert self.troubles == []
        assert self.page.evaluate("window.hacked") is None
