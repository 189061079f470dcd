"""The version, in the one place from which the build and the run record read it."""

__version__ = "0.1.0"
