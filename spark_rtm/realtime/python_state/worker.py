"""
Serve a real-time task: run a `StatefulProcessor` on rows from `python_state.scala`.

State stays in Spark. A request contains its key's value states. The worker reads other state on demand, and returns all
changes in its response.
"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import traceback
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType, TimestampType

from .values import writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LENGTH = struct.Struct("!i")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class State(NamedTuple):
    """A state variable that a processor declares in `init`. Without a TTL, the state remains until it is cleared."""

    kind: str
    name: str
    schema: StructType
    key_schema: StructType | None = None
    ttl_ms: int | None = None


class RemoteHandle:
    """The worker's `StatefulProcessorHandle`, which collects changes for the next message to the task."""

    def __init__(self, states: list[State], ask: Callable[[list[Any], tuple[Any, ...]], Any]) -> None:
        self._ask, self._states = ask, states
        self._numbers = {state.name: number for number, state in enumerate(states)}
        self._values = [number for number, state in enumerate(states) if state.kind == "value"]
        self.values: dict[int, Any] = {}
        self.changes: list[tuple[Any, ...]] = []

    def start(self, values: Sequence[Any]) -> None:
        """Start a request with its key's value states."""
        self.values = dict(zip(self._values, values, strict=True))
        self.changes = []

    def ask(self, *question: Any) -> Any:
        """Let the task apply all changes so far, and return state of the current key."""
        changes, self.changes = self.changes, []
        return self._ask(changes, question)

    # The driver has already recorded the schemas and the TTL.
    def getValueState(self, stateName: str, *_: Any, **__: Any) -> RemoteValue:  # noqa: D102, N802, N803
        return RemoteValue(self, *self._find(stateName))

    def getListState(self, stateName: str, *_: Any, **__: Any) -> RemoteList:  # noqa: D102, N802, N803
        return RemoteList(self, *self._find(stateName))

    def getMapState(self, stateName: str, *_: Any, **__: Any) -> RemoteMap:  # noqa: D102, N802, N803
        return RemoteMap(self, *self._find(stateName))

    def registerTimer(self, expiryTimestampMs: int) -> None:  # noqa: D102, N802, N803
        self.changes.append(("register", expiryTimestampMs))

    def deleteTimer(self, expiryTimestampMs: int) -> None:  # noqa: D102, N802, N803
        self.changes.append(("delete", expiryTimestampMs))

    def listTimers(self) -> Iterator[int]:  # noqa: D102, N802
        return iter(self.ask("timers"))

    def _find(self, name: str) -> tuple[int, State]:
        return self._numbers[name], self._states[self._numbers[name]]


class _Remote:
    def __init__(self, handle: RemoteHandle, number: int, state: State) -> None:
        self._handle, self._number = handle, number
        owner = f"state variable {state.name!r}"
        self._read, self._write = _reader(state.schema, Row), writer(state.schema, owner, is_state=True)
        if state.key_schema:
            self._read_key = _reader(state.key_schema, Row)
            self._write_key = writer(state.key_schema, f"key of {owner}", is_state=True)

    def clear(self) -> None:
        self._change("clear")

    def _change(self, name: str, *arguments: Any) -> None:
        self._handle.changes.append((name, self._number, *arguments))

    def _ask(self, name: str, *arguments: Any) -> Any:
        return self._handle.ask(name, self._number, *arguments)


class RemoteValue(_Remote):
    """A `ValueState` whose value the Spark task stores."""

    def exists(self) -> bool:  # noqa: D102
        return self._handle.values[self._number] is not None

    def get(self) -> Any:  # noqa: D102
        return self._read(self._handle.values[self._number])

    def update(self, newValue: Any) -> None:  # noqa: D102, N803
        value = self._handle.values[self._number] = self._write(newValue)
        self._change("update", value)

    def clear(self) -> None:  # noqa: D102
        self._handle.values[self._number] = None
        self._change("clear")


class RemoteList(_Remote):
    """A `ListState` whose values the Spark task stores."""

    def exists(self) -> bool:  # noqa: D102
        return bool(self._ask("exists"))

    def get(self) -> Iterator[Any]:  # noqa: D102
        return map(self._read, self._ask("get"))

    def put(self, newState: list[Any]) -> None:  # noqa: D102, N803
        self._change("put", [self._write(value) for value in newState])

    def appendValue(self, newState: Any) -> None:  # noqa: D102, N802, N803
        self.appendList([newState])

    def appendList(self, newState: list[Any]) -> None:  # noqa: D102, N802, N803
        self._change("append", [self._write(value) for value in newState])


