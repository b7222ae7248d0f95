// tests/unit/records/hub/folders.h -- small Hugging Face folders: config.json as transformers
// writes it, and files of tensors in which every number tells its place.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "kernels/bfloat16.h"
#include "runtime/records/checkpoint/format/numbers.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/weights.h"
#include "tests/unit/network/optimizer/update_device.h"
#include "tests/unit/records/checkpoint/bytes.h"

namespace penstock {

inline const std::string kGpt2Config =
    R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
 "activation_function": "gelu_new", "attn_pdrop": 0.1, "n_embd": 4, "n_head": 2, "n_inner": null,
 "n_layer": 2, "n_positions": 5, "layer_norm_epsilon": 1e-05, "tie_word_embeddings": true,
 "dtype": "float32", "scale_attn_weights": true, "bos_token_id": 6, "vocab_size": 7})";

// A config.json as transformers 5 writes it.
inline const std::string kLlamaConfig =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "attention_bias": false,
 "attention_dropout": 0.0, "dtype": "bfloat16", "eos_token_id": [2, 3], "head_dim": 8,
 "hidden_act": "silu", "hidden_size": 32, "intermediate_size": 48, "max_position_embeddings": 64,
 "mlp_bias": false, "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
 "pretraining_tp": 1, "rms_norm_eps": 1e-06, "rope_parameters": {"factor": 8.0,
 "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 32,
 "rope_theta": 500000.0, "rope_type": "llama3"}, "tie_word_embeddings": false,
 "transformers_version": "5.23.0", "use_cache": true, "vocab_size": 97})";

// The text with `from`, which must be in it, replaced once by `to`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) ADD_FAILURE() << from << " is not in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// A tensor as the folder names it.
struct TheirTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::optional<size_t> number = {};  // for number_at(); nothing: put_tensors() counts
};

// The tensors of the network of kGpt2Config, as GPT-2's folders name them.
inline std::vector<TheirTensor> gpt2_tensors() {
  std::vector<TheirTensor> all = {{"transformer.wte.weight", {7, 4}},
                                  {"transformer.wpe.weight", {5, 4}},
                                  {"transformer.ln_f.weight", {4}},
                                  {"transformer.ln_f.bias", {4}}};
  for (const std::string block : {"transformer.h.0.", "transformer.h.1."}) {
    const std::vector<TheirTensor> inside = {{"ln_1.weight", {4}},
                                             {"ln_1.bias", {4}},
                                             {"attn.c_attn.weight", {4, 12}},
                                             {"attn.c_attn.bias", {12}},
                                             {"attn.c_proj.weight", {4, 4}},
                                             {"attn.c_proj.bias", {4}},
                                             {"ln_2.weight", {4}},
                                             {"ln_2.bias", {4}},
                                             {"mlp.c_fc.weight", {4, 16}},
                                             {"mlp.c_fc.bias", {16}},
                                             {"mlp.c_proj.weight", {16, 4}},
                                             {"mlp.c_proj.bias", {4}}};
    for (const TheirTensor& tensor : inside) all.push_back({block + tensor.name, tensor.shape});
  }
  return all;
}

// The tensors of two blocks with layer norms, biases and no gate, behind those in `all`, as this
// library names them.
inline std::vector<HubTensor> biased_network(std::vector<HubTensor> all, int64_t width,
                                             int64_t hidden) {
  all.push_back({"norm.weight", {width}});
  all.push_back({"norm.bias", {width}});
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    for (const std::string name : {"query", "key", "value", "output"}) {
      all.push_back({block + "attention." + name + ".weight", {width, width}});
      all.push_back({block + "attention." + name + ".bias", {width}});
    }
    for (const std::string name : {"norm1", "norm2"}) {
      all.push_back({block + name + ".weight", {width}});
      all.push_back({block + name + ".bias", {width}});
    }
    all.push_back({block + "feed_forward.in.weight", {hidden, width}});
    all.push_back({block + "feed_forward.in.bias", {hidden}});
    all.push_back({block + "feed_forward.out.weight", {width, hidden}});
    all.push_back({block + "feed_forward.out.bias", {width}});
  }
  return all;
}

// The tensors of the network of kGpt2Config.
inline std::vector<HubTensor> gpt2_network() {
  return biased_network({{"embedding.token.weight", {7, 4}}, {"embedding.position.weight", {5, 4}}},
                        4, 16);
}

// The tensors of goldens/gpt-neox, whose queries, keys and values lie head by head in one.
inline std::vector<HubTensor> gpt_neox_network() {
  return biased_network({{"embedding.token.weight", {13, 8}}, {"classifier.weight", {13, 8}}}, 8,
                        12);
}

