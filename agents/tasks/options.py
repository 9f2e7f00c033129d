"""Settings of commands that spread their work over several workers."""

import os
from dataclasses import dataclass
from typing import Any

from agents.tools.settings import check_at_least


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Settings that say where work runs; results do not depend on them."""

    workers: int = os.cpu_count() or 1
    """Number of processes that work in parallel; one per core is fastest. With --ray, only `local` uses it."""
    ray: str | None = None
    """Ray cluster that works: `auto` for the one that this machine is part of, its address such as `10.0.0.1:6379`, or
    `local` to start one here. Default: processes of this machine."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless there is at least one process."""
        check_at_least(self, workers=1)
        check_others = getattr(super(), "__post_init__", None)
        if check_others:
            check_others()

    @property
    def spread(self) -> dict[str, Any]:
        """Settings in the form that `run_tasks` takes."""
        return {"workers": self.workers, "ray": self.ray}