class RemoteMap(_Remote):
    """A `MapState` whose entries the Spark task stores."""

    def exists(self) -> bool:  # noqa: D102
        return bool(self._ask("exists"))

    def getValue(self, key: Any) -> Any:  # noqa: D102, N802
        return self._read(self._ask("get", self._write_key(key)))

    def containsKey(self, key: Any) -> bool:  # noqa: D102, N802
        return self.getValue(key) is not None

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: D102, N802
        self._change("put", self._write_key(key), self._write(value))

    def removeKey(self, key: Any) -> None:  # noqa: D102, N802
        self._change("remove", self._write_key(key))

    def iterator(self) -> Iterator[tuple[Any, Any]]:  # noqa: D102
        return ((self._read_key(key), self._read(value)) for key, value in self._ask("all"))

    def keys(self) -> Iterator[Any]:  # noqa: D102
        return (key for key, _ in self.iterator())

    def values(self) -> Iterator[Any]:  # noqa: D102
        return (value for _, value in self.iterator())


def _reader(schema: StructType, make: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a function that converts a tuple to a `Row`. `make` is the type of nested structs: `Row` or `dict`."""
    names = schema.names
    converters = [
        (index, convert) for index, field in enumerate(schema) if (convert := _converter(field.dataType, make))
    ]

    def read(values: Sequence[Any] | None) -> Any:
        if values is None:
            return None
        converted = values[: len(names)]
        if converters:
            converted = list(converted)
            for index, convert in converters:
                if converted[index] is not None:
                    converted[index] = convert(converted[index])
        row = tuple.__new__(Row, converted)
        row.__fields__ = names
        return row

    return read


def _converter(data_type: DataType, make: Callable[..., Any]) -> Callable[[Any], Any] | None:
    """Return a function that converts values of this type, or None if no conversion is necessary."""
    if isinstance(data_type, StructType):
        read = _reader(data_type, make)
        return (lambda value: read(value).asDict()) if make is dict else read
    if isinstance(data_type, BinaryType):
        return bytes
    if isinstance(data_type, TimestampType) and make is dict:
        # In micro-batch mode, Spark uses this representation for rows and a different one for state.
        return lambda micros: EPOCH + timedelta(microseconds=micros)
    if isinstance(data_type, ArrayType):
        element = _converter(data_type.elementType, make)
        return element and (lambda items: [None if item is None else element(item) for item in items])
    if isinstance(data_type, MapType):
        key, value = _converter(data_type.keyType, make), _converter(data_type.valueType, make)
        form: Any = list if make is dict else dict
        return lambda items: form(
            (key(one) if key else one, value(other) if value and other is not None else other)
            for one, other in items.items()
        )
    return data_type.fromInternal if data_type.needConversion() else None


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Serve one task: read the processor, then process requests until an empty request arrives."""
    key = None

    def ask(changes: list[Any], question: tuple[Any, ...]) -> Any:
        _send(target, ("read", changes, question))
        return _receive(source)

    data = _bytes(source)
    try:
        processor, states, row_schema, key_schema, initial_schema, output = pickle.loads(data)
        handle, read_key = RemoteHandle(states, ask), _reader(key_schema, dict)
        write = writer(output, "result", is_state=False)
        readers = {"row": _reader(row_schema, dict), "initial": _reader(initial_schema or StructType(), dict)}
        processor.init(handle)
        gc.freeze()  # so garbage collection between rows skips the imported modules
        while request := _receive(source):
            kind, key, payload, now, values = request
            key = tuple(read_key(key) or ())
            handle.start(values or ())
            value = readers[kind](payload) if kind in readers else payload
            results = _process(processor, kind, key, value, TimerValues(now, -1))
            rows = list(map(write, results))
            _send(target, ("end", handle.changes, rows))
        processor.close()
        _send(target, ("end", [], []))
    except Exception as error:  # noqa: BLE001 - any error in the Python code makes the query fail
        text = f"the Python code failed for the key {key!r} with {type(error).__name__}, so the query stops"
        _send(target, ("error", f"{text}:\n{traceback.format_exc()}"))
        while True:  # until the task closes the connection
            _bytes(source)


def _process(processor: Any, kind: str, key: tuple[Any, ...], value: Any, times: TimerValues) -> Any:
    if kind == "row":
        return processor.handleInputRows(key, iter([value]), times)
    if kind == "initial":
        processor.handleInitialState(key, value, times)
        return ()
    return processor.handleExpiredTimer(key, times, ExpiredTimerInfo(value))


def _bytes(source: BinaryIO) -> bytes:
    try:
        (length,) = LENGTH.unpack(source.read(LENGTH.size))
        return source.read(length)
    except (OSError, struct.error):
        os._exit(1)  # without a traceback, because the task has closed the connection


def _receive(source: BinaryIO) -> Any:
    data = _bytes(source)
    return pickle.loads(data) if data else None


def _send(target: BinaryIO, message: Any) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    try:
        target.write(LENGTH.pack(len(data)) + data)
        target.flush()
    except OSError:
        os._exit(1)
