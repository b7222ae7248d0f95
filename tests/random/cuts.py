"""Trainings from dice, and ways to cut them up: what must change no bit, beside what may."""

import dataclasses

import orders

ONE_STAGE_A_RANK = ["gpipe", "1f1b", "1f1b-deep", "zb-h1", "zb-h2"]
TWO_STAGES_A_RANK = ["zb-v", "v-half", "v-min", "dualpipev"]
ANY_STAGES_A_RANK = ["interleaved-1f1b", "looped-bfs"]


@dataclasses.dataclass
class Shape:
    """Of a step; the bits belong to it."""

    replicas: int
    micro_batches: int
    exact: bool = False  # the reduction, with which D x M alone counts

    def options(self):
        return ["--replicas", self.replicas, "--micro-batches", self.micro_batches,
                "--reduction", "exact" if self.exact else "fast"]


def draw_shape(dice):
    exact = dice.random() < 0.25
    replicas = dice.choice([1, 1, 1, 2, 2, 3])
    return Shape(replicas, dice.choice([1, 2, 4]) if exact and replicas > 1 else dice.randint(1, 6), exact)


def another_shape(dice, shape):
    """One replica with the micro-batches of all, where that changes nothing."""
    if shape.exact and dice.random() < 0.5:
        return Shape(1, shape.replicas * shape.micro_batches, True)
    return shape


def optimizer(dice, steps):
    kind = dice.choice(["sgd", "rmsprop", "adam", "adamw", "adamw", "lion", "muon", "muon", "adafactor", "adafactor"])
    keys = {"kind": kind, "learning_rate": dice.choice([1e-3, 1e-2]), "weight_decay": dice.choice([0.0, 0.1]),
            "decay_all": dice.random() < 0.2, "clip_norm": dice.choice([0.0, 0.0, 0.3, 1.0]),
            "moving_average": dice.choice([0.0, 0.9]), "schedule": dice.choice(["constant", "cosine", "inverse-sqrt", "exponential"]),
            "warmup_steps": dice.choice([0, 2])}
    if keys["schedule"] in ("cosine", "exponential"):
        keys["decay_steps"] = dice.choice([2, steps])
    if kind == "sgd":
        keys["nesterov"] = dice.random() < 0.5
    if kind == "muon":
        keys["adamw_rate"] = dice.choice([0.0, 3e-3])
    if dice.random() < 0.1:
        keys["freeze"] = [dice.choice(["*.bias", "embedding*", "blocks.0.*", "*1*"])]
    return keys


def training(dice, steps, evaluations, every):
    """The sections of a run file that are the same for every cut of it."""
    return {
        "optimizer": optimizer(dice, steps),
        "pipeline": {"micro_batch_size": dice.randint(1, 3)},
        "checkpoint": {"every": every, "keep": dice.choice([0, 1, 2])},
        "run": {"steps": steps, "seed": dice.randrange(1000), "precision": dice.choice(["fp32", "fp32", "bf16"]),
                "threads": dice.choice([1, 1, 1, 2]), "eval_every": evaluations, "eval_batch": dice.choice([0, 0, 2, 5]),
                "measure_processor": False, "trace": dice.choice([0, 0, 2])},
    }


def split(dice, layers, stages):
    """Layers of each stage, each at least one."""
    ends = sorted(dice.sample(range(1, layers), stages - 1))
    return [end - begin for begin, end in zip([0, *ends], [*ends, layers])]


@dataclasses.dataclass
class Cut:
    """Ranks of a replica, where each has its layers, and what is done there."""

    ranks: int
    places: list  # options; with a narrow wire results depend on them
    ways: list  # options that never matter

    @property
    def words(self):
        return self.places + self.ways


def draw_recompute(dice, stages):
    mode = dice.choice(["none", "stage", "layer"])
    if mode != "stage" or dice.random() < 0.5:
        return ["--recompute", mode]
    kept = dice.sample(range(stages), dice.randint(1, stages))
    return ["--recompute", mode, "--kept-stages", ",".join(map(str, kept))]


def draw_ways(dice, stages):
    return [*draw_recompute(dice, stages), "--placement", dice.choice(["stages", "replicas"]),
            "--optimizer.barrier", dice.choice(["true", "true", "false"]), "--optimizer.sharded", dice.choice(["auto", "true", "false"]),
            "--data.prefetch", dice.randint(1, 3), "--data.threads", dice.randint(0, 2), "--run.bind", dice.choice(["auto", "none"])]


def draw_warm_up(dice, schedule):
    return ["--warm-up", dice.randint(0, 4)] if schedule in ("1f1b", "zb-h1") else []


def draw_cut(dice, layers, shape, folder, most_ranks=6, narrow=False):
    """`narrow`: messages are rounded, and so a split is given, as one that is reckoned hangs on the schedule. An order that is drawn, too,
    is written to `folder`."""
    ranks = min(most_ranks // shape.replicas, layers, dice.choice([1, 2, 2, 3, 3, 4, 5, 6]))
    most_chunks = min(layers // ranks, 4)
    kinds = [ONE_STAGE_A_RANK] + ([TWO_STAGES_A_RANK, ANY_STAGES_A_RANK] if most_chunks >= 2 else [])
    kind = dice.choice(kinds)
    chunks = {0: 1, 1: 2, 2: dice.randint(2, max(2, most_chunks))}[kinds.index(kind)]
    stages = ranks * chunks
    places = ["--stages", stages, "--pipeline.chunks", chunks]
    if narrow or (stages > 1 and dice.random() < 0.6):
        places += ["--split", ",".join(map(str, split(dice, layers, stages)))]
    schedule = dice.choice(kind)
    if narrow:
        places += ["--wire", "bf16"]
    elif dice.random() < 0.2:
        schedule = folder / f"order-{dice.randrange(10**6)}.csv"
        schedule.write_text(orders.csv(dice, ranks, chunks, shape.micro_batches))
    return Cut(ranks, places, ["--schedule", schedule, *draw_warm_up(dice, schedule), *draw_ways(dice, stages)])


def plain(shape):
    """The twin: one rank a replica and nothing that is clever."""
    sharded = "false" if shape.replicas > 1 else "auto"
    return Cut(1, [], ["--schedule", "gpipe", "--recompute", "none", "--optimizer.sharded", sharded])


def other_schedule(dice, cut):
    """The twin where what travels is rounded: the same layers on the same ranks, in another order."""
    schedule = cut.ways[1]
    kind = next(kind for kind in (ONE_STAGE_A_RANK, TWO_STAGES_A_RANK, ANY_STAGES_A_RANK) if schedule in kind)
    other = dice.choice([each for each in kind if each != schedule])
    return Cut(cut.ranks, cut.places, ["--schedule", other, *draw_warm_up(dice, other), *draw_ways(dice, cut.places[1])])
