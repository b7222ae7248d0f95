#!/usr/bin/env python3
"""Answers and choices of `penstock eval` beside transformers: answers_test.py PENSTOCK FOLDER

FOLDER holds a small network of the Qwen 3 family that has learnt half of its lines by heart, its tokenizer, and lines that ask it; this script made it
(answers_test.py --make FOLDER). Every likelihood is computed here by transformers, one choice alone in a row; which answers greedy choice writes,
by its generate(). Returns 77 where packages are missing.
"""

import json
import pathlib
import subprocess
import sys

from command import skip

try:
    import tokenizers
    import torch
    import transformers
except ImportError as missing:
    skip(missing, "transformers tokenizers safetensors torch")

transformers.logging.set_verbosity_error()
END = "<|end|>"
CONTEXT = 48
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
CHAT = ("{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}")


def lines():
    """What is learnt, and what the network is asked: every other line is another one."""
    learnt = [{"prompt": f"After {a} comes", "completion": f" {b}."} for a, b in zip(NUMBERS, NUMBERS[1:])]
    asked = [line if i % 2 == 0 else {**line, "completion": f" {NUMBERS[i // 2]}."} for i, line in enumerate(learnt)]
    for i, line in enumerate(learnt):
        wrong = [f" {NUMBERS[(i * 5 + 3) % 16]}, or perhaps {NUMBERS[(i * 7 + 2) % 16]}.", f" {NUMBERS[(i * 3 + 9) % 16]}",
                 line["completion"][:-1] if i % 5 == 1 else " no"]
        choices = wrong[:i % 3] + [line["completion"] if i % 4 else line["completion"][:-1] + ", they say."] + wrong[i % 3:]
        asked.append({"prompt": line["prompt"], "choices": choices, "answer": i % 3})
    asked.append({"messages": [{"role": "user", "content": "After one comes"}, {"role": "assistant", "content": "two."}]})
    asked.append({"text": "After one comes two."})
    return learnt, asked


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    learnt, asked = lines()
    (folder / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in learnt + asked[15::3]))
    (folder / "asked.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    pieces = tokenizers.Tokenizer(tokenizers.models.BPE())
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=320, show_progress=False, special_tokens=[END, "<|user|>", "<|assistant|>"],
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    pieces.train_from_iterator([line["prompt"] + line["completion"] for line in learnt], trainer)
    pieces.save(str(folder / "tokenizer.json"), pretty=False)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "chat_template": CHAT}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    config = transformers.Qwen3Config(vocab_size=320, hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=4,
                                      num_key_value_heads=2, head_dim=8, max_position_embeddings=64, initializer_range=0.2,
                                      tie_word_embeddings=True, eos_token_id=pieces.token_to_id(END), bos_token_id=None, pad_token_id=None)
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        for line in learnt:
            prompt, answer = ids_of(pieces, line["prompt"], line["completion"], True)
            labels = torch.tensor([[-100] * len(prompt) + answer])
            model(torch.tensor([prompt + answer]), labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    (folder / "golden.json").write_text(json.dumps(expected(folder), indent=1) + "\n")


def ids_of(pieces, prompt, answer, ends):
    whole = pieces.encode(prompt + answer).ids
    before = pieces.encode(prompt).ids
    assert whole[:len(before)] == before
    return before, whole[len(before):] + ([pieces.token_to_id(END)] if ends else [])


def expected(folder):
    pieces = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()

    def likelihood(prompt, answer):
        with torch.no_grad():
            logits = model(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1:-1]
        return torch.log_softmax(logits.double(), -1).gather(1, torch.tensor(answer)[:, None]).sum().item()

    exact, answers, right, right_by_length, questions = 0, 0, 0, 0, 0
    for line in map(json.loads, (folder / "asked.jsonl").read_text().splitlines()):
        if "choices" in line:
            scores = [likelihood(*ids_of(pieces, line["prompt"], choice, False)) for choice in line["choices"]]
            shares = [score / len(choice.strip()) for score, choice in zip(scores, line["choices"])]
            questions += 1
            right += scores.index(max(scores)) == line["answer"]
            right_by_length += shares.index(max(shares)) == line["answer"]
            continue
        if "completion" in line:
            prompt, answer = ids_of(pieces, line["prompt"], line["completion"], True)
        elif "messages" in line:
            prompt, answer = ids_of(pieces, f"<|user|>{line['messages'][0]['content']}{END}<|assistant|>", line["messages"][1]["content"], True)
        else:
            continue
        written = model.generate(torch.tensor([prompt]), max_new_tokens=len(answer), do_sample=False)[0, len(prompt):].tolist()
        answers += 1
        exact += written == answer
    return {"answers": answers, "exact_match": exact / answers, "questions": questions, "acc": right / questions,
            "acc_norm": right_by_length / questions}


def main(*arguments):
    folder = pathlib.Path(arguments[1])
    if arguments[0] == "--make":
        make(folder)
        print((folder / "golden.json").read_text())
        return
    command = [arguments[0], "eval", "--model.from", folder, "--model.context", CONTEXT, "--data.kind", "jsonl", "--data.train",
               folder / "train.jsonl", "--data.validation", folder / "asked.jsonl", "--json"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"returned {done.returncode}\n{done.stdout}{done.stderr}")
    ours, theirs = json.loads(done.stdout), expected(folder)
    print({key: ours.get(key) for key in theirs}, theirs)
    assert all(abs(ours[key] - value) < 1e-9 for key, value in theirs.items())


if __name__ == "__main__":
    main(*sys.argv[1:])
