"""Checksums, as the libraries ``xxhash`` 4.1 and ``google-crc32c`` 1.9 computed them."""

from __future__ import annotations

import sys

import pytest

from compat.state.flink import checksums

XXH3_AND_CRC = {
    0: ("2d06800538d394c2", "00000000"),
    1: ("c44bdff4074eecdb", "527d5351"),
    3: ("c3489259e968ad9e", "b671d518"),
    4: ("d3d60c1519014e89", "ede36e57"),
    8: ("b88dee77f6bf6980", "a7fe3fce"),
    9: ("03688dcad730d826", "871525f3"),
    16: ("9da23836adf2be1e", "b4272d4e"),
    17: ("f34c3c9cf5a112d1", "ce5282ea"),
    33: ("c077b45492d29cde", "70441cbb"),
    65: ("fd2b8a4f15d954d0", "0cc4cfca"),
    97: ("92b3a831febf71ac", "6490bb01"),
    128: ("4c659b745f435148", "4bfdeac4"),
    129: ("b85222b83902b6e5", "8ac4183c"),
    240: ("d6dfbf67b0675b54", "109f12ee"),
    241: ("c614c8c3575348c1", "1316d1ff"),
    1024: ("f22ef3dc84ff47ea", "2744a656"),
    1025: ("43f869a83769a435", "ea6bde64"),
    5000: ("ce29a19460ee1bfc", "41feeac1"),
}
"""By the length of bytes that go by steps of seven."""


@pytest.mark.parametrize("length", XXH3_AND_CRC)
def test_hashes_of_every_range_of_lengths(length: int) -> None:
    data = bytes(place * 7 % 251 for place in range(length))
    hashed, crc = XXH3_AND_CRC[length]
    for xxh3 in (checksums.xxh3, checksums.plain_xxh3):
        assert f"{xxh3(data):016x}" == hashed
    for crc32c in (checksums.crc32c, checksums.plain_crc32c):
        assert f"{crc32c(data):08x}" == crc


def test_a_crc_that_is_kept_is_turned_about() -> None:
    """As RocksDB's ``crc32c::Mask`` and Snappy's description have it."""
    assert checksums.crc32c(b"123456789") == 0xE3069283
    turned = (checksums.masked_crc32c(b"123456789") - 0xA282EAD8) % (1 << 32)
    assert (turned >> 17 | turned << 15) % (1 << 32) == 0xE3069283


@pytest.mark.parametrize("installed", [True, False])
def test_libraries_are_taken_where_they_are_installed(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        value = staticmethod(lambda data: 1)
        xxh3_64_intdigest = staticmethod(lambda data: 2)

    for name in ("google_crc32c", "xxhash"):
        monkeypatch.setitem(sys.modules, name, Library if installed else None)  # type: ignore[arg-type]
    for kept in (checksums._crc32c, checksums._xxh3):
        kept.cache_clear()
    try:
        expected = (1, 2) if installed else (0xE3069283, checksums.plain_xxh3(b"123456789"))
        assert (checksums.crc32c(b"123456789"), checksums.xxh3(b"123456789")) == expected
    finally:
        for kept in (checksums._crc32c, checksums._xxh3):
            kept.cache_clear()
