"""
Convert Python values to the format that `python_state.scala` stores, or reject them.

Micro-batch mode converts results with PyArrow and state with pickle, so it accepts more types in results than in state.
This module accepts the same values, but rejects values that Spark would store as NULL or as a different number.
"""

from __future__ import annotations

import array
import ctypes
import reprlib
from collections.abc import ValuesView
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation
from itertools import count, repeat
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Convert = Callable[[Any], Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
ERRORS = (TypeError, ValueError, ArithmeticError)


class RefusedError(TypeError):
    """Raised if a value does not fit its column's type."""

    def __init__(self, value: Any, data_type: T.DataType, path: str) -> None:
        self.value, self.data_type, self.path = value, data_type, path


def writer(schema: T.StructType, owner: str, *, is_state: bool) -> Convert:
    """Return a function that converts a `Row`, tuple or dictionary of `owner` to nested tuples."""
    convert = _Converters(is_state).struct(schema)
    is_nested = any(isinstance(field.dataType, (T.StructType, T.ArrayType, T.MapType)) for field in schema)

    def write(value: Any) -> Any:
        if isinstance(value, T.Row) and not is_state:
            value = value.asDict(is_nested)
        try:
            return convert(value)
        except RefusedError as error:
            column, name = error.path.removeprefix("."), error.data_type.simpleString()
            raise TypeError(
                f"{owner}, column {column}: the type {name} cannot store {reprlib.repr(error.value)} "
                f"({type(error.value).__qualname__}); convert the value in your code"
            ) from None
        except ERRORS:
            raise TypeError(
                f"{owner} has the columns {', '.join(schema.names)}, but the value is {reprlib.repr(value)}; "
                "use one value for each column"
            ) from None

    return write


@dataclass(frozen=True)
class _Converters:
    """A factory for functions that convert values of a Spark type."""

    is_state: bool

    def of(self, data_type: T.DataType) -> Convert:
        if isinstance(data_type, T.StructType):
            return self.struct(data_type)
        if isinstance(data_type, T.ArrayType):
            return self.array(data_type.elementType)
        if isinstance(data_type, T.MapType):
            return self.map(data_type)
        if isinstance(data_type, T.DecimalType):
            return self.decimal(data_type)
        convert = SCALARS.get(type(data_type), (None, None))[self.is_state]
        if convert is None:
            raise TypeError(
                f"a Python processor cannot write the type {data_type.simpleString()} to "
                f"{'state' if self.is_state else 'results'}, not even in micro-batch mode; use another type"
            )
        return convert

    def struct(self, schema: T.StructType) -> Convert:
        names, types = schema.names, [field.dataType for field in schema]
        converters = [self.of(data_type) for data_type in types]

        def convert(value: Any) -> Any:
            if self.is_state and not isinstance(value, (tuple, list, dict)):
                value = vars(value)
            if isinstance(value, dict):
                value = list(map(value.get, names))
            elif not isinstance(value, (tuple, list) if self.is_state else tuple) or len(value) != len(names):
                raise TypeError
            return tuple(_each(".{}", names, types, converters, value))

        return convert

    def array(self, element: T.DataType) -> Convert:
        convert, has_dates = self.of(element), isinstance(element, T.DateType)

        def convert_all(items: Any) -> Any:
            items = self.items(items)
            if not has_dates and getattr(getattr(items, "dtype", None), "kind", "") in ("m", "M"):
                items = items.astype(object)  # PyArrow accepts NumPy times in arrays, but not as scalars or in lists
            return _each("[{}]", count(), repeat(element), repeat(convert), items)

        return convert_all

    def map(self, data_type: T.MapType) -> Convert:
        key_type, value_type = data_type.keyType, data_type.valueType
        key, value = self.of(key_type), self.of(value_type)

        def convert(items: Any) -> Any:
            if isinstance(items, dict):
                items = list(items.items())
            elif self.is_state or any(type(pair) is not tuple for pair in self.items(items)):
                raise TypeError
            keys = [one for one, _ in items]
            if None in keys:
                raise TypeError
            written = _each(".key({!r})", keys, repeat(key_type), repeat(key), keys)
            values = [other for _, other in items]
            return dict(zip(written, _each("[{!r}]", keys, repeat(value_type), repeat(value), values), strict=True))

        return convert

    def items(self, items: Any) -> Any:
        """Return the items of an object, if micro-batch mode accepts the object as an array."""
        if type(items) in (list, tuple, array.array, bytes):
            return items
        is_sequence = isinstance(items, (set, ValuesView)) or hasattr(type(items), "__getitem__")
        if self.is_state or not is_sequence or isinstance(items, dict) or getattr(items, "ndim", 1) != 1:
            raise TypeError
        return items.to_numpy() if hasattr(items, "to_numpy") else items

    def decimal(self, data_type: T.DecimalType) -> Convert:
        kinds, traps = (Decimal, [InvalidOperation]) if self.is_state else ((Decimal, int), [InvalidOperation, Inexact])
        unit, context = Decimal(1).scaleb(-data_type.scale), Context(data_type.precision, ROUND_HALF_UP, traps=traps)

        def convert(value: Any) -> Decimal:
            if isinstance(value, bool) or not isinstance(value, kinds) or not Decimal(value).is_finite():
                raise TypeError
            return Decimal(value).quantize(unit, context=context)

        return convert


def _each(
    form: str, labels: Iterable[Any], types: Iterable[T.DataType], converters: Iterable[Convert], values: Iterable[Any]
) -> list[Any]:
    """Convert each value. Error messages contain the path to the value."""
    done = []
    for label, data_type, convert, value in zip(labels, types, converters, values, strict=False):
        try:
            done.append(None if value is None else convert(value))
        except RefusedError as error:
            error.path = form.format(label) + error.path
            raise
        except ERRORS:
            raise RefusedError(value, data_type, form.format(label)) from None
    return done


def _only(*kinds: type, then: Convert = lambda value: value) -> Convert:
    """Return a function that accepts only values of exactly these types, or NumPy scalars that contain such values."""

    def convert(value: Any) -> Any:
        value = value if type(value) in kinds else _plain(value)
        if type(value) not in kinds:
            raise TypeError
        return then(value)

    return convert


def _any(*kinds: type, then: Convert) -> Convert:
    """Return a function that also accepts values of subclasses."""

    def convert(value: Any) -> Any:
        value = _plain(value)
        if not isinstance(value, kinds):
            raise TypeError
        return then(value)

    return convert


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python value."""
    return value.item() if type(value).__module__ == "numpy" and type(value).__name__ != "ndarray" else value


def _whole(bits: int) -> Convert:
    """Return a function for integers in results. Like PyArrow, it truncates fractions."""
    limit = 1 << (bits - 1)

    def convert(value: Any) -> Any:
        if type(value) is not int:
            if isinstance(value, (bool, str, bytes, bytearray)):
                raise TypeError
            value = int(value)
        if not -limit <= value < limit:
            raise OverflowError
        return value

    return convert


def _real(exact_bits: int, then: Convert) -> Convert:
    """Return a function for floating-point numbers in results. Like PyArrow, it rejects integers that would change."""

    def convert(value: Any) -> Any:
        if isinstance(value, Integral):
            if abs(int(value)) > 1 << exact_bits:
                raise OverflowError
        elif not isinstance(value, Real) or isinstance(value, Rational):
            raise TypeError
        return then(float(value))

    return lambda value: then(value) if type(value) is float else convert(value)


def _text(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode()
    if isinstance(value, str):
        value.encode()  # fails for lone surrogates
        return str.__str__(value)
    # The JVM writes numbers with a fraction.
    return str(value).lower() if isinstance(value, int) else value


def _octets(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _float32(value: float) -> float:
    return ctypes.c_float(value).value


def _day(value: Any) -> Any:
    return value.toordinal() - EPOCH.toordinal() if isinstance(value, date) else INTEGER(value)


def _moment(value: Any) -> Any:
    """Return microseconds. Results without a time zone are in UTC."""
    if isinstance(value, datetime):
        value = ((value if value.tzinfo else value.replace(tzinfo=UTC)) - EPOCH) // MICROSECOND
    return _ticks(value)


def _local_moment(value: Any) -> Any:
    return _moment(value.item() if getattr(value, "dtype", "") == "datetime64[us]" else value)


def _span(value: Any) -> Any:
    value = value.item() if getattr(value, "dtype", "") == "timedelta64[us]" else value
    return _ticks(value // MICROSECOND if isinstance(value, timedelta) else value)


def _ticks(value: Any) -> Any:
    if type(value).__module__ == "numpy":
        raise TypeError
    return LONG(value)


def _integer(bits: int) -> tuple[Convert, Convert]:
    return _whole(bits), _only(int, then=_whole(bits))


INTEGER, LONG = _whole(32), _whole(64)
TEXTS = (str, bytes, bytearray, memoryview)
SCALARS: dict[type[T.DataType], tuple[Convert, Convert | None]] = {
    T.NullType: (_only(), _only()),
    T.BooleanType: (_only(bool), _only(bool)),
    T.ByteType: _integer(8),
    T.ShortType: _integer(16),
    T.IntegerType: _integer(32),
    T.LongType: _integer(64),
    T.FloatType: (_real(24, _float32), _only(float, then=_float32)),
    T.DoubleType: (_real(53, float), _only(float)),
    T.StringType: (_any(*TEXTS, then=_text), _only(str, bool, int, float, Decimal, then=_text)),
    T.BinaryType: (_any(*TEXTS, then=_octets), _any(str, bytes, bytearray, then=_octets)),
    T.DateType: (_day, _any(date, then=_day)),
    T.TimestampType: (_moment, _any(datetime, then=T.TimestampType().toInternal)),
    T.TimestampNTZType: (_local_moment, _any(datetime, then=T.TimestampNTZType().toInternal)),
    T.DayTimeIntervalType: (_span, None),
}
"""Conversion functions for result values and for state values, by type."""
