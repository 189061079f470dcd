"""Fill the docs pages from what the commands wrote; the prose around it is written by hand.

``page.py benchmarks`` reads ``results/own.json`` (`make bench`), ``results/against.json``
(`make bench-against`), ``results/startup.json`` (`make bench-startup`), ``results/peers.json``
(`make bench-peers`) and ``results/large.json`` (`make bench-large`); ``page.py paper FOLDER`` reads
the folder of `adtc paper`. A page holds marked
places, ``<!-- name -->`` to ``<!-- /name -->``; what there is a result for is replaced, all else
stays as it is.
"""

import json
import re
import shutil
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import machine

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
RESULTS = HERE / "results"


def fill(page: str, parts: dict[str, str]) -> str:
    """Replace the marked places of a page; a part without a place is an error."""
    for name, text in parts.items():
        place = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not place.search(page):
            raise SystemExit(f"the page has no place <!-- {name} --> … <!-- /{name} -->")
        page = place.sub(lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}", page)
    return page


def table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """Write a Markdown table, numbers to the right."""
    body = [list(row) for row in rows]
    names = list(head)
    numeric = [
        all(isinstance(row[i], int | float | None) for row in body) for i in range(len(names))
    ]
    lines = [names, ["---:" if right else "---" for right in numeric]]
    lines += [[_cell(value) for value in row] for row in body]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def rows(page: str, name: str) -> list[dict[str, str]]:
    """Read the table at a marked place back, as text by the names of its columns."""
    place = re.search(f"<!-- {name} -->\n(.*?)<!-- /{name} -->", page, re.DOTALL)
    lines = [line for line in place[1].splitlines() if line.startswith("| ")] if place else []
    cells = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in lines]
    head = cells[0] if cells else []
    return [dict(zip(head, (_uncelled(c) for c in row), strict=True)) for row in cells[2:]]


def _uncelled(cell: str) -> str:
    return cell[1:-1] if cell.startswith("`") else cell.replace("\\|", "|")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):  # formulas are shown as code
        return f"`{value}`" if re.search(r"[<>]=", value) else value.replace("|", "\\|")
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def own_parts(told: dict[str, Any]) -> dict[str, str]:
    return {
        "own machine": f"`make bench`: {machine.in_words(told['machine'])}.",
        "own table": "\n".join(told["lines"]),
    }


def against_parts(told: dict[str, Any]) -> dict[str, str]:
    head = ["question", "before, s", "now, s", "before / now"]
    return {
        "against machine": (
            f"`make bench-against REV={told['revision']}`: {machine.in_words(told['machine'])}. "
            f"Geometric mean of {len(told['lines'])} ratios: {told['mean']:.2f}."
        ),
        "against table": table(head, told["lines"]),
    }


def startup_parts(told: dict[str, Any]) -> dict[str, str]:
    return {
        "startup machine": f"`make bench-startup`: {machine.in_words(told['machine'])}.",
        "startup table": table(["what", "CPU seconds", "beside"], told["lines"]),
    }


def large_parts(told: dict[str, Any]) -> dict[str, str]:
    head = ["question", "CPU s", "wall s", "MB", "answer"]
    versions = ", ".join(f"{package} {version}" for package, version in told["peers"].items())
    return {
        "large machine": f"`make bench-large`: {machine.in_words(told['machine'])}; {versions}.",
        "large questions": table(head, told["questions"]),
        "large peers": _peer_tables(_by_section(told["lines"]), "Deep and wide: "),
    }


