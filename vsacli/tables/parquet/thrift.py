"""Thrift's compact protocol, as far as the metadata of Parquet files uses it, without a schema.

A struct is a dictionary from field id to ``(type, value)`` in the order read, so that what is decoded and encoded again
gives the same bytes, unknown fields included.
Protocol: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
_INTEGERS = (I16, I32, I64)

Struct = dict[int, tuple[int, Any]]


class ThriftList(list):
    """A list (or set) with the type of its elements."""

    def __init__(self, element: int, items: Any = ()) -> None:
        super().__init__(items)
        self.element = element


def decode(data: bytes | memoryview, at: int = 0) -> tuple[Struct, int]:
    """Decode the struct that starts at ``at``; also return where it ends.

    Raises
    ------
    ValueError
        The bytes are not such a struct.
    """
    try:
        return _Decoder(data, at).struct()
    except (IndexError, RecursionError) as error:
        raise ValueError("the metadata ends early") from error


def encode(struct: Struct) -> bytes:
    """Encode a struct."""
    out = bytearray()
    _put_struct(out, struct)
    return bytes(out)


class _Decoder:
    def __init__(self, data: bytes | memoryview, at: int) -> None:
        self.data, self.at = data, at

    def struct(self) -> tuple[Struct, int]:
        return self._struct(), self.at

    def _varint(self) -> int:
        data, at = self.data, self.at
        byte = data[at]
        result, shift = byte & 0x7F, 7
        while byte & 0x80:
            at += 1
            byte = data[at]
            result |= (byte & 0x7F) << shift
            shift += 7
        self.at = at + 1
        return result

    def _integer(self) -> int:
        zigzag = self._varint()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def _take(self, size: int) -> bytes:
        taken = bytes(self.data[self.at : self.at + size])
        if len(taken) < size:
            raise IndexError
        self.at += size
        return taken

    def _struct(self) -> Struct:
        fields: Struct = {}
        last = 0
        while True:
            head = self.data[self.at]
            self.at += 1
            if head == 0:
                return fields
            kind = head & 0x0F
            last = last + (head >> 4) if head >> 4 else self._integer()
            fields[last] = (kind, self._value(kind) if kind > FALSE else kind == TRUE)

    def _value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == BINARY:
            return self._take(self._varint())
        if kind == STRUCT:
            return self._struct()
        if kind in (LIST, SET):
            head = self.data[self.at]
            self.at += 1
            size = head >> 4 if head >> 4 != 15 else self._varint()
            element = head & 0x0F
            return ThriftList(element, [self._value(element) for _ in range(size)])
        if kind in (TRUE, FALSE, BYTE):  # booleans in a list are a byte each
            return self._take(1)
        if kind == DOUBLE:
            return self._take(8)
        if kind == UUID:
            return self._take(16)
        raise ValueError(f"the metadata holds an unknown type {kind}")


def _put_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _put_integer(out: bytearray, value: int) -> None:
    _put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _put_struct(out: bytearray, fields: Struct) -> None:
    last = 0
    for field, (kind, value) in fields.items():
        if kind <= FALSE:
            kind = TRUE if value else FALSE
        if 0 < field - last <= 15:
            out.append(field - last << 4 | kind)
        else:
            out.append(kind)
            _put_integer(out, field)
        last = field
        if kind > FALSE:
            _put_value(out, kind, value)
    out.append(0)


def _put_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in _INTEGERS:
        _put_integer(out, value)
    elif kind == BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind == STRUCT:
        _put_struct(out, value)
    elif kind in (LIST, SET):
        if len(value) < 15:
            out.append(len(value) << 4 | value.element)
        else:
            out.append(0xF0 | value.element)
            _put_varint(out, len(value))
        for item in value:
            _put_value(out, value.element, item)
    else:  # kept as the bytes that were read
        out += value
