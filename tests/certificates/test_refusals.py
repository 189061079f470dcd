"""What is refused: a changed certificate, a changed table, a forged number, a false claim."""

import ast
import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_certificates import forged

import adtc
from adtc.algebra.trees import parse_tree
from adtc.certificates import verify as verifier
from adtc.certificates.certificate import groups_of
from adtc.cli import main
from adtc.errors import DataError, LimitError, QueryError
from adtc.show.certificate import certificate_html

WHERE = "acc >= 0.6 and dp <= 0.4"
RULE = "<job = cook, yes, no>"
FIRST = ("statements", 0)
SWAPPED = [{"values": ["yes"]}, {"values": ["no"]}]
PEOPLE = """\
age;job;city;sex;used;y
25;cook;Rome;f;yes;yes
31;clerk;Rome;m;yes;no
47;cook;Oslo;f;no;yes
52;?;Oslo;m;yes;no
38;clerk;Rome;f;no;no
29;cook;Oslo;m;yes;yes
61;clerk;Oslo;f;no;no
44;cook;Rome;m;no;yes
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    return path


def read(path: Path) -> adtc.Data:
    return adtc.read(
        path,
        target="y",
        sensitive="sex",
        references=["used"],
        drop=["city"],
        na=["?"],
        cuts={"age": [30, 45]},
    )


def certified(path: Path, **options: object) -> adtc.Certificate:
    return adtc.certify(read(path), adtc.Space(max_depth=2), **{"where": WHERE, **options})


def alternative(path: Path, baseline: object = "used") -> adtc.Certificate:
    return adtc.certify_alternative(read(path), adtc.Space(max_depth=2), baseline=baseline)


def refusal(content: bytes, table: Path) -> str | None:
    path = table.parent / "claim.json"
    path.write_bytes(content)
    return adtc.verify(path, table).reason


def test_any_changed_byte_is_refused(people: Path) -> None:
    content = certified(people).to_bytes()
    columns = verifier.read_table(str(people), verifier.opened(content)["table"])

    def reason_of(changed: bytes) -> str | None:
        return verifier.Report(changed, lambda about: columns, quick=True).reason

    assert reason_of(content) is None
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1
        assert reason_of(bytes(changed)), (at, content[at - 10 : at + 10])
    assert reason_of(content + b" ")
    assert reason_of(content[:-1])


def test_any_changed_row_is_refused_and_named(people: Path) -> None:
    content = certified(people).to_bytes()
    assert refusal(content, people) is None
    head, *rows = PEOPLE.splitlines()
    for at, row in enumerate(rows):
        values = row.split(";")
        for place, other in enumerate(["26", "smith", "Bern", "x", "maybe", "perhaps"]):
            changed = [*values[:place], other, *values[place + 1 :]]
            lines = [head, *rows[:at], ";".join(changed), *rows[at + 1 :]]
            people.write_text("\n".join(lines) + "\n", encoding="utf-8")
            reason = refusal(content, people)
            assert reason is not None, changed
            assert reason.startswith("the table was changed"), reason
            assert f"row {at + 1} " in reason, reason
    for lines in (rows[:-1], [*rows, rows[0]]):
        people.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
        assert "rows, but 8 are certified" in str(refusal(content, people))
    people.write_text(PEOPLE.replace("city", "town"), encoding="utf-8")
    assert "a name is not as certified" in str(refusal(content, people))
    people.write_text(PEOPLE.replace("age", "years"), encoding="utf-8")
    assert "a name is not as certified" in str(refusal(content, people))
    bare = json.loads(content)["table"] | {"raw": None}  # of a table that was no file
    people.write_text(PEOPLE, encoding="utf-8")
    content = forged(certified(people), "table", value=bare)
    assert refusal(content, people) is None
    people.write_text(PEOPLE.replace("age", "years"), encoding="utf-8")
    assert "it lacks the column 'age'" in str(refusal(content, people))
    people.write_text(PEOPLE.replace("25", "old"), encoding="utf-8")
    assert "the table was changed: 'old' is no number" in str(refusal(content, people))
    people.write_text(PEOPLE.replace("f;yes;yes", "f;maybe;yes"), encoding="utf-8")
    assert "row 1 has another 'used' than certified" in str(refusal(content, people))
    people.write_text(PEOPLE.replace("61;clerk", "61;clerk;clerk"), encoding="utf-8")
    assert "row 7 has not 6 fields" in str(refusal(content, people))


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ((*FIRST, "trees"), lambda n: n + 1, "its words do not say"),
        ((*FIRST, "trees"), None, "its words do not say"),
        (("claim",), lambda text: text.replace("exactly", "at most"), "its words do not say"),
        (("claim",), lambda text: text.replace("0 = no", "0 = yes"), "its words do not say"),
        (("space", "max_depth"), 1, "its words do not say"),
        (("space", "minsup"), 2, "its words do not say"),
        (("space", "max_size"), 0, "none that this verifier knows"),
        (("space", "root"), ["age"], "none that this verifier knows"),
        ((*FIRST, "where"), ["<=", "dp", "0.4"], "its words do not say"),
        ((*FIRST, "shown", "metrics", "acc"), "1/2", "acc of the tree shown is"),
        ((*FIRST, "shown", "metrics", "selected[f]"), "8", "selected[f] of the tree shown is"),
        ((*FIRST, "shown", "metrics", "dp"), None, "dp of the tree shown is"),
        (
            (*FIRST, "shown", "tree"),
            {"label": "no"},
            "the tree shown: acc >= 0.6 and dp <= 0.4 does",
        ),
        ((*FIRST, "shown", "tree"), {"label": "maybe"}, "the tree shown is not in the class"),
        ((*FIRST, "shown"), None, "it shows no tree"),
        (("statements",), [], "its words do not say"),
        (("version",), 4, "it has version 4, but this verifier reads version 3"),
        (("version",), 2, "it has the older version 2, but this verifier reads version 3"),
        (("version",), 1, "use verify.py of the adtc that made it, or certify again"),
        (("format",), "other", "it is no certificate of adtc"),
        (("table", "recipe", "features", 0, "high"), 28, "row 6 is not as certified"),
        (("table", "recipe", "codes", "label", "tests"), SWAPPED, "row 1 is not as certified"),
        (("table", "recipe", "features", 2, "values"), ["cook", "x"], "in its recipe has no name"),
        ((*FIRST, "proof", "multipliers"), [[0, "-1"]], "a multiplier of its proof is not above 0"),
        ((*FIRST, "proof", "form"), "error", "its proof does not hold"),
        ((*FIRST, "proof", "least"), "1", "its proof does not hold"),
        (("define", "acc"), "1", "its words do not say"),
        (("define",), {}, "its words do not say"),
        (("metrics", "error"), "0", "gives the metric 'error' another meaning"),
        (("metrics", "N[0,1]"), "0", "gives the metric 'N[0,1]' another meaning"),
        (("metrics",), {}, "that it does not define"),
        (("table", "recipe", "features", 1, "high"), 30, "features have the same name"),
    ],
)
def test_a_forged_certificate_is_refused(
    people: Path, path: tuple[object, ...], value: object, reason: str
) -> None:
    assert reason in str(refusal(forged(certified(people), *path, value=value), people))


def test_a_tree_is_scored_as_it_stands_in_the_class(people: Path) -> None:
    made = certified(people)
    both = forged(made, *FIRST, "shown", "tree", value=lambda tree: tree | {"label": "no"})
    leaf = forged(made, *FIRST, "shown", "tree", value={"label": "no"})
    assert "does not hold" in str(refusal(leaf, people))
    assert refusal(both, people) is None  # a split, whatever label is written beside it


def test_a_name_says_what_is_tested(people: Path) -> None:
    made = certified(people)
    for feature in made.document["table"]["recipe"]["features"]:
        assert "name" not in feature  # so that it cannot be forged
    for value in ({"high": 31}, {"column": "job"}, {"high": None, "low": 30}, {"values": ["25"]}):
        fake = forged(made, "table", "recipe", "features", 0, value=lambda f, v=value: f | v)
        assert refusal(fake, people) is not None, value


def rewritten(made: adtc.Certificate, *changes: tuple[tuple[object, ...], object]) -> bytes:
    """Forge several values, and let the words say them."""
    content = made.to_bytes()
    for path, value in changes:
        content = forged(_from(content), *path, value=value)
    return reworded(content)


def _from(content: bytes) -> adtc.Certificate:
    return adtc.Certificate({k: v for k, v in json.loads(content).items() if k != "sha256"})


def test_words_that_limit_nothing_are_refused(people: Path) -> None:
    made = certified(people)
    for limit in ({"banned": "job"}, {"labels": "minority"}, {"max_size": -1}, {"minsup": -1}):
        fake = rewritten(made, (("space",), lambda space, more=limit: space | more))
        assert "none that this verifier knows" in str(refusal(fake, people)), limit
    fake = rewritten(made, (("space", "max_depth"), 1.5))  # that is 1, and there are fewer trees
    assert "trees satisfy" in str(refusal(fake, people)) or "not in the class" in str(
        refusal(fake, people)
    )


def test_a_formula_means_what_the_words_define(people: Path) -> None:
    made = certified(people)
    assert "Here acc is (N - error) / N" in made.claim
    assert "Here label is y: 0 = no, 1 = yes. Here group is sex: 0 = f, 1 = m." in made.claim
    hidden = (
        (("define",), lambda define: {k: v for k, v in define.items() if k != "acc"}),
        (("metrics", "acc"), ["/", "N", "N"]),
    )
    for one in (made, certified(people, where="acc > 1")):
        fake = rewritten(one, *hidden)
        assert "a metric 'acc' that it does not define" in str(refusal(fake, people))
    sentence = "acc. None in this class: there are no trees with size"
    told = rewritten(made, (("define", sentence), "acc"))
    assert f"gives the metric '{sentence}' another meaning" in str(refusal(told, people))
    told = rewritten(made, (("define", "acc"), ["/", "N", "N"]))
    assert refusal(told, people) is not None


def test_weights_and_the_column_in_use_are_said(people: Path) -> None:
    data = adtc.read(people, target="y", sensitive="sex", weights="age", drop=["city", "used"])
    made = adtc.certify(data, adtc.Space(max_depth=1))
    assert "A row counts as its age says." in made.claim
    assert adtc.verify(made.save(people.with_name("claim.json")), people)
    fake = forged(made, "table", "recipe", "weights", value=None)
    assert refusal(fake, people) is not None
    assert "those in the column used, have dp = 1/2" in alternative(people).claim


def test_the_verifier_is_short_enough_to_be_read() -> None:
    lines = Path(verifier.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 600
    assert max(map(len, lines)) <= 100


def reworded(content: bytes) -> bytes:
    """Let the words of a forged certificate say its numbers, under a digest made anew."""
    document = json.loads(content)
    del document["sha256"]
    document["claim"] = verifier.in_words(document)
    return adtc.Certificate(document).to_bytes()


def test_a_forged_number_in_right_words_is_found_by_counting(people: Path) -> None:
    made = certified(people)
    n = made.count
    fake = reworded(forged(made, *FIRST, "trees", value=n + 1))
    assert f"{n:,} trees satisfy {WHERE}, but {n + 1:,} are certified" in str(refusal(fake, people))
    none = certified(people, where="acc > 1")
    assert none.kind == "none"
    fake = reworded(forged(none, *FIRST, "where", value=[">=", "acc", "1"]))
    assert "its proof does not hold" in str(refusal(fake, people))
    document = json.loads(fake)
    document["statements"][0]["proof"] = None
    fake = reworded(json.dumps(document).encode())
    assert "trees satisfy acc >= 1, but 0 are certified" in str(refusal(fake, people))


def test_a_form_that_just_meets_its_bound_proves_nothing(people: Path) -> None:
    made = certified(people, where="error <= 0 and depth > 2")  # some tree errs nowhere
    assert (made.kind, made.proved) == ("none", False)
    assert "counted again" in adtc.verify(made.save(people.parent / "c.json"), people).checked[-1]
    some = certified(people, where="error < 1")  # those are pruned by it, and no more
    assert (some.kind, refusal(some.to_bytes(), people)) == ("count", None)
    strict = certified(people, where="error < 0")
    assert (strict.kind, strict.proved) == ("none", True)
    assert refusal(strict.to_bytes(), people) is None


def test_a_forged_optimum_is_refused(people: Path) -> None:
    made = certified(people, minimize="size", where="acc >= 0.8")
    assert refusal(made.to_bytes(), people) is None
    least = int(made.value)
    assert certified(people, maximize="acc", where="size = 1").value == "1/2"
    equal, better = made.document["statements"]
    assert (equal["where"][-1], better["where"][-1]) == (
        ["=", "size", f"{least}"],
        ["<", "size", f"{least}"],
    )
    for value in (least - 1, least + 1):
        wrong = ["and", *equal["where"][1:-1], ["=", "size", str(value)]]
        fake = reworded(forged(made, *FIRST, "where", value=wrong))
        assert f"size = {value} does not hold" in str(refusal(fake, people))
    wrong = ["and", *better["where"][1:-1], ["<", "size", str(least + 1)]]
    fake = forged(made, "statements", 1, "where", value=wrong)
    fake = json.loads(fake)
    fake["statements"][1]["proof"] = None
    fake = reworded(json.dumps(fake).encode())
    assert "trees satisfy" in str(refusal(fake, people))


def test_an_alternative_is_checked_against_the_decisions_in_use(people: Path) -> None:
    made = alternative(people)
    report = adtc.verify(made.save(people.parent / "claim.json"), people)
    assert report, report.reason
    assert "the decisions in use, row by row: dp = 1/2 holds, its metrics are right" in (
        report.checked
    )
    assert groups_of(made.document, made.document["in_use"]["metrics"]) == [
        {"group": g, "rows": "4", "selected": n, "selection_rate": rate, "impact_ratio": ratio}
        for g, n, rate, ratio in (("f", "1", "1/4", "1/3"), ("m", "3", "3/4", "1"))
    ]
    assert made.baseline == "1/2"
    assert made.count == adtc.count(
        read(people), adtc.Space(max_depth=2), where="(acc >= 1/2) and dp < 1/2"
    )
    fake = reworded(forged(made, "in_use", "where", 2, value="3/4"))
    assert "the decisions in use: dp = 3/4 does not hold" in str(refusal(fake, people))
    fake = forged(made, "in_use", "metrics", "dp", value="3/4")
    assert "dp of the decisions in use is 1/2" in str(refusal(fake, people))


def test_a_tree_may_be_the_decisions_in_use_and_none_be_better(people: Path) -> None:
    data = read(people)
    rule = parse_tree(RULE, data.feature_names, data.labels)
    made = alternative(people, rule)
    assert (made.count, made.claim[:18]) == (0, "None in this class")
    assert made.document["in_use"]["metrics"]["acc"] == "1"
    assert adtc.verify(made.save(people.parent / "claim.json"), people)


def test_more_is_better_of_a_ratio(people: Path) -> None:
    made = adtc.certify_alternative(
        read(people), adtc.Space(max_depth=2), baseline="used", gap="dp_ratio", floor="acc >= 0.75"
    )
    assert made.document["question"]["sense"] == "maximize"
    assert made.count == adtc.count(
        read(people), adtc.Space(max_depth=2), where="acc >= 0.75 and dp_ratio > 1/3"
    )
    assert adtc.verify(made.save(people.parent / "claim.json"), people)


def test_false_and_odd_claims_are_refused(people: Path) -> None:
    data, space = read(people), adtc.Space(max_depth=1)
    for options, sentence in (
        ({"where": "acc > 1", "claim": "existence"}, "is not true: none does"),
        ({"where": "acc > 0", "claim": "none"}, "is not true: "),
        ({"where": "acc > 1", "minimize": "size"}, "there is no best one"),
        ({"minimize": "size", "maximize": "acc"}, "not both"),
        ({"minimize": "size", "claim": "count"}, "optimises nothing"),
        ({"claim": "all"}, "unknown claim 'all'"),
        ({"define": {"cost": adtc.algebra.metrics.ERROR}}, "is a function"),
    ):
        with pytest.raises(QueryError, match=sentence):
            adtc.certify(data, space, **options)
    with pytest.raises(QueryError, match="certify the table as it was read"):
        adtc.certify(data.merged(), space)
    with pytest.raises(DataError, match="unknown reference column 'sex'"):
        adtc.certify_alternative(data, space, baseline="sex")
    people.write_text(PEOPLE.replace("25;", "35;"), encoding="utf-8")
    with pytest.raises(DataError, match="does not read as the table that was loaded from it"):
        adtc.certify(data, space)


def test_a_profile_needs_no_table_and_a_certificate_does(people: Path) -> None:
    path = certified(people).save(people.parent / "claim.json")
    with pytest.raises(QueryError, match="give the table, too"):
        adtc.verify(path)
    with pytest.raises(DataError, match=r"there is no file 'nobody\.csv'"):
        adtc.verify(path, "nobody.csv")
    with pytest.raises(DataError, match="nothing that can be verified"):
        adtc.verify(people)
    assert adtc.verify(people, people).reason == "it is no certificate of adtc, or a damaged one"
    saved = adtc.profile(read(people), adtc.Space(max_depth=1), ["acc"])
    with pytest.raises(QueryError, match="which needs no table"):
        adtc.verify(saved.save(people.parent / "run.adtc"), people)


def test_what_takes_too_long_is_counted_by_the_engine(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = certified(people)
    monkeypatch.setattr(verifier, "WORK", 5)
    assert verifier.main([str(made.save(people.parent / "claim.json")), str(people)]) == 0
    found = adtc.verify(people.parent / "claim.json", people)
    assert found.valid
    assert "counted again by adtc's engine, not independently" in found.checked[-1]
    n = made.count
    fake = reworded(forged(made, *FIRST, "trees", value=n + 1))
    assert f"{n:,} trees satisfy" in str(refusal(fake, people))


def test_the_verifier_imports_nothing_of_adtc() -> None:
    tree = ast.parse(Path(verifier.__file__).read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - {"pyarrow"} <= set(sys.stdlib_module_names)
    assert "importlib" not in imported
    assert "__import__" not in ast.dump(tree)


def test_the_verifier_runs_as_a_single_file(people: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    program = alone / "check.py"
    program.write_bytes(Path(verifier.__file__).read_bytes())
    claim = certified(people).save(alone / "claim.json")
    packed = alone / "people.csv.gz"
    packed.write_bytes(gzip.compress(people.read_bytes()))

    def run(*args: object) -> subprocess.CompletedProcess[str]:
        # -I and -S: neither the working directory nor installed packages can be imported
        command = [sys.executable, "-I", "-S", str(program), *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    for table in (people, packed):
        done = run(claim, table)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"valid: {claim}\n")
        assert "counted again by a recursion over paths" in done.stdout
    packed.write_bytes(packed.read_bytes()[:-20])
    assert run(claim, packed).returncode == 2
    assert adtc.verify(claim, packed).reason == "the table was changed: it cannot be unpacked"
    typed = alone / "people.parquet"
    typed.write_bytes(b"PAR1")
    assert "use `adtc verify` for a Parquet file" in run(claim, typed).stdout
    latin = alone / "latin.csv"
    latin.write_bytes(PEOPLE.replace("Rome", "Köln", 1).encode("latin-1"))
    assert "row 1 is not as certified" in run(claim, latin).stdout
    quick = run(claim, people, "--quick")
    assert (quick.returncode, "not counted" in quick.stdout) == (0, True)
    people.write_text(PEOPLE.replace("Rome", "Bern", 1), encoding="utf-8")
    done = run(claim, people)
    assert done.returncode == 1
    assert "refused: the table was changed: row 1 is not as certified" in done.stdout
    assert run(claim).returncode == run(claim, alone / "none.csv").returncode == 2


def test_the_commands_tell_programs_and_people(people: Path, tmp_path: Path) -> None:
    options = [str(people), "--target", "y", "--sensitive", "sex", "--na", "?", "--maxdep", "2"]
    options += ["--drop", "city", "--drop", "used", "--cuts", "age=30,45"]
    claim, page = tmp_path / "claim.json", tmp_path / "claim.html"

    def run(*args: object) -> object:
        return CliRunner().invoke(main, [*map(str, args), "--json"])

    made = run("certify", *options, "--where", "acc >= 0.9", "-o", claim, "--page", page)
    told = json.loads(made.stdout)
    assert (told["status"], told["path"], told["kind"]) == ("exact", str(claim), "count")
    assert told["claim"].startswith(f"There are exactly {told['count']:,} decision trees")
    assert "adtc certify" in json.loads(claim.read_text())["made"]["command"]
    assert "no legal advice" in page.read_text(encoding="utf-8")
    checked = run("verify", claim, people)
    assert (checked.exit_code, json.loads(checked.stdout)["valid"]) == (0, True)
    quick = json.loads(run("verify", claim, people, "--quick").stdout)
    assert "not counted" in quick["unchecked"][0]
    people.write_text(PEOPLE.replace("25", "26"), encoding="utf-8")
    refused = run("verify", claim, people)
    assert (refused.exit_code, json.loads(refused.stdout)["valid"]) == (1, False)
    assert "row 1 is not as certified" in json.loads(refused.stdout)["reason"]
    assert run("verify", claim).exit_code == 2
    for wrong in (["--gap", "dp"], ["--baseline", "used", "--where", "acc > 0"]):
        assert run("certify", *options, *wrong, "-o", claim).exit_code == 2
    options[-6:] = []
    used = run("certify", *options, "--baseline", "used", "--floor", "acc >= 0.7", "-o", claim)
    assert json.loads(used.stdout)["kind"] == "alternative", used.stderr
    assert run("verify", claim, people).exit_code == 0


@pytest.mark.parametrize("deep", ["[", '{"t1":'])
def test_a_file_nested_without_end_is_refused(people: Path, deep: str) -> None:
    content = certified(people).to_bytes()[:-2] + b',"x":' + deep.encode() * 100_000
    assert refusal(content, people) == "it is no certificate of adtc, or a damaged one"


def test_a_field_may_be_long(people: Path) -> None:
    people.write_text(PEOPLE.replace("Rome", "R" * 200_000), encoding="utf-8")
    path = certified(people).save(people.parent / "claim.json")
    assert adtc.verify(path, people).reason is None


@pytest.mark.parametrize("table", [None, 7, {}, {"file": None}, []])
def test_a_misshapen_certificate_is_refused_by_the_file_alone(
    people: Path, table: object, capsys: pytest.CaptureFixture[str]
) -> None:
    content = forged(certified(people), "table", value=table)
    path = people.parent / "claim.json"
    path.write_bytes(content)
    assert verifier.main([str(path), str(people)]) == 1
    assert verifier.MISSHAPEN in capsys.readouterr().out
    assert adtc.verify(path, people).reason == verifier.MISSHAPEN


def test_what_no_tree_tests_is_said_and_checked(people: Path) -> None:
    data = read(people)
    space = adtc.Space(max_depth=1)
    banned = data.features[0].column
    made = adtc.certify(data, replace(space, banned=banned), "error >= 0")
    assert f"no test of {banned}" in made.claim
    assert made.count < adtc.certify(data, space, "error >= 0").count
    path = made.save(people.with_name("claim.json"))
    assert adtc.verify(path, people).valid
    for tests in ({"required": banned}, {"root": banned}, {"max_variables": 1}):
        with pytest.raises(QueryError, match="class cannot say which tests come first"):
            adtc.certify(data, replace(space, **tests))


def test_the_tree_shown_is_scored_on_held_out_rows(people: Path) -> None:
    data = read(people)
    names, *lines = (line.split(";") for line in people.read_text().splitlines()[::2])
    unknown = ["40", "cook", "Rome", "x", "no", "yes"]  # of no known group
    columns = map(list, zip(*lines, unknown, strict=True))
    frame = dict(zip(names, columns, strict=True))
    both = data.with_table("test", frame | {"age": [int(age) for age in frame["age"]]})
    made = adtc.certify(both, adtc.Space(max_depth=1), minimize="error")
    (held,) = made.document["held_out"]
    tree = adtc.optimize(data, adtc.Space(max_depth=1)).tree
    rows = dict(both.tables)["test"]
    expected = adtc.score(tree, rows, ["error", "acc"])
    assert (held["rows"], held["no_group"]) == (len(lines) + 1, 1)
    assert held["metrics"]["acc"] == str(expected["acc"])
    low, high = held["intervals"]["acc"]
    assert low <= float(expected["acc"]) <= high
    assert sum(int(held["metrics"][f"rows[{sex}]"]) for sex in "fm") == len(lines)
    found = adtc.verify(made.save(people.with_name("claim.json")), people)
    assert found.valid
    assert "held-out rows of test: they are not in this table" in str(found)
    page = certificate_html(made, data)
    assert "On held-out rows" in page
    assert "95 % interval" in page
    alone = adtc.certify(data, adtc.Space(max_depth=1), minimize="error")
    assert "On held-out rows" not in certificate_html(alone, data)


@pytest.mark.parametrize("goal", [{}, {"minimize": "error"}, {"claim": "existence"}])
def test_within_limits_what_is_not_proved_is_refused(goal: dict[str, str]) -> None:
    data = adtc.load_dataset("german-credit", nbins=2)
    monitor = adtc.Monitor(memory_limit=2_000)
    space = adtc.Space(max_depth=3, relminsup=0.1)
    with pytest.raises(LimitError, match="would need about"):
        adtc.certify(data, space, "acc >= 0.73", **goal, monitor=monitor)
    assert monitor.finished is None  # who watches the run finds no part of it to take for all
