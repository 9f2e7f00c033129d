"""Public PettingZoo module: `felicity_v0.env()` and `felicity_v0.raw_env()` create the environment."""

from typing import Any

from felicity_env.pettingzoo_env import env, raw_env

__all__ = ["env", "raw_env"]


def __getattr__(name: str) -> Any:
    reason = ": there is no parallel environment, because in an auction seats act in turn"
    raise AttributeError(f"felicity_v0 has no {name!r}{reason if name == 'parallel_env' else ''}")
