// tests/distributed/promise_networks.h -- the networks whose whole runs are compared bit by bit.
#pragma once

#include <iterator>

#include "tests/distributed/promise.h"
#include "tests/distributed/tuned.h"

namespace penstock {

// Each has dropout where its kind of network can.
inline constexpr NamedNetwork kNetworks[] = {
    {"transformer", R"([model]
kind = "transformer-lm"
layers = 6
width = 32
heads = 4
hidden = 48
context = 19
vocabulary = 50
dropout = 0.2
activation = "gelu"
positions = "learned"
label_smoothing = 0.1
)"},
    // Two tensors cross the stages' boundaries, and three layers share one embedding table.
    {"translation", R"([model]
kind = "transformer-nmt"
layers = 2
width = 24
heads = 3
head_width = 12
hidden = 40
context = 13
vocabulary = 50
dropout = 0.2
label_smoothing = 0.1
logit_clip = 4.0
logit_z_loss = 0.01
tied_embedding = true
)"},
    // The first and the last stage share a parameter; the blocks have all that published language
    // models have, and stages also begin within blocks.
    {"tied_decoder", R"([model]
kind = "decoder"
layers = 3
width = 32
heads = 4
kv_heads = 2
hidden = 48
context = 19
vocabulary = 50
dropout = 0.2
activation = "silu"
gated = true
norm = "rms"
positions = "rotary"
rotary_width = 4
rotary_layers = [0, 1]
rotary_scaling = "yarn"
rotary_factor = 4.0
window_rotary_base = 100.0
query_key_norm = true
norm_zero_centered = true
norm_place = "both"
embedding_scale = 6.0
residual_scale = 0.7
attention_scale = 0.3
logit_scale = 0.8
attention_softcap = 2.0
logit_softcap = 3.0
window = 7
window_layers = [0, 2]
attention_bias = true
output_bias = false
bias = false
tied_embedding = true
)"},
    {"resnet", R"([model]
kind = "resnet"
depth = 14
width = 4
image = [3, 9, 9]
classes = 5
)"},
    {"uneven_sequential", R"([model]
kind = "sequential"
image = [3, 8, 8]
classes = 5
dropout = 0.2
[[model.layers]]
kind = "conv2d"
channels = 6
activation = "relu"
[[model.layers]]
kind = "residual"
activation = "relu"
layers = [
  { kind = "conv2d", channels = 12, kernel = [1, 3], stride = 2, bias = false },
  { kind = "batch-norm" },
  { kind = "gelu" },
  { kind = "dropout" },
  { kind = "conv2d", channels = 12, groups = 3 },
]
shortcut = [{ kind = "conv2d", channels = 12, kernel = 1, stride = 2, padding = 0 }]
[[model.layers]]
kind = "max-pool"
[[model.layers]]
kind = "flatten"
[[model.layers]]
kind = "linear"
width = 370
activation = "tanh"
[[model.layers]]
kind = "dropout"
rate = 0.5
[[model.layers]]
kind = "layer-norm"
[[model.layers]]
kind = "linear"
width = 7
)"},
    // Skips inside a stage, to the next one, over the heads of others, nested and crossing.
    {"skips", R"([model]
kind = "sequential"
input = [20]
classes = 5
dropout = 0.2
layers = [
  { kind = "linear", width = 48, activation = "tanh" },
  { kind = "stash", skip = "far" },
  { kind = "linear", width = 40 },
  { kind = "stash", skip = "crossing" },
  { kind = "gelu" },
  { kind = "stash", skip = "near" },
  { kind = "linear", width = 40, activation = "relu" },
  { kind = "pop", skip = "near", join = "add" },
  { kind = "dropout" },
  { kind = "stash", skip = "inner" },
  { kind = "linear", width = 24, activation = "tanh" },
  { kind = "pop", skip = "crossing" },
  { kind = "linear", width = 40 },
  { kind = "pop", skip = "inner" },
  { kind = "layer-norm" },
  { kind = "linear", width = 30 },
  { kind = "pop", skip = "far" },
  { kind = "linear", width = 33 },
]
)"},
    // Adapters beside all but one matrix of a block, and nothing else trained: the first stages
    // have nothing to differentiate, the last ones nothing to update, and the parameter that the
    // first and the last stage share stays as it is. Both halves of a block are one layer.
    {"adapters", R"([model]
kind = "decoder"
layers = 6
width = 32
heads = 4
kv_heads = 2
hidden = 48
context = 19
vocabulary = 50
dropout = 0.2
activation = "silu"
gated = true
norm = "layer"
norm_bias = false
parallel_branches = true
shared_norm = true
query_key_norm = true
query_key_norm_over = "projection"
positions = "rotary"
rotary_pairs = "neighbours"
tied_embedding = true
[lora]
rank = 5
alpha = 12.0
dropout = 0.3
targets = ["query", "key", "value", "output", "gate", "down"]
)"},
    // Each rank reads its weights from a Hugging Face folder of the Qwen 3 family; rows pack lines
    // of JSON, where the build has the folder's tokenizer (kTunedData).
    {"packed_folder", "[model]\nfrom = \"" PENSTOCK_TUNED "\"\ncontext = 22\ndropout = 0.2\n",
     kTunedData},
};
inline constexpr int kNetworkCount = static_cast<int>(std::size(kNetworks));

}  // namespace penstock
