"""The matplotlib drawing has the SVG's layout, and its words stay in their boxes."""

import builtins
import io

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from models_samples import full_tree, table

from adtc.algebra.trees import Leaf, Split
from adtc.data import Data
from adtc.errors import ADTCError
from adtc.models import TreeModel
from adtc.models.layout import lay_out


def large() -> TreeModel:
    """Make a tree of 32 leaves whose features have names of 60 characters."""
    rng = np.random.default_rng(0)
    names = [
        f"the share of people in region {i} that own a house and a car"[:60] for i in range(40)
    ]
    data = Data.from_arrays(
        rng.integers(0, 2, (500, 40)), rng.integers(0, 3, 500), feature_names=names
    )
    return TreeModel(full_tree(5, 3), data)


def test_words_stay_in_their_boxes():
    model = large()
    assert model.size == 32
    ax = model.plot()
    pen = FigureCanvasAgg(ax.get_figure()).get_renderer()
    extents = {(t.get_position(), t.get_text()): t.get_window_extent(pen) for t in ax.texts}
    plan = lay_out(model.nodes, model.feature_names, model.label_texts)
    for box in plan.boxes:
        left, right = (ax.transData.transform((x, 0))[0] for x in (box.x, box.x + box.width))
        here = [e for (place, _), e in extents.items() if place[0] == box.middle
                and box.y < place[1] < box.y + box.height]  # fmt: skip
        assert len(here) == len(box.lines)
        assert all(left < e.x0 and e.x1 < right for e in here)


def test_it_draws_on_given_axes_and_scales_its_words():
    model = TreeModel(Split(0, Leaf(0), Leaf(1)), table())
    small, big = (Figure(figsize=(w, w)).subplots() for w in (2, 8))
    assert model.plot(small) is small
    model.plot(big, highlight=[0, 1])
    assert 3 < big.texts[0].get_fontsize() / small.texts[0].get_fontsize() < 5
    words = [text.get_text() for text in big.texts]
    assert {"yes", "no", "age <= 24", "maybe"} <= set(words)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_it_is_saved_in_every_format(kind):
    data = Data.from_arrays([[1], [0]], [0, 1], feature_names=["from $5 to $7"])
    stream = io.BytesIO()
    ax = TreeModel(Split(0, Leaf(0), Leaf(1)), data).plot()
    ax.get_figure().savefig(stream, format=kind)
    assert not any(text.get_parse_math() for text in ax.texts)  # dollars, not mathematics
    assert stream.getbuffer().nbytes > 1000


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    really = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ADTCError, match=r"needs matplotlib: pip install 'adtc\[plot\]'"):
        TreeModel(Leaf(0), table()).plot()
