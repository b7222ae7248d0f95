"""What each step costs at least: products at the peak of a core for each thread, or bytes at one core's copy bandwidth."""

import json

import program
import specs


def transformer_layer_flops(spec):
    """Of one step, forward and backward, for each of our layers in order."""
    w, t = spec["width"], spec["context"]
    samples = spec["micro_batch_size"] * spec["micro_batches"]
    block = 6 * 12 * w * w * t + 6 * t * t * w  # a causal mask leaves half of the T x T products
    head = 6 * w * spec["vocabulary"] * t
    return [0] + [samples * block] * spec["layers"] + [0, samples * head]


def mixture_flops(spec):
    """Of one step, forward and backward."""
    w, t = spec["width"], spec["context"]
    samples = spec["micro_batch_size"] * spec["micro_batches"]
    experts = 3 * spec["chosen"] * w * spec["hidden"] + spec["experts"] * w
    block = 6 * (4 * w * w + experts) * t + 6 * t * t * w
    return samples * (spec["layers"] * block + 6 * w * spec["vocabulary"] * t)


def mixture_weights(spec):
    w = spec["width"]
    block = 4 * w * w + 3 * spec["experts"] * w * spec["hidden"] + spec["experts"] * w
    return block * spec["layers"] + 2 * w * spec["vocabulary"]


def balance(spec):
    """Mean load over the largest, of two stages."""
    loads = transformer_layer_flops(spec)
    first = sum(loads[: spec["split"][0]])
    return sum(loads) / 2 / max(first, sum(loads) - first)


def transformer_weights(spec):
    w = spec["width"]
    return 12 * w * w * spec["layers"] + 2 * w * spec["vocabulary"] + w * spec["context"]


def moved_bytes(spec, weights):
    """Weights, gradients and optimizer state only: every micro-batch reads the weights twice and adds
    to the gradients; the update reads and writes everything once."""
    narrow = 2 if spec["precision"] == "bf16" else 4
    update = 28 if specs.reads_text(spec) else 20
    return weights * (update + spec["micro_batches"] * (2 * narrow + 8))


class Floors:
    def __init__(self, arguments):
        self.rates = program.answers_of([str(arguments.bin / "floor_bench")])[0]
        self.python = str(arguments.peers / "bin" / "python")
        self.counted = {}  # what count.py said

    def seconds(self, spec):
        """The larger of the two, and which one it is."""
        if spec["network"] == "transformer":
            flops, weights = sum(transformer_layer_flops(spec)), transformer_weights(spec)
        elif spec["network"] == "mixture":
            flops, weights = mixture_flops(spec), mixture_weights(spec)
        else:
            samples = spec["micro_batch_size"] * spec["micro_batches"]
            image = self.of_image(spec)
            flops, weights = samples * image["flops"], image["parameters"]
        compute = flops / (specs.threads_of(spec) * self.rates[spec["precision"]] * 1e9)
        memory = moved_bytes(spec, weights) / (self.rates["copy"] * 1e9)
        return (compute, "flops") if compute >= memory else (memory, "bytes")

    def of_image(self, spec):
        network = spec["network"]
        if network not in self.counted:
            command = [self.python, str(program.HERE / "count.py"), json.dumps(spec)]
            self.counted[network] = program.answers_of(command)[0]
        return self.counted[network]
