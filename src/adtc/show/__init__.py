"""Pictures, pages and texts of what profiles hold."""

from adtc.show import variables as variables  # registers its picture
from adtc.show.pictures import plot
from adtc.show.style import Picture

__all__ = ["Picture", "plot"]
