"""Table at which people and players play one game, with take-back and a file that always holds the game."""

import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from agents.arena.game_file import read_game, read_players, read_seed, write_game
from agents.player_names import list_short_names
from agents.registry import check_player, is_foreign, make
from agents.tools.files import UserError
from felicity_env.game import NO_SEAT, Setup, State
from felicity_env.game_record import Game
from felicity_env.pettingzoo_env import raw_env
from felicity_env.player import Player, View
from felicity_env.render.scene import Scene, build_view_scene
from felicity_env.setups import choose_setup

HUMAN = "human"
LEVELS = {"easy": "greedy", "medium": "ev", "hard": "net"}  # names for players of the ladder


@dataclass(frozen=True)
class Seating:
    """Players of a game by seat: HUMAN or the code of a player."""

    players: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Short names of the players by seat, for pictures."""
        return list_short_names(self.players)

    @property
    def humans(self) -> list[int]:
        """Seats at which people sit."""
        return [seat for seat, player in enumerate(self.players) if player == HUMAN]


def check_seating(players: Sequence[str]) -> Seating:
    """Return the seating of a game; raise `ValueError` unless people or known players sit at 3 to 5 seats."""
    choose_setup(len(players), None)
    if HUMAN not in players:
        raise ValueError(f"nobody plays: name {HUMAN} for one seat or several, as in --players {HUMAN} net ev")
    for player in players:
        if player != HUMAN:
            check_player(LEVELS.get(player, player), "--players")
    return Seating(tuple(players))


class Table:
    """Game in progress between people and players; `file` always holds it in text notation.

    open_mice: whether people see how many mice all seats hold (R8.2). version: number that changes with every action
    and every take-back, so that a message about an older position is noticed. number: which game at this table it is,
    counted from 1.
    """

    def __init__(
        self,
        seating: Seating,
        setup: Setup,
        file: Path,
        *,
        game: Game | None = None,
        seed: int | None = None,
        open_mice: bool = False,
    ) -> None:
        self.seating, self.file, self.open_mice = seating, file, open_mice
        self.version, self.number = 0, 1
        self.seed = secrets.randbits(32) if seed is None else seed
        self._env = raw_env(setup=setup)
        self._env.reset(seed=self.seed)
        if game is not None:
            self._replay(game)
        self._players = self._make_players()

    def _make_players(self) -> dict[int, Player]:
        codes = enumerate(self.seating.players)
        return {seat: make(LEVELS.get(code, code)) for seat, code in codes if code != HUMAN}

    @property
    def game(self) -> Game:
        """Record of the game so far."""
        return self._env.game

    @property
    def state(self) -> State:
        """State of the game, with all hidden cards."""
        return self.game.final_states()[0]

    @property
    def acting(self) -> int | None:
        """Seat to act, or None once the game is over."""
        seat = int(self.state.seat)
        return None if seat == NO_SEAT else seat

    def build_scene(self, seat: int, state: State | None = None) -> Scene:
        """Build the scene of a position, by default the one now, as a seat may know it, with the players' names."""
        state = self.state if state is None else state
        return build_view_scene(state, seat, open_mice=self.open_mice, names=self.seating.names)

    def view(self) -> View:
        """Return what the seat to act may know."""
        return self._env.view()

    def play_players(self) -> None:
        """Let the players act until it is the turn of a person or the game is over."""
        while self.acting in self._players:
            self._step(int(self._players[self.acting].act(self._env.view())[0]))

    def act(self, seat: int, action: int, version: int) -> None:
        """Play an action of a person, who saw the position with number `version`.

        Raises `ValueError` with the reason, and changes nothing, if it is not the turn of this seat, the action is
        illegal, or the game has moved on.
        """
        self._check_version(version)
        if self.acting is None:
            raise ValueError("the game is over")
        if self.acting != seat:
            raise ValueError(f"it is the turn of seat {self.acting}, not of seat {seat}")
        self._step(action)

    def take_back(self, seat: int, version: int) -> None:
        """Go back to the position before the last action of a person who plays alone against players.

        Raises `ValueError` with the reason, and changes nothing, if there is no such action, or other people play too.
        """
        self._check_version(version)
        number = self.find_last_action(seat)
        if number is None:
            raise ValueError("there is no action of yours to take back")
        if len(self.seating.humans) > 1:
            raise ValueError("an action cannot be taken back while other people play too")
        self._replay(replace(self.game, actions=self.game.actions[:number]))
        self.version += 1
        self.save()

    def find_last_action(self, seat: int) -> int | None:
        """Return the index of the last action of a seat, or None if it has not acted."""
        seats = [int(state.seat) for _, state in self.game.states()][: len(self.game.actions)]
        return max((index for index, acting in enumerate(seats) if acting == seat), default=None)

    def begin_again(self, version: int) -> None:
        """Begin another game with the same players, after one is over, in a file of its own.

        Raises `ValueError` with the reason, and changes nothing, if the game is not over.
        """
        self._check_version(version)
        if self.acting is not None:
            raise ValueError("another game can begin when this one is over")
        self.file, self.seed, self._players = find_free_name(self.file), secrets.randbits(32), self._make_players()
        self._env.reset(seed=self.seed)
        self.version, self.number = self.version + 1, self.number + 1
        self.save()

    def save(self) -> None:
        """Write the game, the players and the seed to the file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_game(self.file, self.game, self.seating.players, f"seed {self.seed}")

    def _step(self, action: int) -> None:
        self._env.step(action)
        self.version += 1
        self.save()

    def _replay(self, game: Game) -> None:
        """Play a game from its deal, with the random bits that the table's seed gives to the players."""
        self._env.reset(seed=self.seed, options={"deal": vars(game.deal)})
        for action in game.actions:
            self._env.step(action)

    def _check_version(self, version: int) -> None:
        if version != self.version:
            raise ValueError("the game has moved on; look at the position as it is now")


def find_free_name(file: Path) -> Path:
    """Return a name for the next file after this one that no file has: with -2 at its end, or -3, and so on."""
    names = (file.with_stem(f"{file.stem}-{number}") for number in count(2))
    return next(name for name in names if not name.exists())


def open_table(players: Sequence[str], file: Path, *, seed: int | None = None, open_mice: bool = False) -> Table:
    """Begin a game, or continue the one in a file that exists.

    players: codes by seat; () takes those that the file names. Raises `ValueError` or `UserError` if the players do not
    fit the game, or nobody of them is a person.
    """
    if not file.exists():
        seating = check_seating(players)
        table = Table(seating, choose_setup(len(players), None), file, seed=seed, open_mice=open_mice)
        table.save()
        return table
    game = read_game(file)
    seating = check_seating(players or _read_built_in_players(file, game.setup.seats))
    if len(seating.players) != game.setup.seats:
        raise UserError(f"{file} is a game of {game.setup.seats} seats, not of {len(seating.players)}")
    seed = read_seed(file) if seed is None else seed
    return Table(seating, game.setup, file, game=game, open_mice=open_mice, seed=seed)


def _read_built_in_players(file: Path, seats: int) -> Sequence[str]:
    """Read the players that a file of a game names; raise `UserError` if it names a program of a user, or a server."""
    players = read_players(file, seats)
    if foreign := [code for code in players if is_foreign(code)]:
        raise UserError(
            f"{file} names {', '.join(foreign)}, which a file may not start: if you trust it, add "
            f"--players {shlex.join(players)}"
        )
    return players
