"""Groups in the table of answers: one column, or one for each column that an answer is grouped by."""

from __future__ import annotations

from collections.abc import Sequence

from noiseledger.core.answer import Answer


def group_columns(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Return the headings of the groups: the names of the columns, if all grouped answers share several."""
    found = {answer.query.grouped_by for answer in answers} - {()}
    shared = found.pop() if len(found) == 1 else ()
    return shared if len(shared) > 1 else ("group",)


def group_cells(answer: Answer, places: int) -> Sequence[Sequence[str]]:
    """Return what each coordinate of an answer has in these columns."""
    if len(answer.query.grouped_by) == places > 1:
        return answer.cells
    empty = [""] * (places - 1)
    return [(label, *empty) for label in answer.labels]
