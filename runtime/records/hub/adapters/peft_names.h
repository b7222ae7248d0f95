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

// The name in peft of the adapter tensor `ours`:
// "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" for
// "blocks.0.attention.query.lora_a". The shapes are the same. Throws Error(Input) for a matrix that
// the family does not have, and for one that the family keeps in one tensor with others (gpt2's
// c_attn), for which peft has only one adapter.
[[nodiscard]] std::string peft_name(const HubFamily& family, const std::string& ours);

// Reading: the words of the option lora.targets ("query", "value", ...) for one entry of
// target_modules ("q_proj"), in whichever family has such a module; empty: no family has. As in
// peft the entry is the name of a module or the end of one after a dot; an entry that names the
// module of a single layer is taken to mean that of all layers. `where` is the file, for messages.
// Throws Error(Input) for a matrix that a family keeps in one tensor with others.
[[nodiscard]] std::vector<std::string> targets_meant(const std::string& entry,
                                                     const std::string& where);

// Writing: the entries of target_modules for the matrices of `adapters`, which are names of
// Penstock. In this family they mean those matrices and no others.
[[nodiscard]] std::vector<std::string> peft_targets(const HubFamily& family,
                                                    std::span<const std::string> adapters);

}  // namespace penstock
