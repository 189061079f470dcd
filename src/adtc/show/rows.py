"""One row of a table in the words of its columns: "35 < age <= 44", "education = Masters".

A table keeps the answers to its yes/no questions, not the values that were asked about. All answers
on one column together tell the category, or between which cuts a number lies; nothing is guessed.
"""

from adtc.data import Data
from adtc.data.binarize import Feature
from adtc.data.cuts import interval_name


def known_values(data: Data, row: int) -> dict[str, str]:
    """Say what the table knows about a row, by column; columns of which it knows 0 or 1 are absent.

    Examples
    --------
    >>> data = Data.from_frame(
    ...     {"age": [20, 30, 40], "job": ["clerk", "none", "cook"], "y": [0, 1, 1]}, target="y"
    ... )
    >>> known_values(data, 1)
    {'age': '25 < age <= 35', 'job': 'job = none'}
    """
    answers: dict[str, list[tuple[Feature, bool]]] = {}
    for feature, words in zip(data.features, data.bits, strict=True):
        answer = bool(int(words[row // 64]) >> (row % 64) & 1)
        answers.setdefault(feature.column, []).append((feature, answer))
    texts = {column: _answer_text(column, some) for column, some in answers.items()}
    if data.sensitive in texts:
        texts[data.sensitive] = f"{data.sensitive} = {data.groups[int(data.z[row])]}"
    return {column: text for column, text in texts.items() if text is not None}


def _answer_text(column: str, answers: list[tuple[Feature, bool]]) -> str | None:
    yes = [feature for feature, answer in answers if answer]
    named = [feature for feature in yes if feature.test in ("missing", "equals", "other")]
    if named:
        return named[0].name
    lows = [f.low for f in yes if f.test == "in"]
    highs = [f.high for f in yes if f.test == "in"]
    for feature, answer in answers:
        # of a bin with two ends, "no" leaves two pieces and so tells no interval
        if answer or feature.test != "in" or (feature.low is None) == (feature.high is None):
            continue
        lows.append(feature.high)
        highs.append(feature.low)
    low = max((end for end in lows if end is not None), default=None)
    high = min((end for end in highs if end is not None), default=None)
    return None if low is None and high is None else interval_name(column, low, high)
