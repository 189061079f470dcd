"""The paper's experiments (its Sec. 5), each a plain function from a table to a result.

`experiments` lists them in the paper's order, `running` runs them into a folder. What the paper
reports stands in `reported` and is never used to compute anything.
"""

from adtc.paper.experiments import EXPERIMENTS, Experiment, find
from adtc.paper.results import Result
from adtc.paper.running import Outcome, run_all
from adtc.paper.setting import Setting

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "Result", "Setting", "find", "run_all"]
