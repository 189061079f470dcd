"""Profiles on disk: the archive, what is in it, and whether its parts belong together."""
