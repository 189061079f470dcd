"""An LRU cache: results that were used last, within a number of entries and of bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LRUCache(Generic[T]):
    """Results by key; those that were not used for longest go first.

    Safe to share between threads: results are made outside the lock, so two threads may make the
    same one, and the first is kept. A copy in another process starts empty.

    Parameters
    ----------
    most
        Number of entries.
    most_bytes
        What all entries together may hold, by their ``size``; a larger one is not kept at all.

    Examples
    --------
    >>> cache = LRUCache(2)
    >>> [cache.get(key, lambda key=key: key.upper()) for key in "abca"], len(cache)
    (['A', 'B', 'C', 'A'], 2)
    """

    def __init__(self, most: int, most_bytes: int = 0) -> None:
        self.most, self.most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.most, self.most_bytes)

    def get(
        self, key: Hashable, make: Callable[[], T], size: Callable[[T], int] | None = None
    ) -> T:
        """Return the result of a key, or make it; ``size`` counts its bytes."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
        made = make()
        held = size(made) if size is not None else 0
        with self._lock:
            if held <= self.most_bytes and key not in self._entries:
                self._entries[key] = made, held
                self._bytes += held
                while len(self._entries) > self.most or self._bytes > self.most_bytes:
                    self._bytes -= self._entries.popitem(last=False)[1][1]
        return made

    def drop(self, key: Hashable) -> None:
        """Forget one result."""
        with self._lock:
            self._bytes -= self._entries.pop(key, (None, 0))[1]
