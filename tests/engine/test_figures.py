"""Counts and optima on real tables against figures that other programs and counts agree on.

Numbers of trees: an independent dynamic program in exact integers. Optima: two exact solvers.
"""

from pathlib import Path

import pytest

import adtc

SPARSE = "binarized-sparse-trees"


def table(shared_data: Path, name: str, **options: object) -> adtc.Data:
    if name.endswith(".txt"):  # label first, no header
        return adtc.read(shared_data / name, target="0", header=False, **options)
    path = shared_data / name
    target = path.read_text(encoding="utf-8").splitlines()[0].split(",")[-1].strip('"')
    return adtc.read(path, target=target, **options)


@pytest.mark.parametrize(
    ("name", "depth", "trees"),
    [
        (f"{SPARSE}/monk_1.csv", 2, 17_390),
        (f"{SPARSE}/monk_1.csv", 3, 1_276_975_118),
        (f"{SPARSE}/monk_1.csv", 4, 1_282_253_293_135_438_862),
        (f"{SPARSE}/monk_1.csv", 5, 4_277_467_962_724_242_143_792_287_044_877_198),
        (f"{SPARSE}/compas-binned.csv", 3, 1_057_845_826),
        (f"{SPARSE}/compas-binned.csv", 4, 243_466_263_552_157_826),
        (f"{SPARSE}/compas-binned.csv", 5, 16_932_857_550_861_998_884_207_046_032_514),
        ("compas/compas-binary.csv", 3, 503_358_263_486),
        ("compas/compas-binary.csv", 4, 368_364_875_883_654_056_991_806),
        ("binarized-dl/tic-tac-toe.txt", 3, 1_304_944_865_630),
        ("binarized-dl/anneal.txt", 3, 527_515_737_920_962),
        ("binarized-dl/german-credit.txt", 3, 23_556_313_447_286_202),
    ],
)
def test_number_of_all_trees(shared_data, name, depth, trees):
    assert adtc.count(table(shared_data, name), adtc.Space(max_depth=depth), engine="fast") == trees


@pytest.mark.parametrize(
    ("labels", "trivial_splits", "trees"),
    [("any", True, 2_780), ("majority", True, 2_313), ("majority", False, 1_105)],
)
def test_rashomon_set_under_each_convention(shared_data, labels, trivial_splits, trees):
    # the figures give ties to label 1, we to the first label: so label 1 comes first here
    data = table(shared_data, f"{SPARSE}/compas-binned.csv", positive=0)
    space = adtc.Space(max_depth=4, labels=labels, trivial_splits=trivial_splits)
    objective = "error + 69.07 * size"  # λ = 0.01 per leaf of 6,907 rows
    best = adtc.optimize(data, space, minimize=objective, engine="fast").value
    within = f"{objective} <= 1.05 * {float(best)}"
    assert adtc.count(data, space, where=within, engine="fast") == trees
