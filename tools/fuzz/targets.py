"""All targets; a further one is one line here."""

import agreement
import asking
import checkpoints
import formulas
import saved
import tables
from target import Target

TARGETS = (
    Target("formulas", 840, formulas.prepare),
    Target("csv", 60, tables.prepare_csv),
    Target("parquet", 30, tables.prepare_parquet),
    Target("profiles", 20, saved.prepare_profiles),
    Target("certificates", 20, saved.prepare_certificates),
    Target("checkpoints", 10, checkpoints.prepare),
    Target("dashboard", 12, asking.prepare_dashboard),
    Target("command line", 5, asking.prepare_commands),
    Target("agreement", 3, agreement.prepare),
)
