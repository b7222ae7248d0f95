// runtime/network/models/config.h -- ModelConfig: the [model] section of a run file, key by key;
// with it the entries [[model.layers]] and the section [lora].
//
// Comments that begin with a kind ("decoder: ...") or stand over a group of keys say for which
// model.kind the keys count; the others do not read them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace penstock {

// One entry of `[[model.layers]]`, which lists the layers of model.kind = "sequential" one by one:
// the kind of layer, its options, and for a residual the layers inside.
struct LayerConfig {
  using Value = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;
  std::string kind;
  std::string name;                      // of the layer; empty: the number of the entry, from 0
  std::map<std::string, Value> options;  // by key; LayerOptions (layer_options.h) reads them
  std::vector<LayerConfig> layers;       // residual: the branch
  std::vector<LayerConfig> shortcut;     // residual: the other branch; empty: the identity
  std::string where;                     // file and line of the entry, "run.toml:31", for messages
};

// The [lora] section: adapters (LoRA, Hu et al. 2021), that is, a trained product of two small
// matrices beside each of some large matrices that stay as they are; for the kinds transformer-lm
// and decoder.
struct LoraConfig {
  int64_t rank = 0;      // rows of an adapter's first matrix, columns of its second; 0: no adapters
  double alpha = 8.0;    // an adapter's product is multiplied by alpha / rank
  double dropout = 0.0;  // rate of dropout on an adapter's input
  // The matrices that have adapters: query | key | value | output of attention, gate | up | down of
  // the feed-forward, or all-linear for all of these.
  std::vector<std::string> targets = {"query", "value"};
  // A folder of adapters as the library peft writes it, from which training starts; empty: none.
  std::string from = {};
};

