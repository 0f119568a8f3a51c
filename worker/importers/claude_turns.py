"""Where a Claude Code record stands in its conversation.

Claude Code links records by parentUuid, but not every second child is a rewind: parallel tool calls and their results, hook and
progress records, and replies split over several lines all branch off and belong to the same turn. Only a person's prompt starts a
turn, so a turn is kept as one line, and a prompt whose parent lies in an earlier turn is a rewind to the end of that turn. The rule
looks at earlier records only, so that a file that grew reads the same up to where it ended.
"""

_NO_TURN = -1
_MAX_STEPS = 1000  # turns looked back over for a record that comes late; beyond them it is taken for another branch


class Turns:
    """The turns seen so far: the last record of each, the turn each followed, and the turn that is active."""

    def __init__(self) -> None:
        self._turn_of: dict[str, int] = {}
        self._last: list[str | None] = [None]  # turn 0 holds what comes before the first prompt
        self._before: list[int] = [_NO_TURN]
        self._active = 0
        self._linked = False  # whether any record named a parent; files whose parents are all null tell no tree

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._turn_of

    @property
    def empty(self) -> bool:
        """Whether no record was placed yet."""
        return not self._turn_of

    def place(self, record_id: str, parent: str | None, *, prompt: bool, root: bool) -> str | None:
        """The record the new one follows, None for a root; it is the leaf from now on.

        parent: as the record names it; root: it says so explicitly (parentUuid null and no logical parent).
        """
        turn = self._turn_named(parent, prompt=prompt, root=root)
        if not prompt and turn != self._active and self._is_before(turn, self._active):
            turn = self._active  # a result or notice that comes late takes nothing back
        follows = self._last[turn] if turn != _NO_TURN else None
        if prompt:
            self._before.append(turn)
            self._last.append(None)
            turn = len(self._last) - 1
        self._turn_of[record_id] = self._active = turn
        self._last[turn] = record_id
        return follows

    def _turn_named(self, parent: str | None, *, prompt: bool, root: bool) -> int:
        if parent is not None:
            self._linked = True
            return self._turn_of.get(parent, self._active)
        return _NO_TURN if root and prompt and self._linked else self._active

    def _is_before(self, turn: int, later: int) -> bool:
        for _ in range(_MAX_STEPS):
            later = self._before[later]
            if later == turn:
                return True
            if later == _NO_TURN:
                return False
        return False
