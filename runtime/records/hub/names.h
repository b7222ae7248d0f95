// runtime/records/hub/names.h -- the name and layout that a tensor of ours has in a Hugging Face
// folder: a table for each family, read in both directions. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

enum class TensorLayout : uint8_t {
  Same,        // as ours: linear weights are [out, in]
  Transposed,  // [in, out]: GPT-2's Conv1D
  FirstRows,   // as ours, but the folder's may have more rows, which a shorter context leaves out
};

// A row of a family's table. `#` stands for the number of a block.
struct NameRow {
  const char* ours;    // our name
  const char* theirs;  // the folder's, without the family's prefix
  TensorLayout layout = TensorLayout::Same;
  // The folder's tensor holds `parts` tensors of ours, which have one shape, side by side along our
  // first axis; this is number `part`.
  int part = 0, parts = 1;
};

struct HubFamily {
  const char* name;    // model_type
  const char* prefix;  // of most names; a folder without the classifier may lack it
  std::span<const NameRow> rows;
};
// The family with this model_type. Throws Error(Internal) for one that is not supported.
[[nodiscard]] const HubFamily& hub_family(const std::string& name);
[[nodiscard]] std::span<const HubFamily> hub_families();

// The place of a tensor of ours in a folder; members as in NameRow.
struct HubPlace {
  std::string name;
  TensorLayout layout = TensorLayout::Same;
  int part = 0, parts = 1;
};
// The place of our tensor `ours`. Throws Error(Input) naming it where the family has none.
[[nodiscard]] HubPlace place_in(const HubFamily& family, const std::string& ours);

// The shape of the folder's tensor at `place`, where our tensor has the shape `ours`.
[[nodiscard]] std::vector<int64_t> shape_in(const HubPlace& place,
                                            const std::vector<int64_t>& ours);

// A shape for messages: "[2, 3]".
[[nodiscard]] std::string shape_text(const std::vector<int64_t>& shape);

// Whether a tensor of a folder that has no counterpart here may be ignored: masks and frequencies
// that older versions wrote, and the classifier of a network that ties it.
[[nodiscard]] bool is_spare(const std::string& theirs, bool tied);

}  // namespace penstock
