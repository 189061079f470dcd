"""Exact answers about all decision trees of bounded depth on a table."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adtc._version import __version__
from adtc.hooks import register

if TYPE_CHECKING:
    from adtc.algebra import semirings
    from adtc.certificates.certificate import Certificate
    from adtc.certificates.checking import verify
    from adtc.certificates.claims import certify, certify_alternative
    from adtc.data import Data, datasets, describe, load_dataset, read
    from adtc.engine.executors.checkpoint import Checkpoint
    from adtc.engine.forecast.explain import explain
    from adtc.engine.limits.bracket import Bracket
    from adtc.engine.monitor import Monitor
    from adtc.engine.query import Space
    from adtc.engine.questions import count, evaluate, exists, model_tensor, optimize
    from adtc.engine.score import score
    from adtc.errors import ADTCError
    from adtc.estimator import TreeSetClassifier, as_estimator
    from adtc.models import TreeModel
    from adtc.profiles.audits.auditing import audit
    from adtc.profiles.fronts import pareto
    from adtc.profiles.inexact.bounding import bound
    from adtc.profiles.inexact.estimating import estimate
    from adtc.profiles.making import profile
    from adtc.profiles.posterior import Posterior, posterior
    from adtc.profiles.profile import Profile
    from adtc.profiles.reliance import reliance
    from adtc.profiles.saved.store import load_profile
    from adtc.show import plot

__all__ = [
    "ADTCError",
    "Bracket",
    "Certificate",
    "Checkpoint",
    "Data",
    "Monitor",
    "Posterior",
    "Profile",
    "Space",
    "TreeModel",
    "TreeSetClassifier",
    "__version__",
    "as_estimator",
    "audit",
    "bound",
    "certify",
    "certify_alternative",
    "count",
    "datasets",
    "describe",
    "estimate",
    "evaluate",
    "exists",
    "explain",
    "load_dataset",
    "load_profile",
    "model_tensor",
    "optimize",
    "pareto",
    "plot",
    "posterior",
    "profile",
    "read",
    "reliance",
    "score",
    "semirings",
    "verify",
]

# Loaded on first use, so that the command line answers `--help` without NumPy.
_HOMES = {
    "adtc.certificates.certificate": ("Certificate",),
    "adtc.certificates.checking": ("verify",),
    "adtc.certificates.claims": ("certify", "certify_alternative"),
    "adtc.data": ("Data", "datasets", "describe", "load_dataset", "read"),
    "adtc.engine.limits.bracket": ("Bracket",),
    "adtc.engine.executors.checkpoint": ("Checkpoint",),
    "adtc.engine.questions": ("count", "evaluate", "exists", "model_tensor", "optimize"),
    "adtc.engine.forecast.explain": ("explain",),
    "adtc.engine.monitor": ("Monitor",),
    "adtc.engine.query": ("Space",),
    "adtc.engine.score": ("score",),
    "adtc.errors": ("ADTCError",),
    "adtc.estimator": ("TreeSetClassifier", "as_estimator"),
    "adtc.models": ("TreeModel",),
    "adtc.profiles": ("Profile", "profile"),
    "adtc.profiles.audits.auditing": ("audit",),
    "adtc.profiles.inexact.bounding": ("bound",),
    "adtc.profiles.inexact.estimating": ("estimate",),
    "adtc.profiles.fronts": ("pareto",),
    "adtc.profiles.posterior": ("Posterior", "posterior"),
    "adtc.profiles.reliance": ("reliance",),
    "adtc.profiles.saved.store": ("load_profile",),
    "adtc.show": ("plot",),
}

# What results of lower rooms offer as methods, though it is made above them.
register(
    {
        "audit_fragment": "adtc.show.audit_page:fragment",
        "audit_text": "adtc.show.audit_words:text",
        "certify_alternative": "adtc.certificates.claims:certify_alternative",
        "landscape_html": "adtc.show.fragment:landscape_html",
        "plot": "adtc.show:plot",
        "write_audit_page": "adtc.show.audit_page:write_page",
    }
)


def __getattr__(name: str) -> Any:
    if name == "semirings":
        return import_module("adtc.algebra.semirings")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'adtc' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
