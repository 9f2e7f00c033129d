"""The PettingZoo AEC face.

    from felicity_env import felicity_v0

    env = felicity_v0.env(num_players=4)
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        done = termination or truncation
        env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

An auction is played in turn, so there is no parallel version: `aec_to_parallel` would let every seat bid at once.
"""

import copy
import secrets
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from felicity_env.batch import setup_for
from felicity_env.game import MAX_SEATS, NO_SEAT, NUM_ACTIONS, Setup, is_legal, legal_actions, rank, score, step
from felicity_env.information import Event, information_state, redact
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_HIGH, OBS_LOW, OBS_SIZE, PRIVILEGED_SIZE, describe, observe, observe_all
from felicity_env.random_stream import check_seed, decision_seed, game_seed
from felicity_env.render import render_all, render_seat
from felicity_env.rewards import reward_code, step_rewards
from felicity_env.transcript import Game, check_action, check_wishes, dealt_states, draw_deal
from felicity_env.view import View

_ILLEGAL = -2
_IN_PLAY = (  # all that changes in the course of play: what `clone` keeps
    "agents",
    "agent_selection",
    "rewards",
    "_cumulative_rewards",
    "terminations",
    "truncations",
    "infos",
    "_skip_agent_selection",
    "_states",
    "_deal",
    "_actions",
    "_stream",
    "_episode",
)


@kernel
def _play(states: np.ndarray, action: int, code: int, rewards: np.ndarray) -> int:
    """Play in states[0]; the seat to act next, NO_SEAT at the end, or _ILLEGAL and nothing changed."""
    if not is_legal(states[0], action):
        return _ILLEGAL
    step(states[0], action)
    step_rewards(states[0], code, rewards)
    return states[0].seat


@kernel
def _see(states: np.ndarray, seat: int, open_mice: bool, observation: np.ndarray, mask: np.ndarray) -> None:
    observe(states[0], seat, open_mice, observation)
    legal_actions(states[0], seat, mask)


@kernel
def _see_all(states: np.ndarray, out: np.ndarray) -> None:
    observe_all(states[0], 0, out)


def env(**kwargs: Any) -> AECEnv:
    """`raw_env` in PettingZoo's usual wrappers: an illegal action ends the game, -1 to the offender, 0 to the rest."""
    wrapped = TerminateIllegalWrapper(raw_env(**kwargs), illegal_reward=-1)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(wrapped))


