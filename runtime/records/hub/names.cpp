#include "runtime/records/hub/names.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>
#include <string_view>

#include "kernels/error.h"
#include "kernels/joined.h"

namespace penstock {
namespace {

// This is a name, split into its pattern and its number: "blocks.12.norm1.weight" is
// "blocks.#.norm1.weight" and "12".
struct Numbered {
  std::string pattern, number;
};

Numbered numbered(const std::string& name) {
  constexpr std::string_view kBlocks = "blocks.";
  if (!name.starts_with(kBlocks)) return {name, ""};
  size_t end = kBlocks.size();
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
  const std::string number = name.substr(kBlocks.size(), end - kBlocks.size());
  return {std::string(kBlocks) + "#" + name.substr(end), number};
}

std::string with_number(std::string pattern, const std::string& number) {
  const size_t at = pattern.find('#');
  return at == std::string::npos ? pattern : pattern.replace(at, 1, number);
}

}  // namespace

HubPlace place_in(const HubFamily& family, const std::string& ours) {
  const Numbered name = numbered(ours);
  for (const NameRow& row : family.rows) {
    if (row.ours != name.pattern) continue;
    return {with_number(row.theirs, name.number), row.layout, row.part, row.parts};
  }
  fail_input("the network's tensor '" + ours + "' has no place in a folder of the family " +
             family.name);
}

namespace {

// The part of head h is number 3 h + the tensor's own in theirs, where these are three of ours.
std::vector<HubPart> parts_of_heads(const HubPlace& place, const std::vector<int64_t>& ours,
                                    int64_t heads) {
  std::vector<int64_t> shape = ours;
  shape[0] /= heads;
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<HubPart> parts;
  for (int64_t head = 0; head < heads; ++head) {
    HubPlace own = place;
    own.part = static_cast<int>(head) * place.parts + place.part;
    own.parts = static_cast<int>(heads) * place.parts;
    parts.push_back({own, shape, head * size});
  }
  return parts;
}

}  // namespace

std::vector<HubPart> parts_of(const HubPlace& place, const std::vector<int64_t>& ours,
                              int64_t heads) {
  if (place.layout == TensorLayout::ByHead && !ours.empty() && ours[0] % heads == 0) {
    return parts_of_heads(place, ours, heads);
  }
  const bool in_one = place.layout == TensorLayout::PartsOfExperts ||
                      place.layout == TensorLayout::ColumnsOfExperts;
  if ((!in_one && place.layout != TensorLayout::PerExpert) || ours.empty()) {
    return {{place, ours}};
  }
  const std::vector<int64_t> shape(ours.begin() + 1, ours.end());
  const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<HubPart> parts;
  for (int64_t e = 0; e < ours[0]; ++e) {
    HubPlace own = place;
    if (in_one) {
      own.part += e * place.parts;
      own.parts *= ours[0];
      own.experts = ours[0];
    } else {
      own = {own.name.replace(own.name.find('*'), 1, std::to_string(e))};
    }
    parts.push_back({std::move(own), shape, e * size});
  }
  return parts;
}

std::vector<int64_t> shape_in(const HubPlace& place, const std::vector<int64_t>& ours) {
  std::vector<int64_t> shape = ours;
  if (place.experts > 0) {
    shape[0] *= place.parts / place.experts;
    if (place.layout == TensorLayout::ColumnsOfExperts) std::reverse(shape.begin(), shape.end());
    shape.insert(shape.begin(), place.experts);
    return shape;
  }
  if (!shape.empty()) shape[0] *= place.parts;
  if (place.layout == TensorLayout::Transposed) std::reverse(shape.begin(), shape.end());
  return shape;
}

bool fits(const std::vector<int64_t>& theirs, const HubPlace& place,
          const std::vector<int64_t>& ours) {
  const std::vector<int64_t> wanted = shape_in(place, ours);
  const bool more_rows =
      place.layout == TensorLayout::FirstRows || place.layout == TensorLayout::LargeFirstPart;
  if (!more_rows || theirs.size() != wanted.size()) return theirs == wanted;
  const int64_t least =
      place.layout == TensorLayout::LargeFirstPart && place.part == 0 ? ours[0] : wanted[0];
  return theirs[0] >= least && std::equal(wanted.begin() + 1, wanted.end(), theirs.begin() + 1);
}

int64_t first_row_in(const HubPlace& place, int64_t theirs, int64_t ours) {
  if (place.experts > 0) return place.part * ours;
  return place.part == 0 ? 0 : theirs - (place.parts - place.part) * ours;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return "[" + joined(shape, ", ", [](int64_t extent) { return std::to_string(extent); }) + "]";
}

bool is_spare(const std::string& theirs, bool tied) {
  const bool mask = theirs.ends_with(".attn.bias") || theirs.ends_with(".attn.masked_bias") ||
                    theirs.ends_with(".attention.bias") ||
                    theirs.ends_with(".attention.masked_bias");
  return mask || theirs.ends_with(".rotary_emb.inv_freq") ||
         (tied && (theirs == "lm_head.weight" || theirs == "embed_out.weight"));
}

}  // namespace penstock
