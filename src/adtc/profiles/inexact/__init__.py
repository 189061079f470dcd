"""Profiles where exact ones are too large: bounded by coarse axes, or estimated from draws."""
