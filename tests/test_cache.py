"""The LRU cache: what stays, what goes, and that threads and processes may share it."""

import pickle
import threading

from adtc.cache import LRUCache


def test_a_result_is_made_once() -> None:
    cache: LRUCache[int] = LRUCache(2)
    made: list[int] = []
    for key in (1, 2, 1, 1, 2):
        assert cache.get(key, lambda key=key: made.append(key) or key) == key
    assert made == [1, 2]


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache: LRUCache[int] = LRUCache(2)
    made: list[str] = []
    for key in "abacab":
        cache.get(key, lambda key=key: made.append(key) or 0)
    assert made == ["a", "b", "c", "b"]


def test_bytes_are_bounded() -> None:
    cache: LRUCache[bytes] = LRUCache(100, most_bytes=10)
    for key, length in enumerate((4, 4, 4, 11, 0)):
        cache.get(key, lambda length=length: bytes(length), len)
    kept = [key for key in range(5) if cache.get(key, lambda: b"absent") != b"absent"]
    assert kept == [1, 2, 4]


def test_a_dropped_result_is_made_anew() -> None:
    cache: LRUCache[int] = LRUCache(2, most_bytes=8)
    cache.get("a", lambda: 1, lambda _: 8)
    cache.drop("a")
    cache.drop("never there")
    assert cache.get("b", lambda: 2, lambda _: 8) == 2
    assert cache.get("b", lambda: 3) == 2


def test_a_copy_starts_empty() -> None:
    cache: LRUCache[int] = LRUCache(3, 5)
    cache.get("a", lambda: 1)
    copy = pickle.loads(pickle.dumps(cache))
    assert (len(copy), copy.most, copy.most_bytes) == (0, 3, 5)


def test_threads_share_it() -> None:
    cache: LRUCache[int] = LRUCache(8, 64)
    wrong: list[int] = []

    def work() -> None:
        for i in range(2000):
            if cache.get(i % 13, lambda i=i: i % 13, lambda _: 5) != i % 13:
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(cache) <= 8
