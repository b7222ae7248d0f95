"""The networks that are compared: what they are called, and the same as options of `penstock train`."""


def transformer(width, context, b, m, layers=4, precision="fp32", vocabulary=4096):
    return {
        "network": "transformer",
        "width": width,
        "heads": width // 64,
        "layers": layers,
        "vocabulary": vocabulary,
        "context": context,
        "micro_batch_size": b,
        "micro_batches": m,
        "precision": precision,
    }


def mixture(experts, chosen, hidden, context, b, m, precision="fp32"):
    """Mixtral's network, `hidden` wide in each expert."""
    return {
        "network": "mixture",
        "width": 512,
        "heads": 8,
        "layers": 4,
        "vocabulary": 4096,
        "experts": experts,
        "chosen": chosen,
        "hidden": hidden,
        "context": context,
        "micro_batch_size": b,
        "micro_batches": m,
        "precision": precision,
    }


def reads_text(spec):
    return spec["network"] in ("transformer", "mixture")


def resnet18(b, m, precision="fp32"):
    return {
        "network": "resnet",
        "classes": 10,
        "image": 64,
        "micro_batch_size": b,
        "micro_batches": m,
        "precision": precision,
    }


def amoebanet(b, m, precision="fp32"):
    return {
        "network": "amoebanet",
        "layers": 6,
        "filters": 64,
        "classes": 10,
        "image": 64,
        "micro_batch_size": b,
        "micro_batches": m,
        "precision": precision,
    }


NAMES = {
    "transformer": "LM {layers} x {width}, T {context}",
    "mixture": "mixture {layers} x {width}, {chosen} of {experts} experts of {hidden}, T {context}",
    "resnet": "ResNet-18, {image} x {image}",
    "amoebanet": "AmoebaNet-D ({layers}, {filters}), {image} x {image}",
}


def threads_of(spec):
    return spec.get("threads", 1)


def title(spec):
    name = NAMES[spec["network"]].format(**spec)
    if spec.get("vocabulary", 4096) != 4096:
        name += f", {spec['vocabulary']} words"
    threads = f", {spec['threads']} threads" if threads_of(spec) > 1 else ""
    return f"{name}, b {spec['micro_batch_size']}, M {spec['micro_batches']}, {spec['precision']}{threads}"


def options(spec):
    """The same run as `penstock train` takes it."""
    common = {
        "data.kind": "synthetic",
        "run.threads": threads_of(spec),
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
    if spec["network"] == "mixture":
        return common | {
            "model.kind": "decoder",
            "model.width": spec["width"],
            "model.heads": spec["heads"],
            "model.layers": spec["layers"],
            "model.vocabulary": spec["vocabulary"],
            "model.context": spec["context"],
            "model.hidden": spec["hidden"],
            "model.experts": spec["experts"],
            "model.experts_per_token": spec["chosen"],
            "model.norm": "rms",
            "model.positions": "rotary",
            "model.gated": "true",
            "model.bias": "false",
            "model.attention_bias": "false",
            "model.output_bias": "false",
            "model.activation": "silu",
            "optimizer.kind": "adamw",
            "optimizer.weight_decay": 0.01,
        }
    common |= {
        "model.image": f"3,{spec['image']},{spec['image']}",
        "model.classes": spec["classes"],
        "optimizer.kind": "sgd",
        "optimizer.momentum": 0.9,
        "optimizer.learning_rate": 0.01,
        "optimizer.weight_decay": 1e-4,
    }
    if spec["network"] == "resnet":
        return common | {"model.kind": "resnet", "model.form": "imagenet", "model.depth": 18}
    return common | {
        "model.kind": "amoebanet-d",
        "model.layers": spec["layers"],
        "model.filters": spec["filters"],
    }
