// runtime/network/models/config.h -- the [model] section of a run file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace penstock {

// One entry of `[[model.layers]]`: a kind, its options, and for containers the layers inside.
struct LayerConfig {
  using Value = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;
  std::string kind;
  std::string name;  // "": the number of the entry, from 0
  std::map<std::string, Value> options;
  std::vector<LayerConfig> layers;    // residual: the branch
  std::vector<LayerConfig> shortcut;  // residual: the other branch, empty = identity
  std::string where;                  // "run.toml:31", for messages
};

// The [lora] section: adapters beside matrices that stay as they are (Hu et al. 2021), in the kinds
// transformer-lm and decoder.
struct LoraConfig {
  int64_t rank = 0;      // columns between an adapter's two matrices; 0: no adapters
  double alpha = 8.0;    // what an adapter adds is multiplied by alpha / rank
  double dropout = 0.0;  // of what goes into an adapter
  // query | key | value | output of attention, gate | up | down of the feed-forward, or all-linear
  std::vector<std::string> targets = {"query", "value"};
  std::string from = {};  // a folder as peft writes it, whose adapters it starts from; empty: none
};

struct ModelConfig {
  // transformer-lm | decoder | transformer-nmt | amoebanet-d | amoebanet-b | resnet | unet | mlp |
  // sequential
  std::string kind = "transformer-lm";
  // A Hugging Face folder that says all of a decoder, and has the weights it starts from; empty: no
  // such folder
  std::string from = {};
  // transformer-lm, transformer-nmt, decoder
  int64_t layers = 4;          // transformer-nmt: of the encoder
  int64_t decoder_layers = 0;  // transformer-nmt; 0: as many as the encoder has
  int64_t width = 0;           // 0: 128; resnet: channels of the first blocks, 16 (cifar) or 64
  int64_t heads = 4;           // of attention, in each layer
  int64_t head_width = 0;      // transformer-nmt, 0: 64; decoder, 0: width / heads
  int64_t hidden = 0;          // feed-forward width, 0: 4 x width
  int64_t context = 64;        // tokens of the longest row
  int64_t vocabulary = 0;      // 0: what the data has
  std::string activation = "relu";       // relu | gelu | gelu-tanh | silu
  std::string positions = "sinusoidal";  // sinusoidal | learned | none; decoder: also rotary
  bool attention_bias = true;            // decoder: of queries, keys and values alone
  bool bias = true;                      // feed-forward, softmax (which has none in a decoder)
  bool final_norm = true;                // a norm before the softmax
  bool tied_embedding = false;           // the softmax matrix is the embedding table
  bool depth_scaled_init = false;        // feed-forward layers scaled down by depth (GPipe, 5)
  double dropout = 0.0;                  // the share of numbers that it sets to zero
  double label_smoothing = 0.0;          // share of the target that is spread over all classes
  double logit_clip = 0.0;               // logits are clipped to [-logit_clip, logit_clip]; 0 = off
  // decoder: where the families of published language models differ
  int64_t kv_heads = 0;        // heads of keys and values, a divisor of `heads`; 0: `heads`
  bool gated = false;          // feed-forward: out(activation(gate(x)) * in(x))
  std::string norm = "layer";  // layer | rms
  double rotary_base = 10000.0;
  std::string rotary_scaling = "none";  // none | linear | llama3
  double rotary_factor = 1.0;           // linear, llama3: rotary angles are divided by it
  double rotary_low = 1.0;              // llama3: low_freq_factor
  double rotary_high = 4.0;             // llama3: high_freq_factor
  int64_t rotary_original = 8192;       // llama3: positions of the model that was extended
  bool output_bias = true;              // of the layer that ends attention
  bool query_key_norm = false;          // RMS norm over each head of queries and keys
  int64_t window = 0;  // a position sees itself and the window - 1 before it; 0: all before it
  std::vector<int64_t> window_layers = {};  // layers with the window, from 0, ascending; empty: all
  bool packed = false;  // no key of its own: rows hold several samples (data.packed), "starts" says
                        // where each begins
  LoraConfig lora = {};  // a section of its own
  // resnet
  int64_t depth = 20;          // CIFAR form: 6n+2; ImageNet form: 18, 34, 50, 101, 152
  std::string form = "cifar";  // cifar | imagenet
  // amoebanet: `layers` normal cells in three stages; unet: `layers` levels, each half as large
  int64_t filters = 32;           // channels of the first stage's cells, of the first level
  std::string stem = "auto";      // wide | narrow | small; auto: the paper's (d: wide, b: narrow)
  double auxiliary_weight = 0.0;  // of the loss of the auxiliary head; 0: no head
  double drop_path = 0.0;         // share of a cell's operations left out, by sample
  int64_t drop_path_ramp = 0;     // steps over which drop_path grows from 0
  // amoebanet, resnet, unet: batch norm
  double norm_decay = 0.9;     // of the moving averages
  double norm_epsilon = 1e-5;  // decoder: of all its norms
  bool norm_replicas = false;  // batch norm over the micro-batches of one index of all replicas
  // amoebanet, resnet, unet, mlp, sequential: the input
  std::vector<int64_t> image = {3, 32, 32};  // [channels, height, width]
  std::vector<int64_t> input = {};           // mlp, sequential: [features]; empty: an image
  int64_t classes = 10;                      // 0: what the data has
  std::vector<int64_t> hidden_layers = {};   // mlp: widths; empty: `layers` times `hidden`
  std::vector<LayerConfig> sequence;         // sequential
};

}  // namespace penstock
