"""What is compared, as one table."""

from dataclasses import dataclass, field

import floors
from specs import amoebanet, mixture, resnet18, title, transformer


@dataclass
class Row:
    part: str  # of issue and table: "1", "2", ...
    name: str
    spec: dict
    ranks: int = 1
    # Options of our run beyond those the spec says, and of the run it is held against where that is
    # ours too.
    ours: dict = field(default_factory=dict)
    against: dict = None
    against_ranks: int = 1
    ideal: float = 0.0  # what the ratio is at best, 0: unknown


ONE_RANK = [
    lambda p: transformer(256, 128, 8, 1, precision=p),
    lambda p: transformer(256, 512, 1, 8, precision=p),
    lambda p: transformer(512, 128, 1, 8, precision=p),
    lambda p: transformer(512, 256, 4, 2, precision=p),
    lambda p: transformer(512, 1024, 1, 1, precision=p),
    lambda p: transformer(1024, 128, 2, 4, layers=2, precision=p),
    lambda p: transformer(1024, 512, 2, 1, layers=2, precision=p),
    lambda p: resnet18(8, 1, precision=p),
    lambda p: resnet18(4, 4, precision=p),
    lambda p: amoebanet(8, 1, precision=p),
]

TWO_THREADS = [
    transformer(256, 128, 8, 1),
    transformer(256, 512, 1, 8),
    transformer(512, 256, 4, 2),
    transformer(512, 256, 4, 2, precision="bf16"),
    resnet18(8, 1),
    amoebanet(8, 1),
]


def one_rank():
    specs = [make(precision) for precision in ("fp32", "bf16") for make in ONE_RANK]
    specs += [spec | {"threads": 2} for spec in TWO_THREADS]
    return [Row("1", title(spec), spec) for spec in specs]


def pipelined(m, schedule):
    # Four blocks before the cut; three and a classifier, which weighs 1.3 of them, after it.
    spec = transformer(256, 256, 1, m, layers=7)
    return spec | {"schedule": schedule, "split": [5, 5]}


def two_stages(spec):
    return {
        "pipeline.stages": 2,
        "pipeline.schedule": spec["schedule"],
        "pipeline.split": ",".join(map(str, spec["split"])),
    }


def two_ranks():
    found = []
    for schedule in ("gpipe", "1f1b"):
        for m in (4, 8, 32):
            spec = pipelined(m, schedule)
            name = f"2 ranks, {schedule}, M {m}, beside"
            found.append(Row("2", f"{name} the peer's", spec, 2, two_stages(spec)))
            ideal = 2 * m / (m + 1) * floors.balance(spec)
            found.append(
                # Of the same schedule: gpipe keeps M stashes, which costs one rank its caches as well.
                Row("2", f"{name} our one", spec, 2, two_stages(spec), {"pipeline.schedule": schedule}, ideal=ideal)
            )
    return found


def recompute():
    spec = pipelined(8, "gpipe")
    four = {"pipeline.stages": 4, "pipeline.schedule": "gpipe"}
    return [
        Row(
            "4",
            f"recompute {mode}, {ranks} ranks, gpipe, M 8, beside none",
            spec,
            ranks,
            kept | {"pipeline.recompute": mode},
            kept,
            ranks,
            ideal=3 / 4,
        )
        for ranks, kept in ((2, two_stages(spec)), (4, four))
        for mode in ("stage", "layer")
    ]


def replicas():
    return [
        Row(
            "5",
            f"2 replicas, {title(spec)}, beside one with half the work",
            spec,
            2,
            {"pipeline.replicas": 2},
            {},
            ideal=1.0,
        )
        for spec in (transformer(512, 256, 2, 4), resnet18(8, 2))
    ]


def vocabularies():
    """4,096 rows of logits in a micro-batch."""
    sizes = [(words, "fp32") for words in (4096, 32000, 151936)] + [(151936, "bf16")]
    specs = [transformer(256, 512, 8, 1, layers=1, precision=precision, vocabulary=words) for words, precision in sizes]
    return [Row("7", title(spec), spec) for spec in specs]


def mixtures():
    """1,024 tokens in a micro-batch; as wide inside, by what a token meets, as a block of four times the width."""
    specs = [
        mixture(*sizes, 256, 4, 2, precision=precision)
        for precision in ("fp32", "bf16")
        for sizes in ((8, 2, 1024), (64, 8, 256))
    ]
    return [Row("8", title(spec), spec) for spec in specs]


def rows():
    return [*one_rank(), *two_ranks(), *recompute(), *replicas(), *vocabularies(), *mixtures()]
