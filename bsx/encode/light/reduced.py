"""Matrix products with weights of eight bits, in blocks with a scale each; activations are reduced on the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bsx.encode.light.proto import MICROSOFT, Graph

# Weights in one block share a scale, and so do the activations they meet: token by token, so that a vector hardly
# depends on what else is in its batch (rounding may tip a step). Smaller blocks are more exact, larger ones faster.
BLOCK = 128
_ZERO = 128  # what stands for zero in an unsigned byte


def blocks_of(matrix: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return a matrix (rows, columns) as bytes (rows, blocks, BLOCK), 128 for zero, and scales (rows, blocks)."""
    rows, columns = matrix.shape
    count = -(-columns // BLOCK)
    padded = np.zeros((rows, count * BLOCK), dtype=np.float32)
    padded[:, :columns] = matrix
    blocks = padded.reshape(rows, count, BLOCK)
    scales = np.abs(blocks).max(axis=2) / np.float32(127)
    steps = np.rint(blocks / np.where(scales > 0, scales, np.float32(1))[..., None])
    return (steps + _ZERO).astype(np.uint8), scales


def reduced(graph: Graph, state: str, name: str, matrix: NDArray[np.float32]) -> str:
    """Add the product of states and a matrix, of which a row makes one number."""
    rows, columns = matrix.shape
    values, scales = blocks_of(matrix)
    return graph.node(
        "MatMulNBits",
        state,
        graph.array(f"{name}.int8", values),
        graph.array(f"{name}.scales", scales),
        domain=MICROSOFT,
        K=columns,
        N=rows,
        bits=8,
        block_size=BLOCK,
        accuracy_level=4,
    )
