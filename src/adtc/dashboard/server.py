"""The routes of the dashboard: what each answers, and with which parameters."""

import json
from collections.abc import Callable, Hashable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from adtc.cache import LRUCache
from adtc.dashboard import panels
from adtc.dashboard.asking import MOST_BINS, FormulaError, NotFoundError, Query
from adtc.dashboard.guard import Guard
from adtc.dashboard.ranging import RangedSession
from adtc.dashboard.session import Session
from adtc.dashboard.side import Selection
from adtc.errors import ADTCError, QueryError
from adtc.models.small import SMALL
from adtc.profiles.inexact.ranged import Ranged
from adtc.profiles.profile import Profile
from adtc.show.assets import KINDS, asset, asset_names

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

Answering = Callable[[Session, Query], Any]


class Question(NamedTuple):
    """What answers a path, and how.

    Parameters
    ----------
    known
        The parameters it takes.
    slow
        Whether it may take a while: then it waits for others of its kind alone.
    kept
        Whether the same question has the same answer later.
    """

    answer: Answering
    known: tuple[str, ...]
    slow: bool = False
    kept: bool = True


_LANDSCAPE = ("where", "x", "y", "bins", "fit")
_ANSWERS_KEPT = 256
_LARGEST_KEPT = 200_000  # bytes


def overview(session: Session, query: Query) -> Any:
    """Answer what the profile is."""
    return session.overview()


def count(session: Session, query: Query) -> Any:
    """Answer how many trees satisfy a formula."""
    return session.count(query.formula(session.profile))


def check(session: Session, query: Query) -> Any:
    """Answer whether a formula can be read: a mistake is an answer here, for it is still typed."""
    try:
        return {"ok": True, **session.count(query.formula(session.profile))}
    except ADTCError as error:
        return {"ok": False, **_complaint(error)[1]}


def landscape(session: Session, query: Query) -> Any:
    """Answer how the trees lie by two metrics."""
    return session.landscape(_selection(session, query))


def tree(session: Session, query: Query) -> Any:
    """Answer with one tree: by its rank, drawn with a seed, or else the best one."""
    selection = _selection(session, query, needs_axes=False)
    rank = query.maybe("rank", lambda name: query.integer(name, 0, None))
    row = query.maybe("row", lambda name: query.integer(name, 0, None))
    seed = query.maybe("seed", lambda name: query.integer(name, 0, panels.MOST_SEED))
    return session.tree(selection, rank, seed, row)


def difference(session: Session, query: Query) -> Any:
    """Answer how two profiles differ."""
    return session.difference(_selection(session, query))


_FURTHER = ("where", "table", "metric", "bins")

QUESTIONS: Mapping[str, Question] = {
    "overview": Question(overview, ()),
    "count": Question(count, ("where",)),
    "check": Question(check, ("where",)),
    "landscape": Question(landscape, _LANDSCAPE),
    "tree": Question(tree, (*_LANDSCAPE, "cell", "side", "rank", "seed", "row")),
    "compare": Question(difference, ("where", "x", "y", "bins")),
    "people": Question(panels.people, ("where",), slow=True),
    "rows": Question(
        panels.rows,
        ("where", "sort", "rising", "group", "baseline", "start", "n"),
        slow=True,
    ),
    "person": Question(panels.person, ("where", "row", "seed"), slow=True),
    "variables": Question(panels.variables, ("where",), slow=True),
    "reliance": Question(panels.reliance, ("where",), slow=True, kept=False),
    "builder": Question(panels.builder, ("where", "steps", "at", "by"), slow=True),
    "complete": Question(panels.complete, ("where", "steps", "seed", "by"), slow=True),
    "further": Question(panels.further, (*_FURTHER, "limit"), slow=True),
    "further_tree": Question(panels.further_tree, (*_FURTHER, "cell", "seed"), slow=True),
}


