// runtime/records/hub/names.h -- translates between the names that Penstock gives to a network's
// tensors ("blocks.0.attention.query.weight") and those in a Hugging Face model folder
// ("model.layers.0.self_attn.q_proj.weight"), by a table for each family of models (gpt2, llama,
// ...).
//
// The tables also say where the layout differs: a tensor may be transposed, or several of ours may
// be fused into one of the folder's. "Ours" means a name or tensor of Penstock, "theirs" one in the
// folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

// How the folder's tensor relates to ours.
enum class TensorLayout : uint8_t {
  Same,        // the same layout: the weight of a linear layer is [out, in]
  Transposed,  // theirs is [in, out], ours [out, in]: GPT-2's Conv1D
  FirstRows,   // theirs may have more rows than ours: position embeddings for a longer context
  // Several of ours make theirs, as with `parts` below, but the first of them may have more rows
  // than the others: queries before grouped keys and values.
  LargeFirstPart,
  // Ours has a first axis of experts, and the folder a tensor for each, whose number stands for the
  // `*` in its name.
  PerExpert,
  // Several of ours make theirs, as with `parts` below, but head by head: the rows of the first
  // head of each, then those of the second.
  ByHead,
  // Ours and theirs have a first axis of experts; of each expert several of ours make theirs, one
  // after the other along the second axis, as with `parts` below.
  PartsOfExperts,
  // Ours and theirs have a first axis of experts; theirs is turned, [experts, in, out], and the
  // columns of several of ours take turns: column i * parts + part is row i of ours. A bias is such
  // a column, theirs being [experts, out].
  ColumnsOfExperts,
};

// A row of a family's table: our tensor and where it is in a folder. `#` stands for the number of a
// transformer block, from 0.
struct NameRow {
  const char* ours;
  const char* theirs;
  TensorLayout layout = TensorLayout::Same;
  // If parts > 1, the folder's tensor consists of so many tensors of ours, one after the other
  // along our first axis and, unless the layout is LargeFirstPart, of one shape; this row is for
  // number `part`, from 0.
  int part = 0, parts = 1;
};

struct HubFamily {
  const char* name;    // the model_type in config.json: "gpt2", "llama", ...
  const char* prefix;  // with which most of its names begin; some folders leave it out everywhere
  std::span<const NameRow> rows;
};
// The family with this model_type. Throws Error(Internal) for one that is not supported, which
// read_hub_config() refuses earlier.
[[nodiscard]] const HubFamily& hub_family(const std::string& name);
[[nodiscard]] std::span<const HubFamily> hub_families();

// The place of a tensor of ours in a folder; the members mean the same as those of NameRow.
struct HubPlace {
  std::string name;  // theirs, with the number of the block
  TensorLayout layout = TensorLayout::Same;
  int64_t part = 0, parts = 1;
  int64_t experts = 0;  // of theirs, where this is one expert's part of it; else 0
};
// The place of our tensor with the name `ours`. Throws Error(Input) with the name if the family has
// no such tensor.
[[nodiscard]] HubPlace place_in(const HubFamily& family, const std::string& ours);

// A tensor of theirs that ours, or one expert's or head's part of it, is or is in.
struct HubPart {
  HubPlace place;
  std::vector<int64_t> shape;  // of our part
  int64_t first = 0;           // the part's first element in ours
};
// The parts of our tensor at `place`, which has the shape `ours`: itself, or with the layouts
// PerExpert, PartsOfExperts and ColumnsOfExperts one for each expert, with ByHead one for each of
// the network's `heads`.
[[nodiscard]] std::vector<HubPart> parts_of(const HubPlace& place, const std::vector<int64_t>& ours,
                                            int64_t heads);

// The shape that the folder's whole tensor at `place` must have if our tensor has the shape `ours`
// (for FirstRows: at least so many rows; for LargeFirstPart: if all parts have it).
[[nodiscard]] std::vector<int64_t> shape_in(const HubPlace& place,
                                            const std::vector<int64_t>& ours);

// Whether the folder's tensor at `place` may have the shape `theirs` where ours has the shape
// `ours`.
[[nodiscard]] bool fits(const std::vector<int64_t>& theirs, const HubPlace& place,
                        const std::vector<int64_t>& ours);

// The row at which our tensor, which has `ours` rows, begins in the folder's tensor at `place`,
// which has `theirs`. Not for the layouts Transposed and ColumnsOfExperts, where parts are columns.
[[nodiscard]] int64_t first_row_in(const HubPlace& place, int64_t theirs, int64_t ours);

// A shape for messages: "[2, 3]".
[[nodiscard]] std::string shape_text(const std::vector<int64_t>& shape);

// Whether a tensor of a folder that has no counterpart of ours may be ignored: attention masks and
// rotary frequencies, which older versions stored, and, if `tied` (the classifier shares the
// embedding's weights), a stored classifier.
[[nodiscard]] bool is_spare(const std::string& theirs, bool tied);

}  // namespace penstock
