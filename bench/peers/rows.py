"""What is compared: the networks, their sizes, and what each step costs at least."""

from dataclasses import dataclass, field


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


def transformer(width, context, b, m, layers=4, precision="fp32"):
    return {
        "network": "transformer",
        "width": width,
        "heads": width // 64,
        "layers": layers,
        "vocabulary": 4096,
        "context": context,
        "micro_batch_size": b,
        "micro_batches": m,
        "precision": precision,
    }


def resnet18(b, m, precision="fp32"):
    return {
        "network": "resnet",
        "classes": 10,
        "image": 64,
        "micro_batch_size": b,
        "micro_batches": m,
        "precision": precision,
    }


def title(spec):
    if spec["network"] == "transformer":
        name = f"LM {spec['layers']} x {spec['width']}, T {spec['context']}"
    else:
        name = "ResNet-18, 64 x 64"
    return f"{name}, b {spec['micro_batch_size']}, M {spec['micro_batches']}, {spec['precision']}"


def options(spec):
    """The same run as `penstock train` takes it."""
    common = {
        "data.kind": "synthetic",
        "run.threads": 1,
        "run.device": "cpu",
        "run.precision": spec["precision"],
        "pipeline.micro_batches": spec["micro_batches"],
        "pipeline.micro_batch_size": spec["micro_batch_size"],
        "pipeline.recompute": "none",
        "pipeline.schedule": "1f1b",
    }
    if spec["network"] == "transformer":
        return common | {
            "model.kind": "transformer-lm",
            "model.width": spec["width"],
            "model.heads": spec["heads"],
            "model.layers": spec["layers"],
            "model.vocabulary": spec["vocabulary"],
            "model.context": spec["context"],
            "model.activation": "gelu",
            "model.positions": "learned",
            "optimizer.kind": "adamw",
            "optimizer.weight_decay": 0.01,
        }
    return common | {
        "model.kind": "resnet",
        "model.form": "imagenet",
        "model.depth": 18,
        "model.image": f"3,{spec['image']},{spec['image']}",
        "model.classes": spec["classes"],
        "optimizer.kind": "sgd",
        "optimizer.momentum": 0.9,
        "optimizer.learning_rate": 0.01,
        "optimizer.weight_decay": 1e-4,
    }


# ---- floors


def resnet18_convolutions():
    """(positions an image, multiply-adds a position, weights, needs an input gradient)"""
    found = [(32 * 32, 3 * 49 * 64, 3 * 49 * 64, False)]
    inputs, side = 64, 16
    for group, width in enumerate([64, 128, 256, 512]):
        for i in range(2):
            if group > 0 and i == 0:
                side //= 2
                found.append((side * side, inputs * width, inputs * width, True))
            for channels in (inputs, width):
                found.append((side * side, 9 * channels * width, 9 * channels * width, True))
            inputs = width
    found.append((1, 512 * 10, 512 * 10, True))
    return found


def transformer_layer_flops(spec):
    """Of one step, forward and backward, for each of our layers in order."""
    w, t = spec["width"], spec["context"]
    samples = spec["micro_batch_size"] * spec["micro_batches"]
    block = 6 * 12 * w * w * t + 6 * t * t * w  # a causal mask leaves half of the T x T products
    head = 6 * w * spec["vocabulary"] * t
    return [0] + [samples * block] * spec["layers"] + [0, samples * head]


def flops(spec):
    if spec["network"] == "transformer":
        return sum(transformer_layer_flops(spec))
    samples = spec["micro_batch_size"] * spec["micro_batches"]
    return samples * sum(
        places * 2 * products * (3 if inner else 2)
        for places, products, _, inner in resnet18_convolutions()
    )


def weights(spec):
    if spec["network"] == "transformer":
        w = spec["width"]
        return 12 * w * w * spec["layers"] + 2 * w * spec["vocabulary"] + w * spec["context"]
    return sum(count for _, _, count, _ in resnet18_convolutions())


def moved_bytes(spec):
    """Weights, gradients and optimizer state only: every micro-batch reads the weights twice and adds
    to the gradients; the update reads and writes everything once."""
    narrow = 2 if spec["precision"] == "bf16" else 4
    update = 28 if spec["network"] == "transformer" else 20
    return weights(spec) * (update + spec["micro_batches"] * (2 * narrow + 8))


def floor_seconds(spec, floors):
    """The larger of the two, on one core, and which one it is."""
    compute = flops(spec) / (floors[spec["precision"]] * 1e9)
    memory = moved_bytes(spec) / (floors["copy"] * 1e9)
    return (compute, "flops") if compute >= memory else (memory, "bytes")


# ---- the rows

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
]


def pipelined(m, schedule):
    # Four blocks before the cut; three and a classifier, which weighs 1.3 of them, after it.
    spec = transformer(256, 256, 1, m, layers=7)
    return spec | {"schedule": schedule, "split": [5, 5]}


def balance(spec):
    """Mean load over the largest."""
    loads = transformer_layer_flops(spec)
    first = sum(loads[: spec["split"][0]])
    return sum(loads) / 2 / max(first, sum(loads) - first)


def rows():
    found = []
    for precision in ("fp32", "bf16"):
        for make in ONE_RANK:
            spec = make(precision)
            found.append(Row("1", title(spec), spec))
    for schedule in ("gpipe", "1f1b"):
        for m in (4, 8, 32):
            spec = pipelined(m, schedule)
            two = {
                "pipeline.stages": 2,
                "pipeline.schedule": schedule,
                "pipeline.split": ",".join(map(str, spec["split"])),
            }
            found.append(
                Row("2", f"2 ranks, {schedule}, M {m}, beside the peer's", spec, 2, two)
            )
            found.append(
                Row(
                    "2",
                    f"2 ranks, {schedule}, M {m}, beside our one",
                    spec,
                    2,
                    two,
                    {},
                    ideal=2 * m / (m + 1) * balance(spec),
                )
            )
    spec = pipelined(8, "gpipe")
    two = {
        "pipeline.stages": 2,
        "pipeline.schedule": "gpipe",
        "pipeline.split": ",".join(map(str, spec["split"])),
    }
    for mode in ("stage", "layer"):
        found.append(
            Row(
                "4",
                f"recompute {mode}, 2 ranks, gpipe, M 8, beside none",
                spec,
                2,
                two | {"pipeline.recompute": mode},
                two,
                2,
                ideal=3 / 4,
            )
        )
    for spec in (transformer(512, 256, 2, 4), resnet18(8, 2)):
        found.append(
            Row(
                "5",
                f"2 replicas, {title(spec)}, beside one with half the work",
                spec,
                2,
                {"pipeline.replicas": 2},
                {},
                ideal=1.0,
            )
        )
    return found