class raw_env(AECEnv):
    """Felicity for `num_players` seats (3, 4, 5), agents `player_0` ...

    num_players: seats at the table. reward: one of `rewards.REWARDS`. open_mice: show each seat how many mice the
    others hold (it follows from public events, R8.2). render_mode: "ansi" (text), "human" (printed) or None. setup: a
    `Setup` to play instead of the standard one of `num_players`.

    Observation: `{"observation": float32 [OBS_SIZE] (see SECTIONS), "action_mask": int8 [NUM_ACTIONS]}`; the mask is
    all zero unless the seat is to act. At the end `infos[agent]` holds `score`, `cat_points`, `mice` and `rank`.
    Raises `ValueError` at an illegal action, naming seat, action and what is legal; the game stays as it was.
    """

    metadata = {  # noqa: RUF012 - PettingZoo declares it on the instance
        "name": "felicity_v0",
        "render_modes": ["ansi", "human"],
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        num_players: int = 4,
        *,
        reward: str = "win",
        open_mice: bool = False,
        render_mode: str | None = None,
        setup: Setup | None = None,
    ) -> None:
        super().__init__()
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None, 'ansi' or 'human', not {render_mode!r}")
        self.setup = setup_for(num_players, setup)
        self.reward, self.open_mice, self.render_mode = reward, bool(open_mice), render_mode
        self._reward_code = reward_code(reward)
        self._dense = reward == "round"
        self.possible_agents = [f"player_{seat}" for seat in range(self.setup.seats)]
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._action_spaces = {agent: Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        self._observation_spaces = {agent: _observation_space() for agent in self.possible_agents}
        self.state_space = Box(OBS_LOW, OBS_HIGH, (PRIVILEGED_SIZE,), np.float32)
        self._seat_rewards = np.zeros(MAX_SEATS)
        self._stream: Any = None  # its number once dealt
        self._states: Any = None  # STATE [1] once dealt
        self.agents = []

    def observation_space(self, agent: str) -> Dict:
        """The same for every agent and every number of players."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """0..9 place that card, 10 pass, 10 + b bid b mice."""
        return self._action_spaces[agent]

    # --- the course of play ---

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Deal a new game.

        seed: 0 to 2**63 - 1; without one the games go on from the last seed given (or from a fresh one).
        options: `{"deal": {"removed": [card of each seat], "dummy": [cards in the order turned], "start_seat": seat}}`
        sets parts of the deal, the rest is drawn; other keys of `options` are ignored.
        Raises `ValueError` naming the fault, and then leaves the game as it was.
        """
        stream, episode = self._next_in_stream(seed)
        self._deal = draw_deal(self.setup, _game_seed(stream, episode), (options or {}).get("deal"))
        self._stream, self._episode = stream, episode
        self._states = dealt_states(self.setup, self._deal)
        self._actions: list[int] = []
        self.agents = self.possible_agents[:]
        self.agent_selection = self.possible_agents[int(self._states[0].seat)]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None

    def _next_in_stream(self, seed: int | None) -> tuple[int, int]:
        if seed is not None:
            return check_seed(seed), 0
        if self._stream is None:
            return secrets.randbits(63), 0
        return self._stream, self._episode + 1

    def step(self, action: int | None) -> None:
        """Play `action` for `agent_selection`; None for an agent whose game is over."""
        if not self.agents:
            raise ValueError("no game is being played: call reset()")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._step_dead(agent, action)
            return
        if type(action) is not int or not 0 <= action < NUM_ACTIONS:
            action = check_action(self._states[0], action)
        seat = _play(self._states, action, self._reward_code, self._seat_rewards)
        if seat == _ILLEGAL:
            check_action(self._states[0], action)  # raises
        self._actions.append(action)
        self._cumulative_rewards[agent] = 0.0
        if seat == NO_SEAT:
            self._finish()
        else:
            self.agent_selection = self.possible_agents[seat]
        if self._dense or seat == NO_SEAT:
            self.rewards = dict(zip(self.possible_agents, self._seat_rewards.tolist(), strict=False))
            self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _step_dead(self, agent: str, action: int | None) -> None:
        if action is not None:
            raise ValueError(f"the game is over: {agent} can only step None, not {action!r}")
        self._was_dead_step(action)

    def _finish(self) -> None:
        """Everybody is dead at once; PettingZoo then has each step None once, in order of the seats."""
        state = self._states[0]
        for seat, agent in enumerate(self.agents):
            self.terminations[agent] = True
            self.infos[agent] = {
                "score": int(score(state, seat)),
                "cat_points": int(state.cat_points[seat]),
                "mice": int(state.mice[seat]),
                "rank": int(rank(state, seat)),
            }
        self.agent_selection = self.agents[0]

    # --- what may be seen ---

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What `agent` sees now, in new arrays."""
        observation, mask = np.empty(OBS_SIZE, np.float32), np.empty(NUM_ACTIONS, np.int8)
        _see(self._dealt(), self._seat(agent), self.open_mice, observation, mask)
        return {"observation": observation, "action_mask": mask}

    def view(self) -> View:
        """What the seat to act may know, as a player's `act` takes it: one row.

        A player acts after `reset(seed=batch.game_seeds[k])` as in game k of the batch. Raises `ValueError` at the end.
        """
        seat = int(self._dealt()[0].seat)
        if seat == NO_SEAT:
            raise ValueError("the game is over: no seat is to act")
        turns = sum(int(state.seat) == seat for _, state in self.game.states()) - 1  # its decisions before this one
        seed = decision_seed(np.uint64(_game_seed(self._stream, self._episode)), seat, turns)
        return View(redact(self._states, seat), np.array([seat]), np.array([seed], np.uint64))

    def _dealt(self) -> np.ndarray:
        if self._states is None:
            raise ValueError("no game has been dealt: call reset()")
        return self._states

    def _seat(self, agent: str) -> int:
        try:
            return self._seat_of[agent]
        except (KeyError, TypeError):
            raise ValueError(f"no agent {agent!r}; there are {self.possible_agents}") from None

    def information_state(self, seat: int) -> list[Event]:
        """All that `seat` has seen since the deal; `information.encode_information_state` makes it an array."""
        return information_state(self.game, seat)

    def state(self) -> np.ndarray:
        """Privileged, for critics: everything from the place of seat 0, hidden cards too; float32 [PRIVILEGED_SIZE]."""
        out = np.empty(PRIVILEGED_SIZE, np.float32)
        _see_all(self._dealt(), out)
        return out

    def render(self) -> str | None:
        """The table as the acting seat may see it: returned ("ansi") or printed ("human")."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs render_mode='ansi' or 'human' when the environment is made")
            return None
        self._dealt()
        observation = self.observe(self.agent_selection)["observation"]
        text = render_seat(describe(observation), seat=self._seat(self.agent_selection), setup=self.setup)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def render_all(self) -> str:
        """For teaching and debugging: the table with every hidden card."""
        return render_all(self._dealt()[0])

    def close(self) -> None:
        """Nothing to release."""

    # --- positions and games ---

    @property
    def game(self) -> Game:
        """The game so far: setup, deal, actions. Write it with `notation.dumps`."""
        self._dealt()
        return Game(self.setup, self._deal, tuple(self._actions))

    def load(self, game: Game) -> None:
        """Take up `game` where it stands. Raises `ValueError` and changes nothing if it cannot be played here."""
        if game.setup != self.setup:
            raise ValueError(f"this environment plays {self.setup}, the game is of {game.setup}")
        check_wishes(self.setup, _wishes(game))
        game.final_states()  # raises at an illegal action
        self.reset(options={"deal": _wishes(game)})
        for action in game.actions:
            self.step(action)

    def clone(self) -> dict[str, Any]:
        """The position with its history, for `restore`: the whole truth, not for players."""
        self._dealt()
        return {"setup": self.setup} | {name: copy.deepcopy(getattr(self, name)) for name in _IN_PLAY}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what `clone` returned, here or in another environment of the same setup."""
        if state["setup"] != self.setup:
            raise ValueError(f"this environment plays {self.setup}, the state is of {state['setup']}")
        for name in _IN_PLAY:
            setattr(self, name, copy.deepcopy(state[name]))


def _game_seed(stream: int, episode: int) -> int:
    """Of the games of one `raw_env`: the first is dealt from the seed that `reset` was given."""
    return stream if episode == 0 else game_seed(stream, 0, episode)


def _observation_space() -> Dict:
    return Dict(
        {
            "observation": Box(OBS_LOW, OBS_HIGH, (OBS_SIZE,), np.float32),
            "action_mask": Box(0, 1, (NUM_ACTIONS,), np.int8),
        }
    )


def _wishes(game: Game) -> dict[str, Any]:
    return {"removed": game.deal.removed, "dummy": game.deal.dummy, "start_seat": game.deal.start_seat}
