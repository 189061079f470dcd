"""The dashboard: a small web server over one profile, for one person on one machine.

It only reads: every answer is a view of the profile, and the front end is the one of the report.
"""

from adtc.dashboard.server import make_app
from adtc.dashboard.serving import serve

__all__ = ["make_app", "serve"]
