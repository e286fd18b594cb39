"""Arrays wherever they are: NumPy's on the CPU, PyTorch's on a graphics card, worked on by the same code.

Both have indexing, arithmetic, `@`, ``.mT``, ``.shape``, ``.reshape`` and ``.sum(axis)``; `namespace` has the rest,
under NumPy's names, which PyTorch knows too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bsx.support.untyped import Untyped

Array: TypeAlias = Untyped
"""An array of NumPy, or a tensor of PyTorch."""


def namespace(array: Array) -> Untyped:
    """Return the package whose functions work on an array."""
    return np if isinstance(array, np.ndarray) else importlib.import_module("torch")


def device_type(device: object) -> str:
    """Return what kind of device a name such as ``cuda:1``, or an array's ``device``, is."""
    return str(device).partition(":")[0]


def put(array: Array, device: object) -> Array:
    """Return an array on a device; on its way to a graphics card it is pinned, so that nothing waits for the copy."""
    kind = device_type(device)
    if not isinstance(array, np.ndarray):
        return fetch(array) if kind == "cpu" else array.to(str(device))
    if kind == "cpu":
        return array
    tensor = importlib.import_module("torch").from_numpy(array)
    return tensor.pin_memory().to(str(device), non_blocking=True) if kind == "cuda" else tensor.to(str(device))


def beside(array: NDArray[np.generic], other: Array) -> Array:
    """Return a NumPy array as what ``other`` is, and where that is."""
    if isinstance(other, np.ndarray):
        return array
    return tensor(array) if device_type(other.device) == "cpu" else put(array, other.device)


def fetch(array: Array) -> NDArray[Untyped]:
    """Return an array as NumPy's, on the CPU; what NumPy has no format for (bf16) as fp32."""
    if isinstance(array, np.ndarray):
        return array
    tensor = array.detach()
    numbers: NDArray[Untyped] = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).cpu().numpy()
    return numbers


def gathered(parts: Sequence[tuple[Sequence[int] | NDArray[np.int64], Array]], size: int) -> NDArray[np.float64]:
    """Return numbers that were computed part by part, rows (n,) and numbers (n,), each at its row (size,), 0 elsewhere.

    They are copied from a device together: each copy would wait for all that the device was given.
    """
    values = np.zeros(size)
    if parts:
        numbers = [part for _, part in parts]
        values[np.concatenate([np.asarray(rows) for rows, _ in parts])] = fetch(
            namespace(numbers[0]).concatenate(numbers)
        )
    return values


def zeros(shape: tuple[int, ...], device: object) -> Array:
    """Return fp32 zeros on a device."""
    if device_type(device) == "cpu":
        return np.zeros(shape, dtype=np.float32)
    return importlib.import_module("torch").zeros(shape, device=str(device))


def within(cosines: Array) -> Array:
    """Return cosines, or means of cosines, from -1 to 1: products of unit vectors exceed that by their rounding.

    By how much depends on the processor. The gradient of what is cut off is 0, as that of a cosine at 1 is.
    """
    return namespace(cosines).clip(cosines, -1.0, 1.0)


def as_fp32(array: Array) -> Array:
    """Return an array in fp32."""
    return array.astype(np.float32, copy=False) if isinstance(array, np.ndarray) else array.float()


def as_fp64(array: Array) -> Array:
    """Return an array in fp64."""
    return array.astype(np.float64, copy=False) if isinstance(array, np.ndarray) else array.double()


def tensor(array: Array) -> Untyped:
    """Return an array as a tensor, for what only PyTorch does."""
    return importlib.import_module("torch").from_numpy(array) if isinstance(array, np.ndarray) else array


def short_of_memory(work: Callable[[], None]) -> str | None:
    """Do work that may not fit in memory; return None if it is done, else what PyTorch says of what ran out.

    All that the work held is free by then: this is said after the handler's end, because an error keeps the frames that
    it came through. Any other error is raised.
    """
    try:
        work()
    except RuntimeError as error:
        card = type(error).__name__ == "OutOfMemoryError"  # for main memory PyTorch has no class
        if not (card or "can't allocate memory" in str(error)):
            raise
        message = str(error)
    else:
        return None
    if card:
        importlib.import_module("torch").cuda.empty_cache()
    return message


def finite(array: Array) -> bool:
    """Tell whether all numbers are finite, and none so large that its square is not."""
    return finite_later(array)()


def finite_later(array: Array) -> Callable[[], bool]:
    """Return what tells whether an array is `finite`, and waits for the array and for nothing that comes after it.

    A graphics card finds out on its own, in its turn, and can be given more work before anybody asks.
    """
    if isinstance(array, np.ndarray):
        flat = as_fp32(array.reshape(-1))
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = bool(np.isfinite(np.dot(flat, flat)))
        return lambda: is_finite
    torch: Untyped = importlib.import_module("torch")
    answer = array.norm(dtype=torch.float32).isfinite()
    if device_type(array.device) != "cuda":
        return lambda: bool(answer)
    # Asking a card for a number waits for all that it was given; an event, for what was given before.
    copy = torch.empty((), dtype=torch.bool, pin_memory=True)
    copy.copy_(answer, non_blocking=True)
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(array.device))

    def wait() -> bool:
        event.synchronize()
        return bool(copy)

    return wait
