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
from adtc.cli import main
from adtc.errors import DataError, QueryError
from adtc.show.certificate import certificate_html

WHERE = "acc >= 0.6 and dp <= 0.4"
RULE = "<job = cook, yes, no>"
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
    assert verifier.verify(content, columns, quick=True).reason is None
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1
        reason = verifier.verify(bytes(changed), columns, quick=True).reason
        assert reason, (at, content[at - 10 : at + 10])
    assert verifier.verify(content + b" ", columns, quick=True).reason
    assert verifier.verify(content[:-1], columns, quick=True).reason


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
        (("answer", "count"), lambda n: n + 1, "its words do not say"),
        (("claim",), lambda text: text.replace("exactly", "at most"), "its words do not say"),
        (("space", "max_depth"), 1, "its words do not say"),
        (("table", "least_rows"), 2, "its words do not say"),
        (("question", "where"), "acc >= 0.7 and dp <= 0.4", "its words do not say"),
        (("witness", "metrics", "acc"), "1/2", "acc of the tree shown is"),
        (("witness", "groups", 0, "selected"), 8, "rates by group of the tree shown"),
        (("witness", "rules"), lambda rules: rules[::-1], "its rules are others"),
        (("witness", "tree"), {"label": "no"}, "its rules are others"),
        (("witness",), None, "it shows no tree"),
        (("version",), 3, "it has version 3, but this verifier reads version 2"),
        (("version",), 1, "use verify.py of the adtc that made it, or certify again"),
        (("format",), "other", "it is no certificate of adtc"),
        (("table", "recipe", "features", 0, "high"), 28, "row 6 is not as certified"),
        (("table", "recipe", "target", "values"), ["yes", "no"], "row 1 is not as certified"),
        (("proofs",), [], "not put together"),
        (("proofs", 0, "multipliers"), [[0, "-1"]], "a multiplier of its proof is not above 0"),
        (("proofs", 0, "form"), "error", "not the sum of the formula's bounds"),
        (("proofs", 0, "least"), "1", "its proof does not hold"),
        (("question", "define"), {"acc": "1"}, "gives the metric 'acc' another meaning"),
        (("kind",), "optimum", "its numbers are not those of a claim of the kind 'optimum'"),
        (("answer", "baseline"), "1/2", "its numbers are not those of a claim"),
        (("answer", "value"), "1/2", "its numbers are not those of a claim"),
        (("answer", "count"), None, "its numbers are not those of a claim"),
        (("kind",), "proof", "not put together"),
        (("question", "define"), {"cost": "1"}, "its words do not say"),
        (("question", "define"), {"N[0,1]": "0", "error": "0"}, "the metric 'error' another"),
        (("table", "recipe", "features", 1, "name"), "age <= 30", "features have the same name"),
    ],
)
def test_a_forged_certificate_is_refused(
    people: Path, path: tuple[object, ...], value: object, reason: str
) -> None:
    assert reason in str(refusal(forged(certified(people), *path, value=value), people))


def reworded(content: bytes) -> bytes:
    """Let the words of a forged certificate say its numbers, under a digest made anew."""
    document = json.loads(content)
    del document["sha256"]
    document["claim"] = verifier.in_words(document)
    return adtc.Certificate(document).to_bytes()


def test_a_forged_number_in_right_words_is_found_by_counting(people: Path) -> None:
    made = certified(people)
    n = made.count
    fake = reworded(forged(made, "answer", "count", value=n + 1))
    assert f"{n:,} trees satisfy {WHERE}, but {n + 1:,} are certified" in str(refusal(fake, people))
    none = certified(people, where="acc > 1")
    assert none.kind == "none"
    fake = reworded(forged(none, "question", "where", value="acc >= 1"))
    assert "its proof does not hold" in str(refusal(fake, people))
    document = json.loads(fake)
    document["proofs"] = [None]
    fake = reworded(json.dumps(document).encode())
    assert "trees satisfy acc >= 1, but 0 are certified" in str(refusal(fake, people))


def test_a_form_that_just_meets_its_bound_proves_nothing(people: Path) -> None:
    made = certified(people, where="error <= 0 and depth > 2")  # some tree errs nowhere
    assert (made.kind, made.proved) == ("none", False)
    assert "counted again" in adtc.verify(made.save(people.parent / "c.json"), people).checked[-1]
    strict = certified(people, where="error < 0")
    assert (strict.kind, strict.proved) == ("none", True)
    assert refusal(strict.to_bytes(), people) is None


def test_a_forged_optimum_is_refused(people: Path) -> None:
    made = certified(people, minimize="size", where="acc >= 0.8")
    assert refusal(made.to_bytes(), people) is None
    least = int(made.document["answer"]["value"])
    for value in (least - 1, least + 1):
        fake = reworded(forged(made, "answer", "value", value=str(value)))
        assert f"size of the tree shown is {least}" in str(refusal(fake, people))


def test_an_alternative_is_checked_against_the_decisions_in_use(people: Path) -> None:
    made = alternative(people)
    report = adtc.verify(made.save(people.parent / "claim.json"), people)
    assert report, report.reason
    assert "the decisions in use have the rates and gaps certified" in report.checked
    rates = made.document["baseline"]["groups"]
    assert [(g["group"], g["rows"], g["selected"], g["rate"]) for g in rates] == [
        ("f", 4, 1, "1/4"),
        ("m", 4, 3, "3/4"),
    ]
    assert [g["impact_ratio"] for g in rates] == ["1/3", "1"]
    assert made.document["answer"]["baseline"] == "1/2"
    assert made.count == adtc.count(
        read(people), adtc.Space(max_depth=2), where="(acc >= 1/2) and dp < 1/2"
    )
    fake = reworded(forged(made, "answer", "baseline", value="3/4"))
    assert "dp of the decisions in use is 1/2" in str(refusal(fake, people))


def test_a_tree_may_be_the_decisions_in_use_and_none_be_better(people: Path) -> None:
    data = read(people)
    rule = parse_tree(RULE, data.feature_names, data.labels)
    made = alternative(people, rule)
    assert (made.count, made.claim[:18]) == (0, "None in this class")
    assert made.document["baseline"]["metrics"]["acc"] == "1"
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
    fake = reworded(forged(made, "answer", "count", value=n + 1))
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
    low, high = held["acc_interval"]
    assert low <= float(expected["acc"]) <= high
    assert sum(group["rows"] for group in held["groups"]) == len(lines)
    found = adtc.verify(made.save(people.with_name("claim.json")), people)
    assert found.valid
    assert "held-out rows of test: they are not in this table" in str(found)
    page = certificate_html(made, data)
    assert "On held-out rows" in page
    assert "95 % interval" in page
    alone = adtc.certify(data, adtc.Space(max_depth=1), minimize="error")
    assert "On held-out rows" not in certificate_html(alone, data)
