"""Who does the work: one small protocol, several implementations, one choice."""

from turboquant.backends.base import Backend, choose

__all__ = ["Backend", "choose"]
