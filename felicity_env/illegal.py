"""Illegal actions, for learners that do not use the action mask: names of what such an action can do, and a wrapper.

`find_nearest` chooses the legal action that replaces an illegal one.
"""

from typing import Any

import numpy as np
from pettingzoo.utils.wrappers import BaseWrapper

from felicity_env.game import NUM_ACTIONS
from felicity_env.game_record import is_integer

PENALTY = 0.1  # reward that an illegal action costs; a win is worth 1
ILLEGAL = {
    "raise": "raise ValueError and change nothing",
    "terminate": "end the game with reward -1",
    "penalise": f"play the nearest legal action instead, and subtract {PENALTY} from the reward",
    "random": "play a random legal action instead (for checkers that sample without masks)",
}


def check_illegal(illegal: str, *allowed: str) -> None:
    """Raise `ValueError` unless `illegal` is one of the allowed keys of `ILLEGAL`."""
    if illegal not in allowed:
        raise ValueError(f"illegal must be one of {list(allowed)}, not {illegal!r}")


def find_nearest(masks: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the legal action whose number is nearest to a given one, the lower of two; int64 [B].

    masks: action masks [B, NUM_ACTIONS] with at least one legal action each. actions: integers [B]. A bid that is too
    high thus becomes the highest legal one.
    """
    wanted = np.clip(actions, 0, NUM_ACTIONS - 1)
    distances = np.abs(np.arange(NUM_ACTIONS) - wanted[:, None])
    return np.where(masks == 1, distances, np.iinfo(np.int64).max).argmin(axis=1)


class PenaliseIllegalWrapper(BaseWrapper[str, dict[str, Any], Any]):
    """PettingZoo wrapper of `raw_env` that replaces an illegal action by the nearest legal one.

    The agent's reward is `PENALTY` less. `infos[agent]["illegal"]` says, until the agent acts again, whether its last
    action was illegal.
    """

    def step(self, action: Any) -> None:
        """Play an action of the agent to act, or the nearest legal one if it is illegal."""
        raw: Any = self.unwrapped
        if not raw.agents or raw.terminations[raw.agent_selection] or not is_integer(action):
            super().step(action)  # which raises if this is wrong
            return
        agent, wanted = raw.agent_selection, int(action)
        mask = raw.observe(agent)["action_mask"]
        is_illegal = not 0 <= wanted < NUM_ACTIONS or mask[wanted] == 0
        raw.rewards = dict.fromkeys(raw.agents, 0.0)  # `raw_env` writes rewards only when there are some
        super().step(int(find_nearest(mask[None], np.array([wanted]))[0]) if is_illegal else wanted)
        raw.infos[agent]["illegal"] = is_illegal
        if is_illegal:
            raw.rewards[agent] -= PENALTY
            raw._cumulative_rewards[agent] -= PENALTY
