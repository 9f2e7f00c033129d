"""PettingZoo environment of the game Felicity, in which agents act one after another (AEC).

This code plays a game in which every agent takes its first legal action::

    from felicity_env import felicity_v0

    env = felicity_v0.env(num_players=4)
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        legal_actions = observation["action_mask"].nonzero()[0]
        env.step(None if termination or truncation else int(legal_actions[0]))

There is no parallel version: seats bid in turn, and `aec_to_parallel` would let them all bid at once.
"""

import copy
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from felicity_env.game import MAX_SEATS, NO_SEAT, NUM_ACTIONS, Setup, is_legal, legal_actions, step
from felicity_env.game_record import Game, check_action, check_overrides, draw_deal, initial_states, is_integer
from felicity_env.illegal import PenaliseIllegalWrapper, check_illegal
from felicity_env.information import Event, Recall, redact
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_HIGH, OBS_LOW, OBS_SIZE, PRIVILEGED_SIZE, VERSIONS, observe, observe_everything
from felicity_env.player import View
from felicity_env.random_stream import check_seed, decision_seed, game_seed
from felicity_env.render.modes import RENDER_METADATA, check_render_mode, render
from felicity_env.render.text import render_everything
from felicity_env.rewards import read_result, reward_code, step_rewards
from felicity_env.setups import choose_setup, setup_name
from felicity_env.spaces import create_dict_space

_ILLEGAL = -2
_IN_PLAY = (  # attributes that change during a game; `clone` copies them
    *("agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos"),
    *("_skip_agent_selection", "_states", "_deal", "_actions", "_decisions", "_stream", "_episode"),
)


@kernel
def _play(states: np.ndarray, action: int, code: int, rewards: np.ndarray) -> int:
    """Play an action in the game states[0], write the reward of each seat, and return the seat to act next.

    Returns NO_SEAT if the game is over. If the action is illegal, returns _ILLEGAL and changes nothing.
    """
    if not is_legal(states[0], action):
        return _ILLEGAL
    step(states[0], action)
    step_rewards(states[0], code, rewards)
    return states[0].seat


@kernel
def _write_view(states: np.ndarray, seat: int, open_mice: bool, observation: np.ndarray, mask: np.ndarray) -> None:
    observe(states[0], seat, open_mice, observation)
    legal_actions(states[0], seat, mask)


@kernel
def _write_everything(states: np.ndarray, out: np.ndarray) -> None:
    observe_everything(states[0], 0, out)


def env(
    num_players: int | None = None,
    *,
    reward: str = "win",
    open_mice: bool = False,
    render_mode: str | None = None,
    setup: Setup | str | None = None,
    illegal: str = "terminate",
) -> AECEnv[str, dict[str, Any], Any]:
    """Create the PettingZoo environment of Felicity, in PettingZoo's usual wrappers.

    illegal: what an illegal action does. "terminate": it ends the game, the agent that played it gets reward -1, and
    all other agents get 0. "penalise": the legal action with the nearest number is played, the agent's reward is
    `illegal.PENALTY` less, and `infos[agent]["illegal"]` is True until it acts again. "raise": `ValueError`. The other
    arguments are those of `raw_env`, and its docstring explains them. The attribute `unwrapped` is the environment
    without wrappers.
    """
    check_illegal(illegal, "terminate", "penalise", "raise")
    wrapped: AECEnv[str, dict[str, Any], Any]
    wrapped = raw_env(num_players, reward=reward, open_mice=open_mice, render_mode=render_mode, setup=setup)
    if illegal == "terminate":
        wrapped = TerminateIllegalWrapper(wrapped, illegal_reward=-1)
    elif illegal == "penalise":
        wrapped = PenaliseIllegalWrapper(wrapped)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(wrapped))


