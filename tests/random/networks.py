"""Networks from dice, with data that they can read: [model], [lora] and [data] of a run file."""

import small_data


def chance(dice, share):
    return dice.random() < share


def transformer_sizes(dice):
    """Mostly tiny; at times so large that threads share the work and weights have several granules."""
    if chance(dice, 0.2):
        return {"width": 64, "heads": dice.choice([1, 2, 4]), "hidden": dice.choice([160, 203]), "context": 32}
    heads = dice.choice([1, 2, 4])
    return {"width": heads * dice.choice([4, 6, 8]), "heads": heads, "hidden": dice.choice([17, 32, 48]),
            "context": dice.choice([8, 13, 19])}


def common(dice):
    return {"dropout": dice.choice([0.0, 0.2]), "label_smoothing": dice.choice([0.0, 0.1])}


def adapters(dice, targets):
    if chance(dice, 0.75):
        return {}
    everything = [["all-linear"]] if "up" in targets else []  # experts have no adapters
    chosen = dice.choice([*everything, dice.sample(targets, dice.randint(1, len(targets)))])
    return {"rank": dice.randint(1, 6), "alpha": dice.choice([4.0, 8.0]), "dropout": dice.choice([0.0, 0.3]), "targets": chosen}


def token_data(dice, folder, model, kinds):
    """The data, and of the network the vocabulary that goes with them."""
    kind = dice.choice(kinds)
    data = getattr(small_data, kind)(dice, folder)
    if kind in ("synthetic", "tokens"):
        model["vocabulary"] = dice.choice([20, 50])
    return data


def transformer_lm(dice, folder):
    model = {"kind": "transformer-lm", "layers": dice.randint(1, 5), **transformer_sizes(dice), **common(dice),
             "activation": dice.choice(["relu", "gelu", "silu"]), "positions": dice.choice(["sinusoidal", "learned"]),
             "attention_bias": chance(dice, 0.7), "bias": chance(dice, 0.7), "final_norm": chance(dice, 0.7),
             "tied_embedding": chance(dice, 0.4), "depth_scaled_init": chance(dice, 0.3),
             "logit_clip": dice.choice([0.0, 0.0, 4.0]), "logit_z_loss": dice.choice([0.0, 0.01])}
    data = token_data(dice, folder, model, ["synthetic", "text", "pieces", "tokens"])
    return model, adapters(dice, ["query", "key", "value", "output", "up", "down"]), data


