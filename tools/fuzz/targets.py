"""All targets; a further one is one line here."""

import agreement
import asking
import formulas
import saved
import tables
from target import Target

TARGETS = (
    Target("formulas", 706, formulas.prepare),
    Target("csv", 100, tables.prepare_csv),
    Target("parquet", 60, tables.prepare_parquet),
    Target("profiles", 50, saved.prepare_profiles),
    Target("certificates", 50, saved.prepare_certificates),
    Target("dashboard", 25, asking.prepare_dashboard),
    Target("command line", 6, asking.prepare_commands),
    Target("agreement", 3, agreement.prepare),
)
