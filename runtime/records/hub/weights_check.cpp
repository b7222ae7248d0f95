// runtime/records/hub/weights_check.cpp -- HubWeights::check() of weights.h: whether a folder has
// the tensors of a network, in their shapes and types, and no others.
#include <algorithm>
#include <cstring>
#include <set>

#include "kernels/error.h"
#include "runtime/records/checkpoint/format/number_reader.h"
#include "runtime/records/checkpoint/format/numbers.h"
#include "runtime/records/hub/weights.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

bool are_equal(NumberReader a, NumberReader b, size_t count) {
  constexpr size_t kMost = size_t{1} << 16;
  std::vector<float> first(std::min(count, kMost)), second(first.size());
  for (size_t at = 0; at < count; at += kMost) {
    const size_t now = std::min(kMost, count - at);
    a.read(at, std::span(first).first(now));
    b.read(at, std::span(second).first(now));
    if (std::memcmp(first.data(), second.data(), now * sizeof(float)) != 0) return false;
  }
  return true;
}

// Whether a tensor of the folder is of a layer whose number the network has not.
bool is_behind(const std::string& theirs, std::span<const HubTensor> network) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = theirs.find(kLayers);
  if (at == std::string::npos) return false;
  const size_t first = at + kLayers.size();
  const std::string number = theirs.substr(first, theirs.find('.', first) - first);
  const std::string ours = "blocks." + number + ".";
  return !number.empty() && std::ranges::none_of(network, [&](const HubTensor& tensor) {
    return tensor.name.starts_with(ours);
  });
}

[[noreturn]] void fail_shape(const SafetensorsFile& file, const TensorInfo& info,
                             const std::vector<int64_t>& wanted) {
  fail_input(file.path() + ": tensor " + quoted(info.name) + " is " + shape_text(info.shape) +
             ", but config.json makes it " + shape_text(wanted) + ": do they belong together?");
}

}  // namespace

// Checks that each file has the tensors that the index places in it, and no others.
void HubWeights::check_headers() {
  if (!sharded_) return;
  std::map<std::string, std::set<std::string>> by_file;
  for (const auto& [name, file] : files_) by_file[file].insert(name);
  for (auto& [file, names] : by_file) {
    for (const TensorInfo& tensor : file_of(*names.begin()).tensors()) {
      if (names.erase(tensor.name) == 1) continue;
      const auto elsewhere = files_.find(tensor.name);
      fail_data(path_of(file) + " has the tensor " + quoted(tensor.name) + ", which the index " +
                (elsewhere == files_.end() ? "does not name" : "places in " + elsewhere->second) +
                ": these are files of two folders; download it again");
    }
    if (!names.empty()) {
      fail_data(path_of(file) + " lacks the tensor " + quoted(*names.begin()) +
                ", which the index places there: download it again");
    }
  }
}

void HubWeights::check_tensor(const HubTensor& tensor, const HubPlace& place) {
  if (is_packed(place)) return check_mxfp4(packed(place), place, tensor.shape);
  const std::string name = name_in_folder(place.name);
  if (name.empty()) {
    fail_data(folder_ + " has no tensor " + quoted(place.name) +
              ", which the network of its config.json has: " + why_not_there(place.name));
  }
  const SafetensorsFile& file = file_of(name);
  const TensorInfo* found = file.find(name);
  if (found == nullptr) {
    fail_data(file.path() + " lacks the tensor " + quoted(name) + ", which the index places there");
  }
  const TensorInfo& info = *found;
  if (number_bytes(info.dtype) == 0) {
    fail_input(file.path() + ": tensor " + quoted(name) + " is of type " + info.dtype +
               "; F32, BF16 and F16 are read, quantised weights are not");
  }
  if (!fits(info.shape, place, tensor.shape)) fail_shape(file, info, shape_in(place, tensor.shape));
}

// Checks that a head stored in the folder equals the embedding if the network ties the two: only
// the embedding is read, so a different head would be lost silently. (transformers does not tie two
// that differ, whatever config.json says.)
void HubWeights::check_head() {
  const std::string head = name_in_folder(place_in(family_, "classifier.weight").name);
  if (head.empty()) return;
  const std::string table = name_in_folder(place_in(family_, "embedding.token.weight").name);
  const SafetensorsFile head_file(path_of(files_.at(head)), FileOwner::User);
  const SafetensorsFile table_file(path_of(files_.at(table)), FileOwner::User);
  const TensorInfo* const ours = table_file.find(table);
  const TensorInfo* const theirs = head_file.find(head);
  if (ours != nullptr && theirs != nullptr && ours->shape == theirs->shape &&
      number_bytes(theirs->dtype) > 0 &&
      are_equal(NumberReader(table_file, *ours), NumberReader(head_file, *theirs),
                static_cast<size_t>(ours->size_bytes()) / number_bytes(ours->dtype))) {
    return;
  }
  fail_input(
      head_file.path() + ": " + quoted(head) + " is another than " + quoted(table) +
      ", though config.json says that they are one (\"tie_word_embeddings\"): say false there "
      "to use it, or delete it from the file");
}

void HubWeights::check_parts(std::span<const HubTensor> network) {
  std::map<std::string, std::vector<int64_t>> wholes;  // by name: the shape that all parts make
  for (const HubTensor& tensor : network) {
    const HubPlace place = place_in(family_, tensor.name);
    if (place.layout != TensorLayout::LargeFirstPart) continue;
    const auto [whole, is_new] = wholes.try_emplace(place.name, tensor.shape);
    if (!is_new) whole->second[0] += tensor.shape[0];
  }
  for (const auto& [theirs, shape] : wholes) {
    const std::string name = name_in_folder(theirs);
    if (name.empty()) continue;  // check_tensor() says so
    const SafetensorsFile& file = file_of(name);
    const TensorInfo* info = file.find(name);
    if (info != nullptr && info->shape != shape) fail_shape(file, *info, shape);
  }
}

void HubWeights::check(std::span<const HubTensor> network, bool tied) {
  check_headers();
  check_parts(network);
  std::set<std::string> used;
  for (const HubTensor& tensor : network) {
    for (const HubPart& part : parts_of(place_in(family_, tensor.name), tensor.shape, heads_)) {
      check_tensor({tensor.name, part.shape}, part.place);
      if (is_packed(part.place)) {
        for (const char* half : {kMxfp4Blocks, kMxfp4Scales}) {
          used.insert(name_in_folder(part.place.name + half));
        }
      }
      used.insert(name_in_folder(part.place.name));
    }
  }
  if (tied) check_head();
  for (const auto& [name, file] : files_) {
    if (used.contains(name) || is_spare(name, tied)) continue;
    fail_input(path_of(file) + ": the network of config.json has no place for the tensor " +
               quoted(name) +
               (is_behind(name, network)
                    ? ", which is of a layer behind the last that predicts further tokens: such "
                      "layers are not trained; transformers leaves them out when it saves a folder"
                    : ": this model is not supported"));
  }
}

}  // namespace penstock
