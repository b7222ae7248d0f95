// runtime/records/hub/adapters/peft_names.h -- what peft calls the adapters beside the matrices of
// a family, and which matrices its target_modules mean. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/records/hub/names.h"

namespace penstock {

// "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" for
// "blocks.0.attention.query.lora_a"; both have the same shape. Throws Error(Input) for a matrix
// that the family has no place for, or has together with others in one tensor: there peft has one
// adapter for all of them.
[[nodiscard]] std::string peft_name(const HubFamily& family, const std::string& ours);

// The words of lora.targets that an entry of target_modules means in any of the families, in the
// order of their table; empty where it means none. As in peft an entry is the name of a module or
// the end of it from a dot on; names of modules of single layers count for all of them. Throws
// Error(Input) naming `where` for a matrix that the family has together with others.
[[nodiscard]] std::vector<std::string> targets_meant(const std::string& entry,
                                                     const std::string& where);

// The entries of target_modules that mean the matrices of these adapters (ours), and no others.
[[nodiscard]] std::vector<std::string> peft_targets(const HubFamily& family,
                                                    std::span<const std::string> adapters);

}  // namespace penstock
