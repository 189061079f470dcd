"""Whole columns of exact numbers: terms and formulas on them, counts of several limbs."""
