"""Answers within limits: the deepest depth that fits, brackets, intervals."""
