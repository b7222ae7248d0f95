"""The parts that a tokenizer.json may have, as tokenizers_test.py compares them: each on a vocabulary of bytes, of pieces with bytes for what is
unknown, or of a unigram model. A form is some parts of a tokenizer.json in place of the vocabulary's own, by JSON pointers."""
import copy
import json

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPACE = "\u2581"
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BYTES_ALONE = {**BYTE_LEVEL, "use_regex": False}
DEEPSEEK = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def normal(*steps):
    return {"type": "Sequence", "normalizers": list(steps)}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def metaspace(scheme, cut):
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": cut}


def cuts_of_bytes():
    yield "digits", {"type": "Digits", "individual_digits": True}
    yield "digits-together", {"type": "Digits", "individual_digits": False}
    for behavior in BEHAVIORS:
        yield f"split-{behavior}", split(r"\d", behavior)
        yield f"split-{behavior}-inverted", split(r"[\s,.]", behavior, True)
        yield f"text-{behavior}", split("e ", behavior, kind="String")
        yield f"punctuation-{behavior}", {"type": "Punctuation", "behavior": behavior}
    yield "whitespace", {"type": "Whitespace"}
    yield "whitespace-split", {"type": "WhitespaceSplit"}
    yield "delimiter", {"type": "CharDelimiterSplit", "delimiter": "e"}
    yield "deepseek", sequence(*map(split, DEEPSEEK), {"type": "Digits", "individual_digits": True})
    for name, expression in [("any", ".+"), ("words", r"\w+|[^\w\s]+"), ("no-words", r"\W+"), ("han", r"\p{Han}+|\P{Latin}")]:
        yield name, split(expression)