struct ModelConfig {
  // transformer-lm | decoder | transformer-nmt | amoebanet-d | amoebanet-b | resnet | unet | mlp |
  // sequential
  std::string kind = "transformer-lm";
  // A Hugging Face folder: its config.json sets the keys of this section (kind decoder), and
  // training starts from its weights. Empty: no such folder.
  std::string from = {};
  // transformer-lm, transformer-nmt, decoder
  int64_t layers = 4;          // how many blocks; transformer-nmt: in the encoder
  int64_t decoder_layers = 0;  // transformer-nmt: blocks in the decoder; 0: as in the encoder
  // The width of the vectors between layers; 0: 128. resnet: channels of the first blocks; 0: 16
  // with form cifar, 64 with form imagenet.
  int64_t width = 0;
  int64_t heads = 4;                     // of attention, in each layer
  int64_t head_width = 0;                // transformer-nmt: 0: 64; decoder: 0: width / heads
  int64_t hidden = 0;                    // inner width of feed-forward layers; 0: 4 x width
  int64_t context = 64;                  // tokens of the longest row
  int64_t vocabulary = 0;                // number of token ids; 0: what the data has
  std::string activation = "relu";       // of feed-forward layers: relu | gelu | gelu-tanh | silu
  std::string positions = "sinusoidal";  // sinusoidal | learned | none; decoder: also rotary
  // Attention's linear layers have biases; decoder: those of queries, keys and values alone.
  bool attention_bias = true;
  // Feed-forward layers, experts and the classifier have biases; a decoder's classifier never has.
  bool bias = true;
  bool final_norm = true;       // a norm before the classifier, and at the end of an encoder
  bool tied_embedding = false;  // the classifier's matrix is the embedding's table, one parameter
  // Feed-forward layers start with smaller weights the deeper the stack is (GPipe, section 5).
  bool depth_scaled_init = false;
  double dropout = 0.0;          // rate of dropout: the share of numbers set to zero
  double label_smoothing = 0.0;  // share of the target that is spread over all classes
  double logit_clip = 0.0;       // logits are clipped to [-logit_clip, logit_clip]; 0 = off
  double logit_z_loss = 0.0;     // weight of the loss that keeps logits small
  // decoder: where the families of published language models differ
  int64_t kv_heads = 0;        // heads of keys and values, a divisor of `heads`; 0: `heads`
  bool gated = false;          // feed-forward: out(activation(gate(x)) * in(x))
  std::string norm = "layer";  // layer | rms
  bool norm_bias = true;       // layer norms have biases
  // RMS norms, those of queries and keys too, multiply by 1 + weight, and weights start at 0.
  bool norm_zero_centered = false;
  // The members of RotaryOptions (runtime/network/layers/library/rotary.h), with positions =
  // "rotary".
  double rotary_base = 10000.0;
  std::string rotary_scaling = "none";  // none | linear | llama3 | yarn | longrope | dynamic
  double rotary_factor = 1.0;           // of every scaling
  double rotary_low = 1.0;              // llama3: low_freq_factor in config.json; yarn: beta_slow
  double rotary_high = 0.0;             // llama3: high_freq_factor; yarn: beta_fast; 0: 4 and 32
  bool rotary_truncate = true;          // yarn: truncate
  // llama3, yarn, longrope: original_max_position_embeddings; dynamic: max_position_embeddings.
  int64_t rotary_original = 8192;
  // yarn, longrope: cosines and sines are multiplied by it; 0: as RotaryOptions says.
  double rotary_attention_factor = 0.0;
  // longrope: short_factor and long_factor, a number for each pair that is turned.
  std::vector<double> rotary_short = {}, rotary_long = {};
  int64_t rotary_width = 0;  // leading elements of each head that are turned; 0: all of them
  // The pairs of elements that are turned: halves (c and the one half of them further) | neighbours
  // (2c and 2c + 1).
  std::string rotary_pairs = "halves";
  // The blocks that have rotary positions, counted from 0, ascending; empty: all.
  std::vector<int64_t> rotary_layers = {};
  // The base, without scaling, in blocks that have the window; 0: rotary_base, as the others.
  double window_rotary_base = 0.0;
  bool output_bias = true;                   // a bias in the linear layer that ends attention
  bool query_key_norm = false;               // RMS norms of queries and keys
  std::string query_key_norm_over = "head";  // each head by itself | projection: all heads as one
  // The place of the norms of attention and of feed-forward layers: before | after | both.
  std::string norm_place = "before";
  // A block is x + attention(norm1(x)) + feed_forward(norm2(x)), one layer of the network; with
  // shared_norm both read norm1(x).
  bool parallel_branches = false, shared_norm = false;
  double embedding_scale = 1.0;  // vectors of tokens are multiplied by it
  double residual_scale = 1.0;   // multiplies what attention and feed-forward layers add
  double attention_scale = 0.0;  // multiplies the scores; 0: 1 / sqrt(width of a head)
  double logit_scale = 1.0;      // multiplies the logits
  // A score of attention, or a logit, x becomes cap tanh(x / cap); 0: it stays as it is.
  double attention_softcap = 0.0, logit_softcap = 0.0;
  int64_t window = 0;  // a position sees itself and the window - 1 before it; 0: all before it
  // The blocks that have the window, counted from 0, ascending; empty: all.
  std::vector<int64_t> window_layers = {};
  // decoder: a trained number for each head takes part in the softmax of attention, as the score of
  // a key whose value is zero
  bool attention_sinks = false;
  // decoder: a mixture of experts, each a gated feed-forward, in place of each feed-forward layer
  int64_t experts = 0;            // of a layer; 0: no mixture
  int64_t experts_per_token = 2;  // to which the router sends each token
  int64_t expert_width = 0;       // inner width of an expert; 0: `hidden`
  // > 0: an expert's gate is (u + 1) c sigmoid(1.702 c), where c is gate(x), at most this, and u is
  // in(x), between minus and plus this; 0: it is that of `gated`
  double expert_gate_limit = 0.0;
  int64_t shared_expert_width = 0;  // inner width of an expert that has all tokens; 0: none
  bool shared_expert_gate = false;  // its result is multiplied by the sigmoid of a linear layer
  // Scores of the experts: softmax | sigmoid of the router's logits, which are fp32 in any
  // precision.
  std::string router = "softmax";
  bool router_normalised = true;  // the scores of a token's experts are divided by their sum
  double router_scale = 1.0;      // the weights of a token's experts are multiplied by it
  bool router_bias = false;       // the router's linear layer has a bias
  // A number for each expert is added to the scores for the choice alone. It is kept as statistics
  // of norms are, and each step moves it by balance_rate, up for experts with few tokens.
  bool router_correction = false;
  double balance_rate = 0.0;
  // Experts are in so many groups of neighbours, and a token goes to experts of the best
  // groups_per_token of them alone (kernels/ops/experts.h).
  int64_t expert_groups = 1, groups_per_token = 1;
  double balance_loss = 0.0;   // weight of the loss that evens out the load, in each layer
  double router_z_loss = 0.0;  // weight of the loss that keeps the router's logits small
  // The blocks that have a feed-forward layer all the same, counted from 0, ascending.
  std::vector<int64_t> dense_layers = {};
  // No key of this section, but a copy of data.packed: a row holds several samples, and the field
  // "starts" of the data says where each begins.
  bool packed = false;
  LoraConfig lora = {};  // the section [lora]
  // resnet
  int64_t depth = 20;  // form cifar: 6n+2; form imagenet: 18, 34, 50, 101 or 152
  // resnet: cifar: for small images | imagenet: for large ones; unet: simplified: torchgpipe's
  std::string form = "cifar";
  // amoebanet: `layers` normal cells, with a reduction cell before the second and the last third;
  // unet: `layers` levels, each half as large as the one before
  int64_t filters = 32;      // channels: of the cells of the first third; of the first level
  int64_t convolutions = 2;  // unet, form simplified: of each level
  // amoebanet, the layers before the cells: wide | narrow | small (for 32 x 32 pixels) | auto (the
  // paper's: wide for amoebanet-d, narrow for amoebanet-b).
  std::string stem = "auto";
  double auxiliary_weight = 0.0;  // amoebanet: weight of the auxiliary head's loss; 0: no head
  // amoebanet: the probability with which each operation of a cell is left out for a sample.
  double drop_path = 0.0;
  int64_t drop_path_ramp = 0;  // steps over which drop_path grows linearly from 0
  // amoebanet, resnet, unet: batch norm
  double norm_decay = 0.9;     // of the moving averages
  double norm_epsilon = 1e-5;  // added to variances; decoder: in all its norms
  // Batch norm takes mean and variance over micro-batch m of all replicas together (norm.h).
  bool norm_replicas = false;
  // amoebanet, resnet, unet, mlp, sequential: the input
  std::vector<int64_t> image = {3, 32, 32};  // [channels, height, width]
  std::vector<int64_t> input = {};           // mlp, sequential: [features]; empty: an image
  int64_t classes = 10;                      // of the classifier; 0: what the data has
  // unet, sequential: a class for each pixel instead of one for the image (data.kind = "masks").
  bool per_pixel = false;
  std::vector<int64_t> hidden_layers = {};  // mlp: widths; empty: `layers` times `hidden`
  std::vector<LayerConfig> sequence;        // sequential
  // Where this section and [lora] were said, for messages: "run.toml, --model.heads"; may be empty.
  std::string said_in = {};
};

}  // namespace penstock
