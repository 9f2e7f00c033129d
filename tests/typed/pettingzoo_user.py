# pyright: strict
"""A user's script on the PettingZoo face, which strict type checkers accept."""

import numpy as np

from felicity_env import felicity_v0


def play(seed: int) -> dict[str, float]:
    """Play a game of random legal actions; return each agent's reward."""
    env = felicity_v0.env(num_players=3, render_mode="ansi", illegal="penalise")
    env.reset(seed=seed)
    rng, totals = np.random.default_rng(seed), dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        totals[agent] += reward
        if termination or truncation or observation is None:
            env.step(None)
        else:
            env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    return totals


def play_with_positions(seed: int) -> list[str]:
    """Play on the environment without wrappers, and keep and restore a position."""
    raw = felicity_v0.raw_env(4)
    raw.reset(seed=seed)
    kept, texts = raw.clone(), [raw.render_all()]
    while not any(raw.terminations.values()):
        raw.step(int(raw.observe(raw.agent_selection)["action_mask"].argmax()))
    raw.restore(kept)
    texts.append(str(raw.game))
    return texts


if __name__ == "__main__":
    print(play(1), len(play_with_positions(1)))
