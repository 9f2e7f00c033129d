"""The public module in PettingZoo's manner: `felicity_v0.env()` and `felicity_v0.raw_env()`."""

from felicity_env.aec import env, raw_env

__all__ = ["env", "raw_env"]
