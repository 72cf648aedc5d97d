"""Errors of the library. Each message says what happened, what was kept and what to do."""


class TurboQuantError(Exception):
    """Root of everything this library raises on purpose."""


class UnknownScheme(TurboQuantError, ValueError):
    """A scheme name that doesn't parse; the message lists the valid ones."""


class UnpackableHeadDim(TurboQuantError, ValueError):
    """A head dimension for which there is no codec."""


class UnsupportedModel(TurboQuantError):
    """A configuration that the installed mlx-lm can't make a model of."""


class NeedsRebuild(TurboQuantError):
    """The wanted scheme keeps more than the cache still holds: prefill the tokens again."""


class SnapshotError(TurboQuantError):
    """A cache file that can't be used; the text it belongs to isn't affected."""


class SnapshotDamaged(SnapshotError):
    """Not a snapshot, cut short, or its checksum doesn't match."""


class SnapshotMismatch(SnapshotError):
    """A sound file made by another format version, model, scheme or codec."""


class SaveCancelled(TurboQuantError):
    """A save was given up because its caller asked for that; nothing of it is left on disk."""
