"""What is hidden because it is small cannot be worked out from what is shown."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adtc import Data, TreeModel
from adtc.algebra.trees import Leaf, Split
from adtc.errors import QueryError
from adtc.models.small import hidden_counts, hidden_nodes

SMALL = 4


def model(sizes: tuple[int, int, int]) -> TreeModel:
    """Make a tree whose three leaves hold so many rows: under yes, under no and yes, no and no."""
    a, b, c = sizes
    frame = {
        "p": [1] * a + [0] * (b + c),
        "q": [0] * a + [1] * b + [0] * c,
        "y": [f"l{i % 2}" for i in range(a + b + c)],
    }
    tree = Split(0, Leaf(0), Split(1, Leaf(1), Leaf(0)))
    return TreeModel(tree, Data.from_frame(frame, target="y"))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_no_small_part_follows_from_the_sum_and_the_parts_shown(counts: list[int]) -> None:
    hidden = hidden_counts(counts, SMALL)
    assert all(gone for n, gone in zip(counts, hidden, strict=True) if n < SMALL)
    if not any(hidden):
        return
    left = sum(n for n, gone in zip(counts, hidden, strict=True) if gone)
    few = [n < SMALL for n, gone in zip(counts, hidden, strict=True) if gone]
    ranges = [range(1, SMALL) if small else range(SMALL, left + 1) for small in few]
    possible = [found for found in itertools.product(*ranges) if sum(found) == left]
    for at, small in enumerate(few):
        if small and not all(hidden):
            assert len({found[at] for found in possible}) > 1, (counts, hidden)


def test_no_more_is_hidden_than_needed() -> None:
    assert hidden_counts([100, 3, 50, 20], 10) == (False, True, False, True)
    assert hidden_counts([100, 3, 5], 10) == (False, True, True)
    assert hidden_counts([100, 10], 10) == (False, False)
    assert hidden_counts([9, 9, 80, 90], 10) == (True, True, True, False)  # 18 means 9 and 9
    assert hidden_counts([3, 5], 0) == (False, False)
    assert hidden_counts([3], 10) == (True,)
    assert hidden_counts([], 10) == ()


def test_a_small_leaf_is_hidden_everywhere_and_so_is_what_tells_it() -> None:
    made = model((700, 7, 60))
    for text in (
        made.to_text(small=10),
        made.to_dot(small=10),
        made.to_svg(small=10),
        "\n".join(rule.text for rule in made.rules(small=10)),
    ):
        assert re.search(r"fewer than( 10 rows|</text>)", text)
        assert "700 rows" in text
        assert not re.search(r"\b(7|60|67) rows?\b", text)
        assert not re.search(r"l\d (3|4|30|33|34)\b", text)
        assert len(re.findall(r"100 %|50 %|57 %", text)) == len(re.findall("50 %", text))
    assert made.rules(small=10)[1].text.endswith("(fewer than 10 rows)")
    assert made.rules(small=10)[2].text.endswith("(number not shown)")
    assert set(hidden_nodes(made.nodes, 10)) == {2, 3, 4}


def test_widths_in_the_picture_do_not_tell_either() -> None:
    drawn = [model(sizes).to_svg(small=10) for sizes in ((700, 7, 60), (700, 4, 63))]
    assert drawn[0] == drawn[1]
    drawn = [model(sizes).to_svg() for sizes in ((700, 7, 60), (700, 4, 63))]
    assert drawn[0] != drawn[1]


def test_nothing_is_hidden_unless_asked() -> None:
    made = model((700, 7, 60))
    assert made.to_text() == made.to_text(small=0) == made.to_text(small=7)
    assert "7 rows" in made.to_text()


def test_the_drawing_by_matplotlib_hides_them_too() -> None:
    pytest.importorskip("matplotlib")
    axes = model((700, 7, 60)).plot(small=10)
    said = [text.get_text() for text in axes.texts]
    assert "fewer than" in said
    assert not {"7 rows", "60 rows"} & set(said)
    assert len(axes.patches) == 5 + 2 + 2  # boxes, one bar of two classes, the legend
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("small", [-1, 2.5, True, "ten"])
def test_a_limit_that_is_none_is_refused(small: object) -> None:
    with pytest.raises(QueryError, match=r"small is .* whole number of at least 0"):
        model((9, 9, 9)).rules(small=small)  # type: ignore[arg-type]