def decoder(dice, folder):
    sizes = transformer_sizes(dice)
    layers = dice.randint(1, 4)
    model = {"kind": "decoder", "layers": layers, **sizes, **common(dice),
             "kv_heads": dice.choice([divisor for divisor in (1, 2, 4) if sizes["heads"] % divisor == 0]),
             "activation": dice.choice(["relu", "gelu-tanh", "silu"]), "gated": chance(dice, 0.5), "norm": dice.choice(["layer", "rms"]),
             "positions": dice.choice(["rotary", "learned", "sinusoidal", "none"]), "query_key_norm": chance(dice, 0.3),
             "attention_bias": chance(dice, 0.5), "output_bias": chance(dice, 0.5), "bias": chance(dice, 0.5),
             "tied_embedding": chance(dice, 0.4)}
    if chance(dice, 0.4):
        model["window"] = dice.randint(1, sizes["context"])
        model["window_layers"] = sorted(dice.sample(range(layers), dice.randint(0, layers)))
    if chance(dice, 0.3):
        model |= {"norm_place": dice.choice(["after", "both"]),
                  "embedding_scale": dice.choice([1.0, 6.0]), "residual_scale": dice.choice([1.0, 0.7]),
                  "attention_scale": dice.choice([0.0, 0.3]), "logit_scale": dice.choice([1.0, 0.8]),
                  "attention_softcap": dice.choice([0.0, 3.0]), "logit_softcap": dice.choice([0.0, 3.0])}
    if model["query_key_norm"]:
        model["query_key_norm_over"] = dice.choice(["head", "projection"])
    if chance(dice, 0.3):
        model |= {"parallel_branches": True, "shared_norm": model.get("norm_place", "before") == "before" and chance(dice, 0.5)}
    if model["norm"] == "layer":
        model["norm_bias"] = chance(dice, 0.7)
    if model["norm"] == "rms":
        model["norm_zero_centered"] = chance(dice, 0.3)
    if model["positions"] == "rotary" and chance(dice, 0.3):
        model |= {"rotary_width": dice.choice([0, 2]), "rotary_layers": sorted(dice.sample(range(layers), dice.randint(0, layers)))}
    if model["positions"] == "rotary":
        model["rotary_pairs"] = dice.choice(["halves", "halves", "neighbours"])
    if model["positions"] == "rotary" and chance(dice, 0.4):
        model["rotary_scaling"] = dice.choice(["linear", "llama3", "yarn", "dynamic"])
        model["rotary_factor"] = 4.0
    if model["gated"] and not model["bias"] and chance(dice, 0.5):
        experts = dice.randint(1, 6)
        model |= {"experts": experts, "experts_per_token": dice.randint(1, experts), "expert_width": dice.choice([0, 9]),
                  "shared_expert_width": dice.choice([0, 10]), "router": dice.choice(["softmax", "sigmoid"]),
                  "router_normalised": chance(dice, 0.5), "balance_loss": dice.choice([0.0, 0.05]),
                  "router_z_loss": dice.choice([0.0, 0.01]), "dense_layers": sorted(dice.sample(range(layers), dice.randint(0, layers - 1)))}
        model |= {"router_scale": dice.choice([1.0, 1.5]), "router_bias": chance(dice, 0.4), "router_correction": chance(dice, 0.5)}
        if model["router_correction"]:
            model["balance_rate"] = dice.choice([0.0, 0.01])
        if experts == 6 and model["experts_per_token"] < 5:
            model |= {"expert_groups": 3, "groups_per_token": dice.randint(2, 3)}
        model["shared_expert_gate"] = model["shared_expert_width"] > 0 and chance(dice, 0.5)
    data = token_data(dice, folder, model, ["synthetic", "text", "tokens", "lines_of_json", "lines_of_json"])
    if data["kind"] == "jsonl":
        data["packed"] = chance(dice, 0.6)
    targets = ["query", "key", "value", "output"]
    if "experts" not in model:
        targets += ["up", "down"] + (["gate"] if model["gated"] else [])
    return model, adapters(dice, targets), data


def from_folder(dice, folder):
    """Weights and words of a Hugging Face folder."""
    model = {"from": str(small_data.TUNED), "context": dice.choice([16, 22]), "dropout": dice.choice([0.0, 0.2])}
    return model, adapters(dice, ["query", "key", "value", "output", "gate", "up", "down"]), small_data.lines_of_json(dice, folder)


def translation(dice, folder):
    sizes = transformer_sizes(dice)
    sizes["context"] += 8
    model = {"kind": "transformer-nmt", "layers": dice.randint(1, 3), "decoder_layers": dice.randint(0, 3), **sizes, **common(dice),
             "head_width": dice.choice([4, 12]), "tied_embedding": chance(dice, 0.5), "logit_clip": dice.choice([0.0, 4.0])}
    return model, {}, token_data(dice, folder, model, ["synthetic", "parallel", "parallel"])


def image_data(dice, folder, smallest=0):
    """Made up of any size, or files, of which networks with classes = 0 learn how many there are."""
    kind = dice.choice(["synthetic", "images"])
    height, width = (max(smallest, dice.randint(8, 12)) for _ in range(2))
    shape = {"image": [3, height, width], "classes": 5 if kind == "synthetic" else dice.choice([0, 5])}
    return shape, getattr(small_data, kind)(dice, folder)


def resnet(dice, folder):
    shape, data = image_data(dice, folder)
    return {"kind": "resnet", "depth": dice.choice([8, 14]), "width": dice.choice([4, 8]), **shape,
            "label_smoothing": dice.choice([0.0, 0.1]), "norm_replicas": chance(dice, 0.3)}, {}, data


