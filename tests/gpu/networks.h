// tests/gpu/networks.h -- the networks of the whole runs on a GPU, each at two sizes: for the
// emulation and for a real GPU.
#pragma once

#include <ostream>

#include "tests/distributed/tuned.h"

namespace penstock {

struct GpuNetwork {
  const char* name;
  const char* toy;   // [model] for the emulation
  const char* real;  // [model] for a GPU: with full tiles and vectors, and some that are not full
  const char* body;  // name patterns of parameters near the input, for runs that freeze some
  const char* data = "kind = \"synthetic\"\n";
};
inline void PrintTo(const GpuNetwork& network, std::ostream* out) {
  *out << network.name;
}

// A network without dropout, so that attention in bf16 is cuDNN's fused one. In the emulation that
// is cut into samples and heads, and the row sums of a head are not aligned.
inline constexpr GpuNetwork kFused = {"fused", R"(kind = "transformer-lm"
layers = 2
width = 16
heads = 2
hidden = 24
context = 9
vocabulary = 20
dropout = 0.0
activation = "gelu"
positions = "learned"
)",
                                      R"(kind = "transformer-lm"
layers = 4
width = 256
heads = 4
hidden = 520
context = 150
vocabulary = 1000
dropout = 0.0
activation = "gelu"
positions = "learned"
)",
                                      "embedding.*,blocks.0.*"};

// Dropout on in all that have it; as many layers as ranks, with embedding and classifier.
inline constexpr GpuNetwork kGpuNetworks[] = {
    {"transformer", R"(kind = "transformer-lm"
layers = 2
width = 16
heads = 2
hidden = 24
context = 9
vocabulary = 20
dropout = 0.2
activation = "gelu"
positions = "learned"
label_smoothing = 0.1
)",
     R"(kind = "transformer-lm"
layers = 4
width = 256
heads = 4
hidden = 520
context = 150
vocabulary = 1000
dropout = 0.2
activation = "gelu"
positions = "learned"
label_smoothing = 0.1
)",
     "embedding.*,blocks.0.*"},
    {"resnet", R"(kind = "resnet"
depth = 8
width = 4
image = [3, 6, 6]
classes = 5
)",
     R"(kind = "resnet"
depth = 14
width = 16
image = [3, 32, 32]
classes = 10
)",
     "stem.*,blocks.0.*"},
    {"sequential", R"(kind = "sequential"
image = [3, 6, 6]
classes = 5
dropout = 0.2
layers = [
  { kind = "conv2d", channels = 6, activation = "relu" },
  { kind = "max-pool" },
  { kind = "flatten" },
  { kind = "linear", width = 17, activation = "tanh" },
  { kind = "dropout" },
  { kind = "layer-norm" },
]
)",
     R"(kind = "sequential"
image = [3, 16, 16]
classes = 5
dropout = 0.2
layers = [
  { kind = "conv2d", channels = 24, activation = "relu" },
  { kind = "residual", activation = "relu", layers = [
    { kind = "conv2d", channels = 40, kernel = [1, 3], stride = 2, bias = false },
    { kind = "batch-norm" }, { kind = "gelu" }, { kind = "dropout" },
    { kind = "conv2d", channels = 40, groups = 4 } ], shortcut = [{ kind = "conv2d", channels = 40, kernel = 1, stride = 2, padding = 0 }] },
  { kind = "max-pool" },
  { kind = "flatten" },
  { kind = "linear", width = 370, activation = "tanh" },
  { kind = "dropout" },
  { kind = "layer-norm" },
]
)",
     "layers.0.*"},
};

// A decoder of packed rows, with all that published language models have; in the emulation the
// network of the folder tests/distributed/tuned.
inline constexpr GpuNetwork kDecoder = {"decoder", "from = \"" PENSTOCK_TUNED "\"\ncontext = 22\n",
                                        R"(kind = "decoder"
layers = 4
width = 256
heads = 4
kv_heads = 2
hidden = 520
context = 150
vocabulary = 1000
positions = "rotary"
norm = "rms"
activation = "silu"
gated = true
query_key_norm = true
rotary_width = 48
norm_place = "both"
embedding_scale = 6.0
residual_scale = 0.7
attention_scale = 0.1
logit_scale = 0.8
bias = false
attention_bias = true
output_bias = false
tied_embedding = true
window = 64
)",
                                        "embedding.*", kTunedData};

// Adapters beside every matrix of a block: nothing else is trained, which follows from them.
inline constexpr GpuNetwork kAdapters = {"adapters", R"(kind = "decoder"
layers = 2
width = 16
heads = 2
hidden = 24
context = 9
vocabulary = 20
dropout = 0.2
activation = "gelu"
positions = "learned"
tied_embedding = true
[lora]
rank = 3
alpha = 8.0
dropout = 0.3
targets = ["all-linear"]
)",
                                         R"(kind = "decoder"
layers = 4
width = 256
heads = 4
hidden = 520
context = 150
vocabulary = 1000
dropout = 0.2
activation = "gelu"
positions = "learned"
tied_embedding = true
[lora]
rank = 9
alpha = 16.0
dropout = 0.3
targets = ["all-linear"]
)",
                                         ""};

// Mixtures of experts, whose rows vary from micro-batch to micro-batch while CUDA graphs stay.
inline constexpr GpuNetwork kMixture = {"mixture", R"(kind = "decoder"
layers = 2
width = 16
heads = 2
hidden = 24
context = 9
vocabulary = 20
dropout = 0.2
activation = "silu"
gated = true
bias = false
norm = "rms"
positions = "rotary"
experts = 4
expert_width = 12
shared_expert_width = 8
shared_expert_gate = true
balance_loss = 0.05
router_z_loss = 0.01
)",
                                        R"(kind = "decoder"
layers = 4
width = 256
heads = 4
hidden = 520
context = 150
vocabulary = 1000
dropout = 0.2
activation = "silu"
gated = true
bias = false
norm = "rms"
positions = "rotary"
experts = 16
experts_per_token = 4
expert_width = 136
router_normalised = false
router = "sigmoid"
router_scale = 2.5
router_bias = true
router_correction = true
balance_rate = 0.01
expert_groups = 4
groups_per_token = 2
balance_loss = 0.05
dense_layers = [1]
)",
                                        "embedding.*"};

// The sections that all run files have alike. A step is three micro-batches of two samples: fewer
// than the stages, as many, or no multiple of them.
inline constexpr const char* kGpuCommon = R"(
[optimizer]
kind = "adamw"
learning_rate = 1e-3
weight_decay = 0.1
clip_norm = 0.5
moving_average = 0.9
[pipeline]
micro_batches = 3
micro_batch_size = 2
[run]
threads = 1
seed = 7
)";

}  // namespace penstock
