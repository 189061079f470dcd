"""Answers put before people: pictures of what a profile tells."""

from adtc.show import variables as variables  # registers its picture
from adtc.show.pictures import plot
from adtc.show.style import Picture

__all__ = ["Picture", "plot"]
