"""Compare a page with a stored picture of it, by a tolerance that a broken layout exceeds.

Pages are shown in a font that comes with matplotlib, for fonts differ between machines. Both
pictures are scaled down until letters are grey and cut into blocks; compared are the blocks' mean
greys and how much goes on in them (their mean contrast). A panel that is missing, moved or unstyled
changes at least a tenth of the blocks by much. `make screenshots` takes the stored pictures anew;
look at them before they are committed.
"""

import base64
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

STORED = Path(__file__).parent / "pictures"
REFRESH = "ADTC_REFRESH_SCREENSHOTS"
STEP = 4  # pixels of the screen per pixel of a stored picture
BLOCK = 10  # pixels of a stored picture per block
NOTICEABLE = 8.0  # levels of grey of 255 by which a block may differ
SHARE = 0.05  # of the blocks that may differ by more
HEIGHT = 0.02  # of its height by which a page may be longer or shorter

Grey = npt.NDArray[np.float64]


def use_stored_font(page: Any) -> None:
    """Show a page in matplotlib's DejaVu Sans; its context must bypass the page's policy."""
    folder = pytest.importorskip("matplotlib", reason="its font is used").get_data_path()
    for weight, file in (("400", "DejaVuSans.ttf"), ("700", "DejaVuSans-Bold.ttf")):
        font = (Path(folder) / "fonts" / "ttf" / file).read_bytes()
        page.evaluate(
            """async ([weight, data]) => {
              const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
              const face = new FontFace('Stored', bytes, { weight });
              document.fonts.add(await face.load());
            }""",
            [weight, base64.b64encode(font).decode()],
        )
    add_style(page, "* { font-family: Stored !important }")


def add_style(page: Any, css: str) -> None:
    """Add a style sheet to a page."""
    page.evaluate(
        "css => { const sheet = new CSSStyleSheet(); sheet.replaceSync(css);"
        " document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]; }",
        css,
    )


def reduced(png: bytes) -> Grey:
    """Read a screenshot as greys, scaled down by averages."""
    image = pytest.importorskip("PIL.Image", reason="pictures are compared with Pillow")
    grey = np.asarray(image.open(BytesIO(png)).convert("L"), dtype=np.float64)
    return _blocks(grey, STEP).mean(axis=(1, 3))


def different_share(one: Grey, other: Grey) -> float:
    """Tell the share of blocks that differ noticeably; 1 for pictures of different sizes."""
    (height, width), (tall, wide) = one.shape, other.shape
    if width != wide or abs(height - tall) > HEIGHT * tall:
        return 1.0
    one, other = one[: min(height, tall)], other[: min(height, tall)]
    differences = [np.abs(a - b) for a, b in zip(_features(one), _features(other), strict=True)]
    return float((np.maximum(*differences) > NOTICEABLE).mean())


def check_screenshot(name: str, png: bytes) -> None:
    """Compare a screenshot with the stored one, or store it where that is asked for."""
    image = pytest.importorskip("PIL.Image", reason="pictures are compared with Pillow")
    path = STORED / f"{name}.png"
    found = reduced(png)
    if os.environ.get(REFRESH):
        STORED.mkdir(exist_ok=True)
        image.fromarray(found.round().astype(np.uint8)).save(path, optimize=True)
        return
    assert path.exists(), f"there is no stored picture {path.name}; `make screenshots` takes it"
    share = different_share(found, np.asarray(image.open(path), dtype=np.float64))
    assert share <= SHARE, (
        f"{name} looks different in {share:.0%} of its blocks, expected at most {SHARE:.0%}; if "
        "that is meant, take the stored pictures anew with `make screenshots` and look at them."
    )


def _features(picture: Grey) -> tuple[Grey, Grey]:
    """Give each block's mean grey, and its contrast: the mean step between neighbours."""
    steps = np.abs(np.diff(picture, axis=1, append=picture[:, -1:]))
    return tuple(_blocks(one, BLOCK).mean(axis=(1, 3)) for one in (picture, steps))  # type: ignore[return-value]


def _blocks(picture: Grey, size: int) -> npt.NDArray[np.float64]:
    height, width = (n // size for n in picture.shape)
    cut = picture[: height * size, : width * size]
    return cut.reshape(height, size, width, size)