def normalizers():
    for form in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"]:
        yield form, {"type": form}
    for left, right in [(True, True), (True, False), (False, True)]:
        yield f"strip-{left}-{right}", {"type": "Strip", "strip_left": left, "strip_right": right}
    yield "replace", {"type": "Replace", "pattern": {"String": "an"}, "content": "(a)n"}
    yield "replace-expression", {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    yield "prepend", {"type": "Prepend", "prepend": "In "}
    yield "uncased", normal({"type": "NFD"}, normal({"type": "Lowercase"}, {"type": "StripAccents"}), {"type": "Strip", "strip_left": True, "strip_right": True})


def around(*ids):
    return [["<|endoftext|>", i] for i in ids]


def byte_forms(end):
    """(name, parts); `end` is the id of <|endoftext|>."""
    for name, cut in cuts_of_bytes():
        yield name, {"pre_tokenizer": sequence(cut, BYTES_ALONE)}
    for name, step in normalizers():
        yield name, {"normalizer": step}
    yield "no-pre-tokenizer", {"pre_tokenizer": None}
    yield "bytes-as-normalizer", {"normalizer": {"type": "ByteLevel"}, "pre_tokenizer": split(r"\d")}
    yield "truncation", {"truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}}
    yield "padding", {"padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "!"}}
    roberta = {"type": "RobertaProcessing", "sep": ["<|endoftext|>", end], "cls": ["<|endoftext|>", end], "trim_offsets": True, "add_prefix_space": False}
    yield "roberta", {"post_processor": roberta}
    yield "nothing-around", {"post_processor": None}


def piece_forms():
    for scheme in ["always", "first", "never"]:
        for cut in [True, False]:
            yield f"metaspace-{scheme}-{cut}", {"pre_tokenizer": metaspace(scheme, cut)}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    yield "prepended", {"normalizer": normal({"type": "Prepend", "prepend": SPACE}, replace), "pre_tokenizer": None}
    yield "older-metaspace", {"pre_tokenizer": {"type": "Metaspace", "replacement": SPACE, "add_prefix_space": True}}
    yield "stripped-first", {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": False}, "pre_tokenizer": metaspace("first", False)}
    yield "cut-first", {"pre_tokenizer": sequence(split(r"\d"), metaspace("first", True))}


def trained_bytes(texts, size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=[], show_progress=False))
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.add_tokens(["Cafe\u0301"])
    return json.loads(tokenizer.to_str())


def trained_pieces(texts, size, unigram):
    words = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram() if unigram else models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    options = {"vocab_size": size, "special_tokens": words, "show_progress": False, "limit_alphabet": 60}
    if unigram:
        options.pop("limit_alphabet")
    kind = trainers.UnigramTrainer if unigram else trainers.BpeTrainer
    tokenizer.train_from_iterator(texts, kind(unk_token="<unk>", **options) if unigram else kind(**options))
    file = json.loads(tokenizer.to_str())
    file["added_tokens"] = file["added_tokens"][:3]
    return file


def token(content, special=True, **more):
    return {"content": content, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": special, **more}


QWEN = sequence(split(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), BYTES_ALONE)


def byte_folder_forms(end):
    """(name, parts of tokenizer.json, files beside it) on a vocabulary of bytes; `end` is the id of <|endoftext|>."""
    qwen, prefix = {"/pre_tokenizer": QWEN}, {"/pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True}}
    roberta = {"/post_processor": {"type": "RobertaProcessing", "sep": ["<|endoftext|>", end], "cls": ["<|endoftext|>", end], "trim_offsets": True,
                                   "add_prefix_space": False}}
    decoder = {str(end): token("<|endoftext|>"), str(end + 1): token("Cafe\u0301", False, normalized=True), str(end + 2): token("[x]", rstrip=True)}

    def folder(kind, network, **more):
        settings = {"tokenizer_class": kind, **more} if kind else more
        return {"tokenizer_config": settings, "config": {"model_type": network} if network else None}

    plain = "PreTrainedTokenizerFast"
    yield "gpt2-space", {}, folder("GPT2Tokenizer", "gpt2", add_prefix_space=True)
    yield "gpt2-space-alone", {}, folder("GPT2Tokenizer", None, add_prefix_space=True)
    yield "gpt2-no-space", prefix, folder("GPT2Tokenizer", "llama")
    yield "gpt2-unsaid", prefix, folder(None, "gpt2")
    yield "gpt2-normal", {"/normalizer": {"type": "Lowercase"}}, folder("GPT2TokenizerFast", "gpt2")
    yield "gpt2-of-network", {}, {"tokenizer_config": {"add_prefix_space": True}, "config": {"model_type": "llama", "tokenizer_class": "GPT2Tokenizer"}}
    yield "gpt2-added", {}, folder("GPT2Tokenizer", "gpt2", added_tokens_decoder=decoder)
    yield "plain-space", {}, folder(plain, "gpt2", add_prefix_space=True)
    yield "plain-written", prefix, folder(plain, "llama", add_prefix_space=False)
    yield "mistral-space", {}, folder("GPT2Tokenizer", "mistral", add_prefix_space=True)
    yield "llama-bytes", {}, folder("LlamaTokenizerFast", "llama", add_prefix_space=True, legacy=True)
    yield "unheard", {}, folder("UnheardTokenizer", "llama", add_prefix_space=True)
    yield "neox", roberta, folder("GPTNeoXTokenizer", "gpt_neox")
    yield "qwen2-normal", qwen, folder("Qwen2Tokenizer", "qwen2")
    yield "qwen2-space", qwen, folder("Qwen2Tokenizer", "qwen3", add_prefix_space=True)
    yield "qwen2-plain", qwen, folder(plain, "qwen2")
    yield "qwen3-plain", qwen, folder(plain, "qwen3")
    yield "split", {}, folder(plain, "llama", split_special_tokens=True)
    yield "split-qwen2", qwen, folder("Qwen2Tokenizer", "qwen2", split_special_tokens=True)
    yield "new-end", {}, folder(plain, "llama", eos_token="[x]")
    yield "new-order", {}, folder(plain, "llama", sep_token="hello", pad_token="12", eos_token="[x]", unk_token="A-b", bos_token=token("the", lstrip=True, __type="AddedToken"))
    yield "own", {}, folder(plain, "llama", image_token="[x]")
    yield "own-list", {}, folder(plain, "llama", extra_special_tokens={"image_token": "[x]"})
    yield "own-saved", {}, folder(plain, "llama", model_specific_special_tokens={"image_token": "[x]"})
    yield "lists", {}, folder(plain, "llama", extra_special_tokens=["the", "[x]"], additional_special_tokens=["A-b"])
    yield "map", {}, {**folder(plain, "llama", eos_token="the", additional_special_tokens=["12"]),
                      "special_tokens_map": {"eos_token": token("[x]", lstrip=True), "extra_special_tokens": ["hello"]}}
    yield "map-list", {}, {**folder(plain, "llama", eos_token="the"), "special_tokens_map": {"additional_special_tokens": ["[x]"]}}
    yield "map-not-read", {}, {**folder(plain, "llama", added_tokens_decoder={}), "special_tokens_map": {"eos_token": "[x]"}}


def folder_forms(size):
    """(name, files beside tokenizer.json): what transformers makes of a folder's settings; `size` is that of the vocabulary."""
    llama = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True, "add_eos_token": False}
    plain = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    added = {"0": token("<unk>"), "1": token("<s>"), "2": token("</s>"), str(size): token("[x]", False), str(size + 1): token("<t>", lstrip=True)}
    network = {"model_type": "llama"}
    yield "legacy", {"tokenizer_config": {**llama, "legacy": True}, "config": network}
    yield "first", {"tokenizer_config": {**llama, "legacy": False}, "config": network}
    yield "never", {"tokenizer_config": {**llama, "legacy": False, "add_prefix_space": False}, "config": network}
    yield "unsaid", {"tokenizer_config": llama, "config": network}
    yield "ends", {"tokenizer_config": {**llama, "add_eos_token": True}, "config": network}
    yield "added", {"tokenizer_config": {**llama, "added_tokens_decoder": added}, "config": network}
    yield "plain", {"tokenizer_config": plain, "config": network}
    yield "plain-added", {"tokenizer_config": {**plain, "added_tokens_decoder": added}, "config": network}
    yield "plain-older", {"tokenizer_config": plain, "config": network, "added_tokens": {"[x]": size, "<t>": size + 1}}
    yield "named", {"tokenizer_config": {**plain, "additional_special_tokens": ["the", "[y]"]}, "config": network}
    yield "mistral", {"tokenizer_config": {**llama, "legacy": False}, "config": {"model_type": "mistral"}}
    yield "no-begin", {"tokenizer_config": {**plain, "add_bos_token": False}, "config": network}


def all_folders(files):
    """(name, vocabulary, parts, files beside it) of every folder; `files` has the vocabularies by name."""
    for name, beside in folder_forms(len(files["pieces"]["model"]["vocab"])):
        yield name, "pieces", {"/model/byte_fallback": True}, beside
    for name, parts, beside in byte_folder_forms(files["bytes"]["added_tokens"][0]["id"]):
        yield name, "bytes", parts, beside


def vocabularies(texts, size):
    return {"bytes": trained_bytes(texts, size), "pieces": trained_pieces(texts, size + 100, False), "unigram": trained_pieces(texts, size + 100, True)}


def all_forms(files):
    """(name, vocabulary, parts) of every form; `files` has the vocabularies by name."""
    for name, parts in byte_forms(files["bytes"]["added_tokens"][0]["id"]):
        yield name, "bytes", {"/" + key: part for key, part in parts.items()}
    for kind in ["pieces", "unigram"]:
        for fallback in [True, False]:
            fuse = {"/model/fuse_unk": fallback} if kind == "pieces" else {}
            yield f"{kind}-bytes-{fallback}", kind, {"/model/byte_fallback": fallback, **fuse}
        for name, parts in piece_forms():
            yield f"{kind}-{name}", kind, {"/model/byte_fallback": True, **{"/" + key: part for key, part in parts.items()}}


def with_parts(file, parts):
    file = copy.deepcopy(file)
    for pointer, part in parts.items():
        *way, last = pointer[1:].split("/")
        place = file
        for key in way:
            place = place[key]
        place[last] = part
    return file