def unet(dice, folder):
    form = {"form": "simplified", "convolutions": dice.randint(1, 3)} if chance(dice, 0.5) else {"form": "cifar"}
    return {"kind": "unet", "layers": dice.randint(1, 2), "filters": dice.choice([4, 8]), "image": [3, 8, dice.choice([8, 12])],
            "classes": 5, "per_pixel": chance(dice, 0.5), **form, "norm_replicas": chance(dice, 0.3)}, {}, small_data.synthetic(dice, folder)


def amoebanet(dice, folder):
    form = dice.choice("db")
    shape, data = image_data(dice, folder, smallest=32)
    return {"kind": f"amoebanet-{form}", "layers": 3, "filters": 8 if form == "d" else 16, **shape, "stem": dice.choice(["auto", "small"]),
            "auxiliary_weight": dice.choice([0.0, 0.4]), "drop_path": dice.choice([0.0, 0.3]), "drop_path_ramp": dice.choice([0, 4]),
            "dropout": dice.choice([0.0, 0.2]), "norm_replicas": chance(dice, 0.3)}, {}, data


def mlp(dice, folder):
    common_keys = {"kind": "mlp", "activation": dice.choice(["relu", "gelu", "silu"]), "bias": chance(dice, 0.7),
                   "hidden_layers": [dice.choice([7, 24, 97]) for _ in range(dice.randint(1, 6))], "dropout": dice.choice([0.0, 0.2])}
    if chance(dice, 0.5):
        return {**common_keys, "input": [dice.choice([5, 20])], "classes": 5}, {}, small_data.synthetic(dice, folder)
    shape, data = image_data(dice, folder)
    return {**common_keys, **shape}, {}, data


def dense_layers(dice, skips):
    """Linear layers and what goes between them, with up to three skips that may nest and cross."""
    layers = []
    for _ in range(dice.randint(3, 8)):
        layers.append({"kind": "linear", "width": dice.choice([12, 24, 33]), "activation": dice.choice(["none", "relu", "tanh", "gelu"])})
        if chance(dice, 0.3):
            layers.append({"kind": dice.choice(["layer-norm", "dropout", "gelu", "silu"])})
    for name in ["near", "far", "crossing"][:skips]:
        start, end = sorted(dice.sample(range(1, len(layers) + 1), 2))
        layers.insert(end, {"kind": "pop", "skip": name})  # behind what was at `end - 1`
        layers.insert(start, {"kind": "stash", "skip": name})
    return layers


def sequential(dice, folder):
    head = {"kind": "sequential", "dropout": 0.2}
    if chance(dice, 0.5):
        return {**head, "input": [20], "classes": 5, "layers": dense_layers(dice, dice.randint(0, 3))}, {}, small_data.synthetic(dice, folder)
    shape, data = image_data(dice, folder)
    branch = [{"kind": "conv2d", "channels": 6}, {"kind": "batch-norm"}, {"kind": "relu"}, {"kind": "conv2d", "channels": 6}]
    layers = [{"kind": "conv2d", "channels": 6, "activation": "relu"}, {"kind": "stash", "skip": "far"},
              {"kind": "residual", "activation": "relu", "layers": branch}, {"kind": "conv2d", "channels": 6, "groups": 3},
              {"kind": "pop", "skip": "far", "join": dice.choice(["add", "concat"])},
              {"kind": dice.choice(["max-pool", "average-pool"])}, {"kind": "flatten"},
              {"kind": "linear", "width": 40, "activation": "tanh"}, {"kind": "dropout", "rate": 0.5}, {"kind": "layer-norm"}]
    if layers[4]["join"] == "concat":
        del layers[4]["join"]
    return {**head, **shape, "layers": layers}, {}, data


KINDS = [transformer_lm, decoder, decoder, from_folder, translation, resnet, unet, amoebanet, mlp, sequential, sequential]


def draw(dice, folder):
    """(name, sections of a run file); data that it names are written to `folder`."""
    kind = dice.choice(KINDS)
    model, lora, data = kind(dice, folder)
    return kind.__name__, {"model": model, "lora": lora, "data": data}


def classes(sections):
    """Options by which `inspect`, which reads no images, knows what a run reads from them."""
    return ["--model.classes", 5] if sections["model"].get("classes") == 0 else []
