"""Profiles of all good trees, read from a finished computation, and the trees themselves."""

from adtc.hooks import register
from adtc.profiles.making import profile
from adtc.profiles.profile import Profile

__all__ = ["Profile", "profile"]

# What the methods of a `Profile` call: modules that are made of profiles themselves.
register(
    {
        "Builder": "adtc.profiles.builder:Builder",
        "crosstab": "adtc.profiles.crosstab:crosstab",
        "penalty_curve": "adtc.profiles.curves:penalty_curve",
        "multiplicity_curve": "adtc.profiles.multiplicity:multiplicity_curve",
        "tolerance_curve": "adtc.profiles.curves:tolerance_curve",
        "deciding": "adtc.profiles.people.decisions:deciding",
        "discrepancy": "adtc.profiles.people.decisions:discrepancy",
        "difference": "adtc.profiles.difference:difference",
        "best": "adtc.profiles.drawing:best",
        "different": "adtc.profiles.drawing:different",
        "draw": "adtc.profiles.drawing:draw",
        "iterate": "adtc.profiles.drawing:iterate",
        "rank": "adtc.profiles.drawing:rank",
        "spread": "adtc.profiles.drawing:spread",
        "tree": "adtc.profiles.drawing:tree",
        "evaluate": "adtc.profiles.evaluating:evaluate",
        "generalization": "adtc.profiles.generalization:generalization",
        "leave_one_out": "adtc.profiles.people.leaving:leave_one_out",
        "marginal": "adtc.profiles.marginals:marginal",
        "moments": "adtc.profiles.marginals:moments",
        "rollup": "adtc.profiles.marginals:rollup",
        "pareto": "adtc.profiles.pareto:pareto",
        "vote_shares": "adtc.profiles.people:vote_shares",
        "of_profile": "adtc.profiles.reliance:of_profile",
        "count_rows": "adtc.profiles.rows:count_rows",
        "save_ranged": "adtc.profiles.saved.ranged:save_ranged",
        "save_profile": "adtc.profiles.saved.store:save_profile",
        "sql": "adtc.profiles.tables:sql",
        "to_arrow": "adtc.profiles.tables:to_arrow",
        "to_csv": "adtc.profiles.tables:to_csv",
        "to_pandas": "adtc.profiles.tables:to_pandas",
        "to_parquet": "adtc.profiles.tables:to_parquet",
        "to_polars": "adtc.profiles.tables:to_polars",
        "variables": "adtc.profiles.variables:variables",
    }
)
