// runtime/records/hub/adapters/peft_names.h -- peft's names for the adapters of a family's
// matrices, and for the matrices themselves (target_modules). Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/records/hub/names.h"

namespace penstock {

// "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight" for
// "blocks.0.attention.query.lora_a"; both have the same shape. Throws Error(Input) for a matrix
// that the family has no place for, or that it fuses with others into one tensor, which peft gives
// a single adapter.
[[nodiscard]] std::string peft_name(const HubFamily& family, const std::string& ours);

// The words of lora.targets ("query", ...) that an entry of target_modules means in any of the
// families; empty: none. As in peft an entry is the name of a module or its end from a dot on; the
// name of a module of one layer counts for all layers. Throws Error(Input) naming `where` for a
// matrix that a family keeps in one tensor with others.
[[nodiscard]] std::vector<std::string> targets_meant(const std::string& entry,
                                                     const std::string& where);

// The entries of target_modules that mean the matrices of these adapters (ours), and no others.
[[nodiscard]] std::vector<std::string> peft_targets(const HubFamily& family,
                                                    std::span<const std::string> adapters);

}  // namespace penstock
