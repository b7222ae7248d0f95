// runtime/records/hub/adapters/peft_names.h -- translates between Penstock's names for LoRA
// adapters and those of Hugging Face's peft library: names of tensors, and the words of
// "target_modules" in adapter_config.json, which say which matrices have adapters.
//
// A family (names.h) is an architecture such as gpt2 or llama; names depend on it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/records/hub/names.h"

namespace penstock {

// An adapter beside parameters of a mixture of experts, which peft names in "target_parameters".
enum class MixtureAdapter : uint8_t { None, Router, GateUp, Down };
// Returns which of these the adapter tensor `ours` belongs to.
[[nodiscard]] MixtureAdapter mixture_adapter(const std::string& ours);

// The name in peft of the adapter tensor `ours`:
// "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" for
// "blocks.0.attention.query.lora_a". The shapes are the same. Adapters beside experts have other
// shapes there (peft_shape()). Throws Error(Input) for a matrix that the family does not have, and
// for one that the family keeps in one tensor with others (gpt2's c_attn), for which peft has only
// one adapter.
[[nodiscard]] std::string peft_name(const HubFamily& family, const std::string& ours);

// The shape in peft of the adapter tensor `ours`, which has the shape `shape`. Of experts A
// [experts, rank, in] is [experts x rank, in], and B [experts, out, rank] is [out, rank x experts].
[[nodiscard]] std::vector<int64_t> peft_shape(const std::string& ours,
                                              const std::vector<int64_t>& shape);
// Whether the two have their elements in another order, as B of experts has: [out x rank, experts]
// there is [experts, out x rank] here.
[[nodiscard]] bool peft_transposes(const std::string& ours);
// to[columns, rows] = the transpose of from[rows, columns].
template <class T>
void transpose_matrix(std::span<T> to, std::span<const T> from, size_t rows) {
  const size_t columns = from.size() / rows;
  for (size_t i = 0; i < from.size(); ++i) to[i % columns * rows + i / columns] = from[i];
}

// Reading: the words of lora.targets, "router" and "experts", for the entries of target_parameters,
// which name parameters of transformers 5: "mlp.gate.weight", "mlp.experts.gate_up_proj" and
// "mlp.experts.down_proj", the last two together; as in peft an entry is the end of a name.
// `where` is the file, for messages. Throws Error(Input) for other entries.
[[nodiscard]] std::vector<std::string> parameter_targets_meant(std::span<const std::string> entries,
                                                               const std::string& where);
// Writing: the entries of target_parameters for `adapters`; empty: there are none.
[[nodiscard]] std::vector<std::string> peft_parameters(std::span<const std::string> adapters);

// Reading: the words of the option lora.targets ("query", "value", ...) for one entry of
// target_modules ("q_proj"), in whichever family has such a module; empty: no family has. As in
// peft the entry is the name of a module or the end of one after a dot; an entry that names the
// module of a single layer is taken to mean that of all layers. `where` is the file, for messages.
// Throws Error(Input) for a matrix that a family keeps in one tensor with others.
[[nodiscard]] std::vector<std::string> targets_meant(const std::string& entry,
                                                     const std::string& where);

// Writing: the entries of target_modules for the matrices of `adapters`, which are names of
// Penstock, but for those that peft_parameters() names. In this family they mean those matrices and
// no others.
[[nodiscard]] std::vector<std::string> peft_targets(const HubFamily& family,
                                                    std::span<const std::string> adapters);

}  // namespace penstock
