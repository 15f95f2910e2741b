"""JAX with one common mistake of timing at a time.

JAX returns from a step before the step is done, on a processor too. Each pitfall waits for less
than the default trainer, which waits for everything that may be unfinished.
"""

from collections.abc import Callable
from typing import Any

# What synchronise() waits for: of the last mini-batch, the weights and all state, and the loss.
Awaited = Callable[[Any, Any, Any], Any]


def everything(batch: Any, own: Any, loss: Any) -> Any:
    return batch, own, loss


def nothing(batch: Any, own: Any, loss: Any) -> Any:
    return ()


def only_the_loss(batch: Any, own: Any, loss: Any) -> Any:
    return loss


PITFALLS: dict[str, Awaited] = {
    "trap-unsynchronised": nothing,
    "trap-unread": nothing,
    "trap-loss-only": only_the_loss,
}
