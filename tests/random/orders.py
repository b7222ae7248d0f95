"""Schedules that nobody would write, as CSV files: any stage on any rank, and any order in which it can be done."""

import dataclasses


@dataclasses.dataclass
class Done:
    """Of one stage: how many micro-batches, of which each kind goes in ascending order."""

    forwards: int = 0
    backwards: int = 0  # whole ones, and halves with respect to inputs
    weights: int = 0


def possible(stages, s, micro_batches):
    """The cells of a stage that what is done allows to be next."""
    done, cells = stages[s], []
    if done.forwards < micro_batches and (s == 0 or stages[s - 1].forwards > done.forwards):
        cells.append(("F", done.forwards))
    if done.backwards < done.forwards and (s == len(stages) - 1 or stages[s + 1].backwards > done.backwards):
        cells.append(("I", done.backwards))
        if done.weights == done.backwards:
            cells.append(("B", done.backwards))
    if done.weights < done.backwards:
        cells.append(("W", done.weights))
    return cells


def record(done, op):
    done.forwards += op == "F"
    done.backwards += op in "IB"
    done.weights += op in "WB"


def csv(dice, ranks, chunks, micro_batches):
    """A line for each rank, which has `chunks` stages."""
    owners = [*range(ranks)] * chunks
    dice.shuffle(owners)
    stages = [Done() for _ in owners]
    lines = [[] for _ in range(ranks)]
    while cells := [(s, *cell) for s in range(len(stages)) for cell in possible(stages, s, micro_batches)]:
        s, op, micro_batch = dice.choice(cells)
        record(stages[s], op)
        lines[owners[s]].append(f"{op}{s}.{micro_batch}")
    return "".join(",".join(line) + "\n" for line in lines)
