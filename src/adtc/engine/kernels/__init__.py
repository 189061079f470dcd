"""Compiled kernels: arrays in, arrays out, one thread, no checks."""
