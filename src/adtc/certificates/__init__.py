"""Claims about all trees of a space that others can check: made here, checked by ``verify``.

``verify`` imports nothing of adtc and runs as a single file. The rooms above take `certify` and
`Certificate` from their modules.
"""