class raw_env(AECEnv[str, dict[str, Any], Any]):
    """PettingZoo AEC environment of the game Felicity, without wrappers.

    Arguments
        - num_players: 3, 4 or 5 seats of the standard setup, by default 4; left out if `setup` is given.
        - reward: "win", "margin", "score" or "round"; see Rewards.
        - open_mice: show each agent how many mice the others hold, which follows from public payments (R8.2).
        - render_mode: what `render` returns: text ("ansi"), a picture ("svg"), its pixels ("rgb_array", which needs the
          extra `render`) or nothing (None). With "human", text is printed at `reset` and after each step. Any other
          value raises `TypeError`.
        - setup: a `Setup`, the name of one in `SETUPS`, or a file that ends in .json with the fields of `Setup`.

    Agents
        `player_0`, `player_1` ... clockwise. Every method that takes an agent also takes its seat number.

    Observation space, the same for all agents, numbers of players and setups
        - "observation": Box float32 [188]. `felicity_env.SECTIONS` is its layout; `felicity_env.describe` decodes it.
        - "action_mask": Box int8 [74], 1 for each legal action; all zero unless the agent is to act, because the
          action mask of another agent that places a card would show its hand.

    State space (`state_space`, `state()`; privileged, for critics)
        Box float32 [373]: the observation of seat 0 with open mice, the seat to act and all hidden cards.

    Action space: Discrete(74)
        - 0..6: place the cat worth -8, -5, 3, 5, 8, 11 or 15. 7: place the rabbit. 8: the large dog. 9: the small dog.
        - 10: pass. 10 + b: bid b mice, 1 <= b <= 63.

    Rewards
        - "win": at the end 1/k to each of k winners, 0 to the others.
        - "margin": at the end the agent's score minus the mean score of the others.
        - "score": at the end the agent's score (mice and cat points).
        - "round": at the end of every round the change of the agent's mice and cat points. Over a game the sum is
          score - mice at the beginning, which is score - 15 in the standard setups.

    Options of `reset`
        `{"deal": {"removed": [card of each seat], "dummy": [nine cards in the order turned], "start_seat": seat}}` sets
        parts of the deal; all other parts are drawn from the seed. Keys other than "deal" are ignored. Unknown keys in
        the value of "deal" are errors. "dummy" is only for setups with a dummy (3 players).

    Infos
        Empty during the game. At the end `infos[agent]` has `score`, `cat_points`, `mice`, `rank` (1 is best; after
        score, cat points decide; full ties share a rank) and `win_share` (1/k for each of k winners).

    Errors
        These raise `ValueError` and leave the environment unchanged: an illegal action (the message names the seat, the
        action and the legal actions), an impossible deal, a seed outside 0..2**63 - 1, an unknown agent, and a step
        before `reset`.

    Metadata
        `rules_version` and `observation_version` increase when stored games or trained policies no longer fit.

    Methods in addition to PettingZoo's
        - view(): what the seat to act may know, for a player's `act`.
        - information_state(agent): all that the agent has seen since the deal.
        - render_all(): text with every hidden card. clone(), restore(state): save and restore the game.
        - game, load(game): get or replace the record of the game, which `notation` converts to text.
    """

    metadata = {  # noqa: RUF012 - PettingZoo declares it on the instance
        "name": "felicity_v0",
        "is_parallelizable": False,
        **RENDER_METADATA,
        **VERSIONS,
    }

    def __init__(
        self,
        num_players: int | None = None,
        *,
        reward: str = "win",
        open_mice: bool = False,
        render_mode: str | None = None,
        setup: Setup | str | None = None,
    ) -> None:
        super().__init__()
        check_render_mode(render_mode)
        self.metadata = copy.deepcopy(type(self).metadata)  # wrappers and recorders write into it
        self.setup = choose_setup(num_players, setup)
        self.reward, self.open_mice, self.render_mode = reward, bool(open_mice), render_mode
        self._reward_code = reward_code(reward)
        self._dense = reward == "round"
        self.possible_agents = [f"player_{seat}" for seat in range(self.setup.seats)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._action_spaces = [Discrete(NUM_ACTIONS) for _ in self.possible_agents]
        self._observation_spaces = [create_dict_space(("observation", "action_mask")) for _ in self.possible_agents]
        self.state_space = Box(OBS_LOW, OBS_HIGH, (PRIVILEGED_SIZE,), np.float32)
        self._seat_rewards = np.zeros(MAX_SEATS)
        self._stream: Any = None  # seed of the stream of games; None before the first deal
        self._states: Any = None  # STATE [1]; None before the first deal
        self._recall: Recall | None = None  # created when a seat first asks what it has seen in a game
        self.agents = []

    def observation_space(self, agent: str | int) -> Dict:
        """Return the observation space of an agent, a dict of "observation" and "action_mask".

        All agents have equal spaces.
        """
        return self._observation_spaces[self._find_seat(agent)]

    def action_space(self, agent: str | int) -> Discrete:
        """Return the action space of an agent, `Discrete(74)`.

        Actions 0 to 9 place the card with that number, 10 passes, and 10 + b bids b mice.
        """
        return self._action_spaces[self._find_seat(agent)]

    # --- playing ---

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Deal a new game and begin it.

        seed: integer from 0 to 2**63 - 1, which begins a new sequence of games. Without a seed, the next game of the
        sequence is dealt; at the first call the sequence begins with a random seed. options: parts of the deal to set,
        see the docstring of the class. Raises `ValueError` naming the fault, and leaves the game unchanged, if the seed
        or the deal is impossible.
        """
        stream, episode = self._find_next_game(seed)
        self._deal = draw_deal(self.setup, _compute_game_seed(stream, episode), (options or {}).get("deal"))
        self._stream, self._episode = stream, episode
        self._states = initial_states(self.setup, self._deal)
        self._actions: list[int] = []
        self._recall = None
        self._decisions = [0] * self.setup.seats  # decisions that each seat has taken in this game
        self.agents = self.possible_agents[:]
        self.agent_selection = self.possible_agents[int(self._states[0].seat)]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        if self.render_mode == "human":
            self.render()

    def _find_next_game(self, seed: int | None) -> tuple[int, int]:
        """Return the seed of the sequence of games that an environment plays, and the index of its next game.

        A given seed begins a new sequence at index 0.
        """
        if seed is not None:
            return check_seed(seed), 0
        if self._stream is None:
            return secrets.randbits(63), 0
        return self._stream, self._episode + 1

    def step(self, action: int | None) -> None:
        """Play an action for the agent to act, which is `agent_selection`.

        Once the game is over, the action must be None. Raises `ValueError`, and changes nothing, if the action is
        illegal.
        """
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
        self._decisions[self._seats[agent]] += 1
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
        """Set the termination flag and the final info (its result) of each agent after a game.

        PettingZoo then expects one `step(None)` for each agent, in the order of the seats.
        """
        state = self._states[0]
        for seat, agent in enumerate(self.agents):
            self.terminations[agent] = True
            self.infos[agent] = read_result(state, seat, is_over=True)
        self.agent_selection = self.agents[0]

    # --- seeing ---

    def observe(self, agent: str | int) -> dict[str, np.ndarray]:
        """Return the current observation and action mask of an agent, in new arrays."""
        observation, mask = np.empty(OBS_SIZE, np.float32), np.empty(NUM_ACTIONS, np.int8)
        _write_view(self._get_states(), self._find_seat(agent), self.open_mice, observation, mask)
        return {"observation": observation, "action_mask": mask}

    def view(self) -> View:
        """Return what the seat to act may know, as a view of one decision, which a player's `act` takes.

        The random bits in the view follow from the game's seed: after `reset(seed=batch.game_seeds[k])` a player acts
        as in game k of the `Batch`. Raises `ValueError` once the game is over.
        """
        seat = int(self._get_states()[0].seat)
        if seat == NO_SEAT:
            raise ValueError("the game is over: no seat is to act")
        game = np.uint64(_compute_game_seed(self._stream, self._episode))
        seed = decision_seed(game, seat, self._decisions[seat])
        return View.make_unchecked(redact(self._states, seat), np.array([seat]), np.array([seed], np.uint64))

    def _get_states(self) -> np.ndarray:
        if self._states is None:
            raise ValueError("no game has been dealt: call reset()")
        return self._states

    def _find_seat(self, agent: str | int) -> int:
        """Return the seat number of an agent, given its name, such as `player_0`, or the seat number itself.

        Raises `ValueError` if there is no such agent.
        """
        if isinstance(agent, str) and agent in self._seats:
            return self._seats[agent]
        if is_integer(agent) and 0 <= int(agent) < self.setup.seats:
            return int(agent)
        raise ValueError(
            f"no agent or seat {agent!r}; agents are {self.possible_agents}, seats 0 to {self.setup.seats - 1}"
        )

    def information_state(self, agent: str | int) -> list[Event]:
        """Return a list of all events that an agent has seen since the deal, in order.

        The function `information.encode_information_state` converts the list to an array.
        """
        seat = self._find_seat(agent)
        self._get_states()  # raises before the first deal
        self._recall = self._recall or Recall(initial_states(self.setup, self._deal))
        for action in self._actions[len(self._recall.actions) :]:
            self._recall.play(action)
        return list(self._recall.events[seat])

    def state(self) -> np.ndarray:
        """Return the full state of the game, with all hidden cards, as numbers: input for a critic, never for a player.

        The array is float32 [PRIVILEGED_SIZE]. Seats are relative to seat 0.
        """
        out = np.empty(PRIVILEGED_SIZE, np.float32)
        _write_everything(self._get_states(), out)
        return out

    def render(self) -> str | np.ndarray | None:
        """Show the table with only what the agent to act may know, or with everything once the game is over.

        Returns text if `render_mode` is "ansi", a picture as SVG if it is "svg", its pixels, uint8 [640, 960, 3], if it
        is "rgb_array", and None if it is "human", which prints the text. Pixels need the extra `render`; without it
        this raises `ImportError`.
        """
        seat = self._seats[self.agent_selection]
        return render(self._get_states()[0], seat, self.render_mode, open_mice=self.open_mice)

    def __repr__(self) -> str:
        return f"<felicity_v0.raw_env, {setup_name(self.setup)}>"

    def _repr_html_(self) -> str | None:
        """Return the picture that a notebook shows: the table as the agent to act may know it."""
        if self._states is None:
            return None
        return str(render(self._states[0], self._seats[self.agent_selection], "svg", open_mice=self.open_mice))

    def render_all(self) -> str:
        """Return the table with every hidden card as text, for teaching and debugging."""
        return render_everything(self._get_states()[0])

    def close(self) -> None:
        """Do nothing: the environment holds no resources to release."""

    # --- positions and games ---

    @property
    def game(self) -> Game:
        """Record of the game so far: setup, deal and actions. `notation.dumps` converts it to text."""
        self._get_states()
        return Game(self.setup, self._deal, tuple(self._actions))

    def load(self, game: Game) -> None:
        """Replace the current game by a recorded one, and continue after its last action.

        Raises `ValueError`, and changes nothing, if the record has another setup, an impossible deal or an illegal
        action.
        """
        if game.setup != self.setup:
            raise ValueError(f"this environment plays {self.setup}, the game has {game.setup}")
        check_overrides(self.setup, vars(game.deal))
        game.final_states()  # raises at an illegal action
        self.reset(options={"deal": vars(game.deal)})
        for action in game.actions:
            self.step(action)

    def clone(self) -> dict[str, Any]:
        """Return a copy of the game in progress, from which `restore` can continue it.

        The copy contains the history of the game and all hidden cards, so a player must not see it.
        """
        self._get_states()
        return {"setup": self.setup} | {name: copy.deepcopy(getattr(self, name)) for name in _IN_PLAY}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue a game from a copy that `clone` returned, in this or another environment.

        Raises `ValueError` if the copy is from an environment with another setup.
        """
        if state["setup"] != self.setup:
            raise ValueError(f"this environment plays {self.setup}, the state has {state['setup']}")
        for name in _IN_PLAY:
            setattr(self, name, copy.deepcopy(state[name]))
        self._recall = None


def _compute_game_seed(stream: int, episode: int) -> int:
    """Return the seed of one game in the sequence of games that an environment plays.

    stream: seed that was given to `reset`; it is also the seed of the first game. episode: index of the game, from 0.
    """
    return stream if episode == 0 else game_seed(stream, 0, episode)
