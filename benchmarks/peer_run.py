"""Run one tool on one case in this process, and write seconds, memory and answer as JSON.

Started by ``peers.py`` with the interpreter of the environment that holds the tool:
``peer_run.py CASE.json TABLE.npz OUT.json``. The tool is imported and asked about few features
before the clock starts; the clock runs from NumPy arrays to the answer. Quick answers are timed
several times; the memory is that of the first time.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import memory
import numpy as np

NUMERIC = ("arborenum",)  # takes columns of numbers, and cuts them wherever they can be cut
RUNS, REPEATING = 15, 1.0  # a question is asked up to so often, while that takes below a second
Answer = dict[str, Any]
Case = dict[str, Any]


def adtc_(case: Case, X: Any, y: Any, z: Any) -> Answer:
    import adtc

    if not case.get("trivial_splits", True):
        y = 1 - y  # the peer gives ties to label 1, we to label 0
    data = adtc.Data.from_arrays(X, y, z=z if z.any() else None)
    space = adtc.Space(
        case["depth"],
        case.get("minsup", 1),
        labels=case.get("labels", "any"),
        trivial_splits=case.get("trivial_splits", True),
    )
    monitor = adtc.Monitor(memory_limit=5_500_000_000, threads=1, exact=True)
    if case["task"] == "errors":
        return {"value": int(adtc.optimize(data, space, monitor=monitor).value)}
    if case["task"] == "penalised":
        objective = f"error + {case['leaf']} * size"
        best = adtc.optimize(data, space, minimize=objective, monitor=monitor)
        return {"value": int(best.value)}
    if case["task"] == "f1":
        return {"value": float(adtc.optimize(data, space, maximize="f1", monitor=monitor).value)}
    if case["task"] == "fair":
        where = f"dp <= {case['gap']}"
        return {"value": int(adtc.optimize(data, space, where=where, monitor=monitor).value)}
    if case["task"] == "space":
        cells = adtc.model_tensor(data, space, ["error"], monitor=monitor)
        histogram = [[error, str(trees)] for (error,), trees in sorted(cells.items())]
        return {"value": str(sum(cells.values())), "histogram": histogram}
    objective = f"error + {case['leaf']} * size"
    where = f"{objective} <= {1 + Fraction(case['share'])} * least({objective})"
    if case["task"] == "votes":
        where = f"{objective} <= {_rounded_bound(adtc, case, data, space, monitor)}"
        votes = adtc.profile(
            data, space, ["error", "size"], where=where, monitor=monitor
        ).vote_shares()
        return {"value": votes.total, "shares": votes.share(1).floats.tolist()}
    if case["task"] == "reliance":
        where = f"{objective} <= {_rounded_bound(adtc, case, data, space, monitor)}"
        found = adtc.reliance(
            data, space, where, variant="reliance_lossless_difference", monitor=monitor
        )
        ends = [[float(one.min), float(one.max)] for one in found]
        return {"value": len(ends), "ranges": ends}
    found = adtc.count(data, space, where=where, monitor=monitor)
    (best,) = found.record.details["extremes"].values()
    return {"value": int(found), "best": int(Fraction(best))}


def _rounded_bound(adtc: Any, case: Case, data: Any, space: Any, monitor: Any) -> int:
    """Round the bound to the nearest whole objective, as the peers do."""
    objective = f"error + {case['leaf']} * size"
    best = adtc.optimize(data, space, minimize=objective, monitor=monitor).value
    return round(best * (1 + float(Fraction(case["share"]))))


def praxis_(case: Case, X: Any, y: Any, _: Any) -> Answer:
    from praxis import PRAXIS

    return _praxis_family(PRAXIS(), case, X, y, {})


def arborenum_(case: Case, X: Any, y: Any, _: Any) -> Answer:
    from arborenum import ArborEnum

    exact = {"proxy_mode": "continuous", "max_number_thresholds_per_feature": None}
    return _praxis_family(ArborEnum(), case, X, y, exact)


def _praxis_family(model: Any, case: Case, X: Any, y: Any, options: dict[str, Any]) -> Answer:
    # lookahead_k = depth - 1 makes the answer exact
    shared = {"depth_budget": case["depth"], "lookahead_k": case["depth"] - 1, **options}
    if case.get("labels") == "majority":
        shared["majority_leaf_only"] = True
    if case["task"] == "space":
        model.fit(X, y, lambda_reg=0, rashomon_mult=0, root_budget=len(y), **shared)
        histogram = [[int(e), str(n)] for e, n in model.get_root_histogram()]
        return {"value": str(model.count_trees()), "histogram": histogram}
    penalty, share = case["leaf"] / len(y), Fraction(case["share"])
    model.fit(X, y, lambda_reg=penalty, rashomon_mult=float(share), **shared)
    if case["task"] == "votes":
        # all predictions of all trees stand in one array: equal rows only once, or it does not fit
        rows, place = np.unique(X, axis=0, return_inverse=True)
        shares = np.asarray(model.get_p_per_sample(rows))[place.ravel()]
        return {"value": int(model.count_trees()), "shares": shares.tolist()}
    if case["task"] == "reliance":
        ranges = model.get_exact_replacement_importance_intervals(X, y)
        return {"value": len(ranges), "ranges": np.asarray(ranges).tolist()}
    best = int(model.get_min_objective())
    # It rounds the bound to the nearest whole objective: leave out what lies above the true one.
    within = sum(int(n) for value, n in model.get_root_histogram() if value <= best * (1 + share))
    return {"value": within, "best": best}


def treefarms_(case: Case, X: Any, y: Any, _: Any) -> Answer:
    import pandas as pd
    from treefarms import TREEFARMS

    names = [f"f{i}" for i in range(X.shape[1])]
    model = TREEFARMS(
        {
            "regularization": float(case["leaf"]) / len(y),
            "rashomon_bound_multiplier": float(Fraction(case["share"])),
            "depth_budget": case["depth"] + 1,  # a single leaf has depth 1 there
            "rashomon_ignore_trivial_extensions": not case.get("trivial_splits", True),
            "verbose": False,
        }
    )
    model.fit(pd.DataFrame(X, columns=names), pd.Series(y, name="y"))
    return {"value": int(model.get_tree_count())}


def streed_(case: Case, X: Any, y: Any, z: Any) -> Answer:
    from pystreed import STreeDClassifier, STreeDGroupFairnessClassifier

    depth = case["depth"]
    shared = {"max_depth": depth, "max_num_nodes": 2**depth - 1, "time_limit": 600}
    shared["min_leaf_node_size"] = case.get("minsup", 1)
    if case["task"] == "fair":
        # it never splits on the sensitive feature, so both sides search the same trees
        X = np.column_stack([z, X])
        model = STreeDGroupFairnessClassifier(
            "group-fairness", discrimination_limit=float(Fraction(case["gap"])), **shared
        )
        model.fit(X, y)
    else:
        model = STreeDClassifier("f1-score" if case["task"] == "f1" else "accuracy", **shared)
        model.fit(X, y)
    wrong = int((np.asarray(model.predict(X)) != y).sum())
    hits = int(((np.asarray(model.predict(X)) == 1) & (y == 1)).sum())
    proved = bool(model.fit_result.is_optimal())
    value = 2 * hits / (2 * hits + wrong) if case["task"] == "f1" else wrong
    return {"value": value, "proved": proved}


def dl85_(case: Case, X: Any, y: Any, _: Any) -> Answer:
    from pydl85 import DL85Classifier

    model = DL85Classifier(max_depth=case["depth"], min_sup=case.get("minsup", 1), time_limit=600)
    model.fit(X, y)
    return {"value": int(model.error_), "proved": not model.timeout_}


def gosdt_(case: Case, X: Any, y: Any, _: Any) -> Answer:
    import warnings

    import pandas as pd
    from gosdt import GOSDTClassifier, Status

    warnings.simplefilter("ignore")
    model = GOSDTClassifier(
        regularization=case["leaf"] / len(y),
        depth_budget=case["depth"],
        allow_small_reg=True,
        time_limit=600,
    )
    model.fit(pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]), pd.Series(y))
    value = model.result_.upperbound * len(y)  # single precision: a whole number within 0.01
    if abs(value - round(value)) > 0.05:
        raise ValueError(f"the objective {value} is not a whole number of rows")
    return {"value": round(value), "proved": model.result_.status == Status.CONVERGED}


def sortd_(case: Case, X: Any, y: Any, _: Any) -> Answer:
    from pysortd import SORTDClassifier

    model = SORTDClassifier(
        "cost-complex-accuracy",
        max_depth=case["depth"],
        cost_complexity=float(case["leaf"]) / len(y),
        use_rashomon_multiplier=True,
        rashomon_multiplier=float(Fraction(case["share"])),
    )
    model.fit(X, y)
    return {"value": int(model.rashomon_set_size)}


TOOLS: dict[str, Callable[[Case, Any, Any, Any], Answer]] = {
    "adtc": adtc_,
    "praxis": praxis_,
    "arborenum": arborenum_,
    "treefarms": treefarms_,
    "streed": streed_,
    "dl85": dl85_,
    "gosdt": gosdt_,
    "sortd": sortd_,
}


def timed(tool: Callable[..., Answer], case: Case, *arrays: Any) -> tuple[float, Answer]:
    """Ask a tool once; return the seconds and what it said."""
    clock = time.process_time if case.get("clock") == "cpu" else time.perf_counter
    start = clock()
    answer = tool(case, *arrays)
    return clock() - start, answer


def main(case_file: str, table_file: str, out: str) -> None:
    memory.limit(8)
    case = json.loads(Path(case_file).read_text())
    if case.get("clock") == "cpu":
        resource.setrlimit(resource.RLIMIT_CPU, (case["limit"], case["limit"] + 5))
    tool = TOOLS[case["tool"]]
    table = np.load(table_file)
    features = "numbers" if case["tool"] in NUMERIC and "numbers" in table else "X"
    X, y, z = (np.ascontiguousarray(table[name]) for name in (features, "y", "z"))
    few = np.linspace(0, X.shape[1] - 1, min(8, X.shape[1])).astype(int)
    tool(case, np.ascontiguousarray(X[:, few]), y, z)
    peak = memory.Peak()
    seconds, answer = timed(tool, case, X, y, z)
    megabytes, runs = peak.megabytes(), [seconds]
    while len(runs) < RUNS and sum(runs) < REPEATING:
        runs.append(timed(tool, case, X, y, z)[0])
    answer |= {"seconds": runs, "peak_mb": megabytes}
    Path(out).write_text(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