def _by_section(lines: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    sections: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        sections.setdefault(line["section"], []).append(line)
    return sections


def _peer_tables(sections: dict[str, list[dict[str, Any]]], before: str = "") -> str:
    import peers

    return "\n\n".join(
        "\n".join([f"### {_headed(before, section)}", "", peers.HEAD, *map(peers.as_row, lines)])
        for section, lines in sections.items()
    )


def _headed(before: str, section: str) -> str:
    return f"{before}{section[0].lower()}{section[1:]}" if before else section


def peers_parts(told: dict[str, Any]) -> dict[str, str]:
    packages = [
        f"- {p['package']} {p['version']}" + f" (`{name}`)" * (name != p["package"])
        if p["version"]
        else f"- {p['package']}: left out, because it does not install here ({p['failure']})"
        for name, p in told["peers"].items()
    ]
    sections = _by_section(told["lines"])
    odd = [x for x in told["lines"] if x["agree"] and not x["agree"].startswith("yes")]
    compared = sum(bool(line["agree"]) for line in told["lines"])
    differing = [f"- {x['question']}, {x['peer']}: {x['agree']}" for x in odd]
    return {
        "peers machine": (
            f"`make bench-peers`, {told['seconds']:g} s per tool and question: "
            f"{machine.in_words(told['machine'])}."
        ),
        "peers installed": "\n".join(packages),
        "peers tables": _peer_tables(sections),
        "peers summary": "\n".join([*map("- {}".format, told["means"]), *_standings(sections)]),
        "peers differences": "\n".join(
            [f"{compared - len(odd)} of {compared} answers agree.", "", *differing]
        ).strip(),
    }


def _standings(sections: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Say for each kind of question and peer how often it was faster, and by how much."""
    said = []
    for section, lines in sections.items():
        for peer in dict.fromkeys(line["peer"] for line in lines):
            both = [
                line["theirs"]["seconds"] / line["adtc"]["seconds"]
                for line in lines
                if line["peer"] == peer and line["theirs"]["seconds"] and line["adtc"]["seconds"]
            ]
            if both:
                faster = sum(ratio < 1 for ratio in both)
                said.append(
                    f"- {section}: {peer} is faster in {faster} of {len(both)} questions that both "
                    f"answered; its seconds / adtc's are {min(both):.2g} to {max(both):.2g}, "
                    f"median {statistics.median(both):.2g}."
                )
    return said


def paper_parts(folder: Path, pictures: Path) -> dict[str, str]:
    """Make the parts of the paper's page, and copy the pictures beside it."""
    everything = {
        file.stem: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.glob("*.json"))
    }
    parts = {"summary": paper_summary(everything)}
    pictures.mkdir(exist_ok=True)
    for told in everything.values():
        shown = []
        for picture in told["pictures"]:
            shutil.copy(folder / f"{picture['stem']}.svg", pictures)
            shown.append(f"![{picture['title']}]({pictures.name}/{picture['stem']}.svg)")
        run = told["run"]
        command = f"`adtc paper {told['name']}`, {run['seconds']:.3g} s on {run['finished']}"
        text = [told["sentence"], "", *shown, "", table(told["head"], told["rows"]), "", command]
        parts[told["name"]] = "\n".join(text)
    return parts


def paper_summary(told: dict[str, Any]) -> str:
    """Put what the paper reports beside what came out, by the facts of the experiments."""
    facts = {name: one["facts"] for name, one in told.items()}
    rows: list[list[Any]] = []

    def say(experiment: str, what: str, reported: str, here: Any, same: Any) -> None:
        if experiment in facts:
            found = facts[experiment]
            verdict = same if isinstance(same, str) else "yes" if same(found) else "no"
            rows.append([what, reported, here(found), verdict])

    say(
        "fig1",
        "trees in Fig. 1, 2 and 7",
        "34,706",
        lambda f: f"{f['trees']:,}",
        "no, and no convention tried gives it",
    )
    say(
        "conventions",
        "the same under the nearest conventions",
        "34,706",
        lambda f: (
            f"{f['nearest']:,}; {f['nearest_by_definition']:,} with trees as the paper defines them"
        ),
        "nearly",
    )
    say(
        "fig2",
        "trees whose acc and bacc differ once classes are balanced",
        "none shown",
        lambda f: f"{f['balanced']['apart']:,}",
        lambda f: f["balanced"]["apart"] == 0,
    )
    say(
        "size-depth",
        "trees with acc ≥ 0.749",
        "352,768",
        lambda f: f"{f['trees']:,}",
        "no, of another setting",
    )
    say(
        "size-depth",
        "most of them have",
        "depth 4, size 4 to 5",
        lambda f: f"depth {f['depth']}, size {f['size']}",
        lambda f: f["depth"] == 4 and f["size"] in (4, 5),
    )
    say(
        "fairness",
        "high accuracy, low EOdd",
        "15,340",
        lambda f: f"{f['named'][0]:,} in the paper's bins, {f['corner']:,} in ours",
        "no; see there",
    )
    say("fairness", "high accuracy, high EOdd", "688", lambda f: f"{f['named'][1]:,}", "no")
    say("fairness", "moderate accuracy, high EOdd", "10,906", lambda f: f"{f['named'][2]:,}", "no")
    say(
        "siz-adult",
        "`siz` from which on nothing changes",
        "shown, not named",
        lambda f: f["still_from"],
        "yes",
    )
    say("rows", "scanned cells, all rows", "1.1 · 10⁹", lambda f: f"{f['cell_scan'][-1]:,}", "no")
    say(
        "depth",
        "scanned cells at `maxdep` 5",
        "about 2.0 · 10⁷",
        lambda f: " or ".join(f"{scan[-1]:,}" for scan in f["cell_scan"]),
        "no",
    )
    say(
        "reference",
        "seconds, all rows",
        "255.79",
        lambda f: f"{f['seconds'][0]:.1f} in plain Python, {f['seconds'][2]:.2f} by this program",
        "not comparable",
    )
    return table(("what", "paper", "here", "same?"), rows)


def main(kind: str = "", folder: str = "") -> None:
    if kind == "benchmarks":
        parts: dict[str, str] = {}
        makers = {
            "own": own_parts,
            "against": against_parts,
            "startup": startup_parts,
            "peers": peers_parts,
            "large": large_parts,
        }
        for name, make in makers.items():
            path = RESULTS / f"{name}.json"
            if path.exists():
                parts |= make(json.loads(path.read_text(encoding="utf-8")))
    elif kind == "paper" and folder:
        parts = paper_parts(Path(folder), DOCS / "paper")
    else:
        raise SystemExit(__doc__)
    page = DOCS / f"{kind}.md"
    page.write_text(fill(page.read_text(encoding="utf-8"), parts), encoding="utf-8")
    print(f"docs/{kind}.md: {', '.join(parts) or 'nothing to fill in'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
