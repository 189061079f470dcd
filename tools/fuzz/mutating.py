"""Change bytes, texts and JSON values a little, at random; nothing here knows what they mean."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

ODD_BYTES = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b'"',
    b",",
    b"\xc3",
    b"PK\5\6",
    b"9" * 30,
)
ODD_TEXTS = (
    "", " ", "\0", "\n", "\ud800", "ä", "∞", "Ⅷ", "٣", "\u202e", "-1", "0", "1e999", "nan", "inf",
    "9" * 25, "1/0", "-0.0", "0x10", "%s", "{}", "''", '"', "\\", "[", "]", "(", ")", "=", ",",
    "..",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", "x", "0", "1/0", "nan", "9" * 25, [], {}, [0], [[]], {"": 0},
)  # fmt: skip


def change_bytes(random: Random, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Change one to four places."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        at = random.randrange(len(changed) + 1)
        size = random.choice((1, 1, 2, 4, 16, 100))
        match random.randrange(8):
            case 0:
                del changed[at : at + size]
            case 1:
                changed[at:at] = changed[at : at + size]
            case 2:
                changed[at : at + size] = random.randbytes(size)
            case 3:
                changed[at:at] = random.choice(ODD_BYTES)
            case 4:
                del changed[at:]
            case 5 if others:
                other = random.choice(others)
                start = random.randrange(len(other) + 1)
                changed[at:at] = other[start : start + size]
            case _:
                if at < len(changed):
                    changed[at] ^= 1 << random.randrange(8)
    return bytes(changed)


def change_text(random: Random, text: str, words: Sequence[str] = ODD_TEXTS) -> str:
    """Change one to three places; ``words`` are put in."""
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(text) + 1)
        size = random.choice((1, 1, 2, 5))
        match random.randrange(5):
            case 0:
                text = text[:at] + text[at + size :]
            case 1:
                text = text[:at] + text[at : at + size] * random.choice((2, 3)) + text[at + size :]
            case 2:
                text = text[:at] + random.choice(words) + text[at + size :]
            case 3:
                text = text[:at] + chr(random.choice((32, 40, 126, 255, 1000, 0x1F600))) + text[at:]
            case _:
                text = text[:at] + random.choice(words) + text[at:]
    return text


def change_json(random: Random, value: Any) -> Any:
    """Change one value somewhere inside, or its key, or what holds it."""
    value = json.loads(json.dumps(value))
    for _ in range(random.choice((1, 1, 2))):
        holder: Any = [value]
        key: Any = 0
        while isinstance(holder[key], dict | list) and holder[key] and random.random() < 0.85:
            holder = holder[key]
            key = (
                random.choice(list(holder))
                if isinstance(holder, dict)
                else random.randrange(len(holder))
            )
        _change_at(random, holder, key)
        value = holder[0] if holder == [value] else value
    return value


def _change_at(random: Random, holder: Any, key: Any) -> None:
    old = holder[key]
    match random.randrange(6):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[random.choice(ODD_TEXTS)] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.insert(random.randrange(len(holder) + 1), old)
        case 3 if isinstance(old, int | float) and not isinstance(old, bool):
            holder[key] = random.choice((old + 1, old - 1, -old, 2 * old, old / 2, str(old)))
        case 4 if isinstance(old, str):
            holder[key] = change_text(random, old)
        case _:
            holder[key] = random.choice(ODD_VALUES)