def make_app(
    profile: Profile | Ranged,
    compare: Profile | None = None,
    *,
    titles: tuple[str, str] | None = None,
    token: str | None = None,
    small: int = SMALL,
) -> "Starlette":
    """Make the dashboard of a profile as an ASGI application.

    Parameters
    ----------
    profile
        The trees to show; of a bounded or an estimated profile, the map alone, with ranges.
    compare
        Another profile over the same metrics, to be shown beside the first.
    titles
        What to call the two.
    token
        What the first link must carry as ``?token=``; it is then kept in a cookie. None asks for
        none: right within one process, wrong on a port that other users of the machine reach.
    small
        Leaves of fewer rows show neither their rows nor their shares.

    Notes
    -----
    The application answers requests to this machine's own names only, and only GET.
    """
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError:
        raise QueryError(
            "the dashboard needs starlette and uvicorn: install them with "
            "`pip install 'adtc[dashboard]'`."
        ) from None
    session = _session(profile, compare, titles, small)
    quick, slow = (Answers(session.lock), Answers(session.patience))

    def question(name: str) -> Route:
        asked = QUESTIONS[name]
        answers = slow if asked.slow else quick

        def ask(request: "Request") -> Response:
            pairs = request.query_params.multi_items()
            query = Query(pairs, asked.known)
            if name == "tree" or asked.slow:
                session.side(query.side()).warm()  # outside the lock: it may take a while
            key = (name, *sorted(pairs)) if asked.kept else None
            content = answers.get(key, lambda: _json(asked.answer(session, query)))
            if name == "landscape":
                session.seen.set()
            return Response(content, media_type="application/json")

        return Route(f"/api/{name}", ask, methods=["GET"])

    def report(request: "Request") -> Response:
        query = Query(request.query_params.multi_items(), (*_LANDSCAPE, "side", "trees"))
        selection, ranks = _selection(session, query), query.ranks("trees")
        headers = {"content-disposition": 'attachment; filename="adtc-report.html"'}
        text = session.report(selection, ranks)
        return Response(text, media_type="text/html", headers=headers)

    def page(request: "Request") -> Response:
        name = request.path_params.get("name", "dashboard.html")
        if name not in asset_names():
            raise NotFoundError("there is no such page.")
        kind = KINDS["." + name.rpartition(".")[2]]
        return Response(asset(name), media_type=kind)

    def unmet(request: "Request", error: Exception) -> Response:
        status, view = _complaint(error)
        return Response(_json(view), status, media_type="application/json")

    routes = [
        Route("/", page, methods=["GET"]),
        Route("/page/{name}", page, methods=["GET"]),
        Route("/api/report", report, methods=["GET"]),
        *map(question, QUESTIONS),
    ]
    app = Starlette(
        debug=False,
        routes=routes,
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={ADTCError: unmet, 404: unmet, 405: unmet, Exception: unmet},
    )
    app.state.session = session
    return app


def _session(
    profile: Profile | Ranged,
    compare: Profile | None,
    titles: tuple[str, str] | None,
    small: int,
) -> Session:
    if isinstance(profile, Profile):
        return Session(profile, compare, titles, small=small)
    if compare is not None:
        raise QueryError(
            f"a profile that is {profile.status} cannot be compared; show it alone (without "
            f"compare)."
        )
    return RangedSession(profile, small=small)


class Answers:
    """Answers as bytes, made one at a time; small ones are kept."""

    def __init__(self, lock: RLock) -> None:
        self.lock = lock
        self._kept: LRUCache[bytes] = LRUCache(_ANSWERS_KEPT)

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return what is kept under a key, or make it; nothing is kept under None."""
        with self.lock:
            content = make() if key is None else self._kept.get(key, make)
            if len(content) > _LARGEST_KEPT:
                self._kept.drop(key)
            return content


def _complaint(error: Exception) -> tuple[int, dict[str, Any]]:
    """Turn an error into a status and one sentence."""
    if isinstance(error, NotFoundError):
        return 404, {"error": str(error)}
    if isinstance(error, FormulaError):
        place = list(error.place) if error.place else None
        return 400, {"error": str(error), "pointer": error.pointer, "place": place}
    if isinstance(error, ADTCError):
        return 400, {"error": str(error)}
    status = int(getattr(error, "status_code", 500))
    known = {404: "there is no such page.", 405: "the dashboard only reads."}
    return status, {
        "error": known.get(status, "something went wrong inside adtc; please report it.")
    }


def _selection(session: Session, query: Query, *, needs_axes: bool = True) -> Selection:
    where, profile = query.formula(session.profile), session.profile
    cell, side = query.cell(), query.side()
    if not needs_axes and cell is None:
        return Selection(where, side=side)
    return Selection(
        where,
        query.metric("x", profile),
        query.metric("y", profile),
        query.integer("bins", 1, MOST_BINS, 10),
        query.flag("fit"),
        cell,
        side,
    )


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
