"""Public PettingZoo module: `felicity_v0.env()` and `felicity_v0.raw_env()` create the environment."""

from felicity_env.pettingzoo_env import env, raw_env

__all__ = ["env", "raw_env"]
