"""Play with PettingZoo's wrappers around the environment, and with a wrapper of one's own that counts passes."""

import json
import time
from collections import Counter

import numpy as np
from pettingzoo.utils import AssertOutOfBoundsWrapper, BaseWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from felicity_env import felicity_v0
from felicity_env.game import PASS

GAMES, FIRST_SEED = 100, 10**6


class CountPasses(BaseWrapper):
    """Count the passes of each agent over all games."""

    def __init__(self, env: felicity_v0.raw_env) -> None:
        super().__init__(env)
        self.passes: Counter[str] = Counter()

    def step(self, action: int | None) -> None:
        """Play the action of the agent in turn, and count it if it is a pass."""
        self.passes[self.agent_selection] += action == PASS
        super().step(action)


def play(env: felicity_v0.raw_env | BaseWrapper, seed: int) -> tuple[int, dict[str, float]]:
    """Play a game of random legal actions; return the number of decisions and the rewards."""
    rng, decisions, rewards = np.random.default_rng(seed), 0, {}
    env.reset(seed=seed)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        if termination or truncation:
            rewards[agent] = reward
            env.step(None)
            continue
        env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
        decisions += 1
    return decisions, rewards


def main() -> None:
    """Play the same games with and without wrappers; wrappers must not change a game."""
    started, decisions = time.monotonic(), 0
    counter = CountPasses(felicity_v0.raw_env(4))
    wrapped = OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(counter, illegal_reward=-1)))
    bare = felicity_v0.raw_env(4)
    for seed in range(FIRST_SEED, FIRST_SEED + GAMES):
        played = play(wrapped, seed)
        assert played == play(bare, seed)
        decisions += played[0]
    result = {"games": GAMES, "decisions": decisions, "seconds": round(time.monotonic() - started)}
    print(json.dumps(result | {"passes": dict(sorted(counter.passes.items()))}))


if __name__ == "__main__":
    main()
