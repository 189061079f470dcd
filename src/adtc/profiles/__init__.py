"""What a finished computation tells: profiles of all good trees, and the trees themselves."""

from adtc.profiles.making import profile
from adtc.profiles.profile import Profile

__all__ = ["Profile", "profile"]
