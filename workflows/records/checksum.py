"""Zstandard frames with a checksum of their content, which Arrow reads and verifies, but cannot
write. The format: RFC 8878, section 3.1.1; the checksum: XXH64 with seed 0, its low four bytes."""

import struct

import pyarrow as pa

MASK = 2**64 - 1
FIRST, SECOND, THIRD = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
FOURTH, FIFTH = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
DESCRIPTOR, HAS_CHECKSUM = 4, 4  # its place in the frame, and a flag in it


def compressed(content: bytes, level: int) -> bytes:
    frame = bytearray(pa.Codec("zstd", compression_level=level).compress(content, asbytes=True))
    frame[DESCRIPTOR] |= HAS_CHECKSUM
    return bytes(frame) + struct.pack("<I", xxh64(content) & 0xFFFFFFFF)


def xxh64(content: bytes) -> int:
    """A second for 10 MB."""
    stripes = len(content) // 32 * 32
    found = FIFTH
    if stripes:
        one, two, three, four = (FIRST + SECOND) & MASK, SECOND, 0, -FIRST & MASK
        for first, second, third, fourth in struct.iter_unpack("<4Q", content[:stripes]):
            one, two = mixed(one, first), mixed(two, second)
            three, four = mixed(three, third), mixed(four, fourth)
        found = turned(one, 1) + turned(two, 7) + turned(three, 12) + turned(four, 18)
        for lane in (one, two, three, four):
            found = ((found ^ mixed(0, lane)) * FIRST + FOURTH) & MASK
    found = (found + len(content)) & MASK
    words = stripes + len(content[stripes:]) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", content[stripes:words]):
        found = (turned(found ^ mixed(0, word), 27) * FIRST + FOURTH) & MASK
    rest = content[words:]
    if len(rest) >= 4:
        half = int.from_bytes(rest[:4], "little") * FIRST & MASK
        found, rest = (turned(found ^ half, 23) * SECOND + THIRD) & MASK, rest[4:]
    for byte in rest:
        found = turned(found ^ (byte * FIFTH & MASK), 11) * FIRST & MASK
    found = (found ^ found >> 33) * SECOND & MASK
    found = (found ^ found >> 29) * THIRD & MASK
    return found ^ found >> 32


def mixed(lane: int, word: int) -> int:
    return turned((lane + word * SECOND) & MASK, 31) * FIRST & MASK


def turned(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & MASK