// The tensors of two blocks with grouped queries of four heads and the feed-forward part `more`, as
// this library names them.
inline std::vector<HubTensor> grouped_network(const std::vector<HubTensor>& more,
                                              int64_t head = 4) {
  std::vector<HubTensor> inside = {{"norm1.weight", {8}},
                                   {"attention.query.weight", {4 * head, 8}},
                                   {"attention.key.weight", {2 * head, 8}},
                                   {"attention.value.weight", {2 * head, 8}},
                                   {"attention.output.weight", {8, 4 * head}},
                                   {"norm2.weight", {8}}};
  inside.insert(inside.end(), more.begin(), more.end());
  std::vector<HubTensor> all = {
      {"embedding.token.weight", {13, 8}}, {"norm.weight", {8}}, {"classifier.weight", {13, 8}}};
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    for (const HubTensor& tensor : inside) all.push_back({block + tensor.name, tensor.shape});
  }
  return all;
}

// The tensors of goldens/phi3, whose matrices have parts of several sizes in the folder.
inline std::vector<HubTensor> phi3_network() {
  return grouped_network({{"feed_forward.gate.weight", {12, 8}},
                          {"feed_forward.in.weight", {12, 8}},
                          {"feed_forward.out.weight", {8, 12}}});
}

// The tensors of goldens/mixtral and, with narrower heads, goldens/granite-moe.
inline std::vector<HubTensor> mixture_network(int64_t head) {
  return grouped_network({{"experts.router.weight", {4, 8}},
                          {"experts.gate.weight", {4, 12, 8}},
                          {"experts.in.weight", {4, 12, 8}},
                          {"experts.out.weight", {4, 8, 12}}},
                         head);
}

// The tensors of goldens/gpt-oss, which has sinks and biases.
inline std::vector<HubTensor> gpt_oss_network() {
  return grouped_network({{"attention.sinks", {4}},
                          {"attention.query.bias", {16}},
                          {"attention.key.bias", {8}},
                          {"attention.value.bias", {8}},
                          {"attention.output.bias", {8}},
                          {"experts.router.weight", {5, 8}},
                          {"experts.router.bias", {5}},
                          {"experts.gate.weight", {5, 12, 8}},
                          {"experts.gate.bias", {5, 12}},
                          {"experts.in.weight", {5, 12, 8}},
                          {"experts.in.bias", {5, 12}},
                          {"experts.out.weight", {5, 8, 12}},
                          {"experts.out.bias", {5, 8}}},
                         4);
}

inline int64_t elements_of(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// Element number `element` of the `tensor`-th tensor: a number that every dtype has exactly.
inline float number_at(size_t tensor, int64_t element) {
  return static_cast<float>(static_cast<int64_t>(tensor) * 37 % 64 + element % 64);
}

// The bytes of such a number as `dtype`, which may be F16 or BF16.
inline std::string bytes_of_number(float value, const std::string& dtype) {
  std::string bytes(number_bytes(dtype), '\0');
  uint16_t half = 0;
  if (dtype == "F16") {
    while (float_of_half(half) != value) ++half;
    std::memcpy(bytes.data(), &half, sizeof(half));
  } else {
    from_floats({&value, 1}, dtype, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
  }
  return bytes;
}

// Writes a safetensors file of these tensors, which are numbered from `first` on for number_at().
inline void put_tensors(const std::string& path, const std::vector<TheirTensor>& tensors,
                        const std::string& dtype = "F32", size_t first = 0) {
  SafetensorsHeader header;
  std::map<std::string, size_t> number_of;
  for (const TheirTensor& tensor : tensors) {
    const auto bytes = static_cast<uint64_t>(elements_of(tensor.shape)) * number_bytes(dtype);
    header.tensors.push_back({tensor.name, dtype, tensor.shape, 0, bytes});
    number_of[tensor.name] = tensor.number.value_or(first);
    ++first;
  }
  std::string bytes = encode_safetensors_header(header);
  for (const TensorInfo& tensor : header.tensors) {
    for (int64_t i = 0; i < elements_of(tensor.shape); ++i) {
      bytes += bytes_of_number(number_at(number_of[tensor.name], i), dtype);
    }
  }
  put(path, bytes);
}

// The numbers of a tensor of fp32 or bf16.
inline std::vector<float> floats_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::BF16) {
    const auto numbers = tensor.span<const bfloat16>();
    return {numbers.begin(), numbers.end()};
  }
  const auto* first = static_cast<const float*>(tensor.raw());
  return {first, first + tensor.elements()};
}

}  // namespace penstock
