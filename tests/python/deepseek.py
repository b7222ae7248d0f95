"""DeepSeek-MoE as the code published beside its weights has it, from parts of Llama: transformers has no class of it.

Registers configuration and network, so that transformers' Auto classes open folders with "model_type": "deepseek".
"""

import copy

import torch
import transformers
from transformers.models.llama.modeling_llama import LlamaMLP

UNSAID = {"n_routed_experts": None, "num_experts_per_tok": None, "n_shared_experts": None, "moe_intermediate_size": 1407,
          "first_k_dense_replace": 0, "norm_topk_prob": False}


class DeepseekConfig(transformers.LlamaConfig):
    model_type = "deepseek"

    def __post_init__(self, **said):
        for key, value in UNSAID.items():
            setattr(self, key, said.pop(key, value))
        super().__post_init__(**said)


class DeepseekTopkRouter(torch.nn.Linear):
    def __init__(self, config):
        super().__init__(config.hidden_size, config.n_routed_experts, bias=False)
        self.chosen, self.normalised = config.num_experts_per_tok, config.norm_topk_prob

    def forward(self, rows):
        logits = super().forward(rows)
        weights, chosen = logits.softmax(-1).topk(self.chosen)
        return logits, weights / weights.sum(-1, keepdim=True) if self.normalised else weights, chosen


def feed_forward(config, width):
    sized = copy.copy(config)
    sized.intermediate_size = width
    return LlamaMLP(sized)


class DeepseekMoE(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.moe_intermediate_size
        self.gate = DeepseekTopkRouter(config)
        self.experts = torch.nn.ModuleList(feed_forward(config, width) for _ in range(config.n_routed_experts))
        shared = config.n_shared_experts
        self.shared_experts = feed_forward(config, width * shared) if shared else None

    def forward(self, x):
        rows = x.flatten(0, -2)
        _, weights, chosen = self.gate(rows)
        share = torch.zeros(len(rows), len(self.experts)).scatter(1, chosen, weights)
        y = sum(share[:, i:i + 1] * expert(rows) for i, expert in enumerate(self.experts))
        y = y.view(x.shape)
        return y + self.shared_experts(x) if self.shared_experts else y


class DeepseekForCausalLM(transformers.LlamaForCausalLM):
    config_class = DeepseekConfig

    def __init__(self, config):
        super().__init__(config)
        for layer in self.model.layers[config.first_k_dense_replace:]:
            layer.mlp = DeepseekMoE(config)
        self.post_init()


transformers.AutoConfig.register("deepseek", DeepseekConfig)
transformers.AutoModelForCausalLM.register(DeepseekConfig, DeepseekForCausalLM)
