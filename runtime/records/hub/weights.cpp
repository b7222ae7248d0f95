#include "runtime/records/hub/weights.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "kernels/error.h"
#include "runtime/records/checkpoint/format/number_reader.h"
#include "runtime/records/checkpoint/format/numbers.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
// This many bytes of a transposed matrix are read at a time.
constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr size_t kMostOpenFiles = 64;  // the system allows a process far more

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Returns the first file of weights in a format that is not supported, or an empty text if there is
// none.
std::string foreign_weights(const std::string& folder) {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json",
                           "consolidated.safetensors", "tf_model.h5", "flax_model.msgpack"}) {
    if (exists(folder + "/" + name)) return name;
  }
  return "";
}

bool fits(const TensorInfo& info, const HubPlace& place, const std::vector<int64_t>& ours) {
  const std::vector<int64_t> wanted = shape_in(place, ours);
  const bool more_rows =
      place.layout == TensorLayout::FirstRows || place.layout == TensorLayout::LargeFirstPart;
  if (!more_rows || info.shape.size() != wanted.size()) return info.shape == wanted;
  const int64_t least =
      place.layout == TensorLayout::LargeFirstPart && place.part == 0 ? ours[0] : wanted[0];
  return info.shape[0] >= least &&
         std::equal(wanted.begin() + 1, wanted.end(), info.shape.begin() + 1);
}

// Reads `width` columns of the file's [rows, columns] matrix, beginning at column `first`, and
// writes them transposed: `to` is [width, rows].
template <class T>
void read_transposed(NumberReader& numbers, size_t columns, size_t first, size_t rows,
                     std::span<T> to) {
  const size_t width = to.size() / rows;
  const size_t most = std::max<size_t>(1, kPieceBytes / sizeof(float) / columns);
  std::vector<float> block(std::min(most, rows) * columns);
  for (size_t row = 0; row < rows; row += most) {
    const size_t count = std::min(most, rows - row);
    numbers.read(row * columns, std::span(block).first(count * columns));
    for (size_t i = 0; i < width; ++i) {
      for (size_t j = 0; j < count; ++j) to[i * rows + row + j] = block[j * columns + first + i];
    }
  }
}

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

bool has_hub_weights(const std::string& folder) {
  return exists(folder + "/" + index_file("model")) || exists(folder + "/" + kSingleFile) ||
         !foreign_weights(folder).empty();
}

HubWeights::HubWeights(std::string folder, const HubFamily& family, int64_t heads)
    : folder_(std::move(folder)), family_(family), heads_(heads) {
  // A folder may have a single file and an index. Then the single file counts, as in transformers:
  // the index is left from an older save.
  sharded_ = !exists(path_of(kSingleFile)) && exists(path_of(index_file("model")));
  if (sharded_) {
    read_index();
  } else {
    read_single_file();
  }
}

void HubWeights::read_single_file() {
  if (!exists(path_of(kSingleFile))) {
    const std::string other = foreign_weights(folder_);
    fail_input(folder_ + " has " + (other.empty() ? "no weights" : other + " alone") +
               ": what is read is model.safetensors, or model.safetensors.index.json and its "
               "files" +
               (other.ends_with(".bin") || other.ends_with(".json")
                    ? "; a .bin holds programs as well as numbers: load it with transformers and "
                      "save_pretrained() the model elsewhere"
                    : ""));
  }
  auto file = std::make_unique<SafetensorsFile>(path_of(kSingleFile), FileOwner::User);
  for (const TensorInfo& tensor : file->tensors()) files_[tensor.name] = kSingleFile;
  open_[kSingleFile] = std::move(file);
}

void HubWeights::read_index() {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  const std::string path = path_of(index_file("model"));
  files_ = parse_index(read_text(path, kMostBytes, FileOwner::User), path).weight_map;
  std::set<std::string> missing;
  for (const auto& [name, file] : files_) {
    if (!missing.contains(file) && !exists(path_of(file))) missing.insert(file);
  }
  if (missing.empty()) return;
  fail_data(path + " names " + *missing.begin() +
            (missing.size() > 1 ? " and " + std::to_string(missing.size() - 1) + " more" : "") +
            ", which the folder does not have: download it again");
}

std::string HubWeights::name_in_folder(const std::string& theirs) const {
  if (files_.contains(theirs)) return theirs;
  const std::string prefix = family_.prefix;
  const std::string bare = theirs.starts_with(prefix) ? theirs.substr(prefix.size()) : theirs;
  return files_.contains(bare) ? bare : "";
}

// Returns why a tensor is not there. A program that wraps a network in another (torch.compile,
// adapters) puts a prefix before all names.
std::string HubWeights::why_not_there(const std::string& theirs) const {
  for (const auto& [name, file] : files_) {
    if (!name.ends_with("." + theirs)) continue;
    return "its names begin with " + quoted(name.substr(0, name.size() - theirs.size())) +
           ": save the network itself, and not what it is wrapped in";
  }
  return "are all its files there?";
}

const SafetensorsFile& HubWeights::file_of(const std::string& theirs) {
  const std::string& file = files_.at(theirs);
  if (!open_.contains(file) && open_.size() >= kMostOpenFiles) open_.clear();
  std::unique_ptr<SafetensorsFile>& entry = open_[file];
  if (entry == nullptr) entry = std::make_unique<SafetensorsFile>(path_of(file), FileOwner::User);
  return *entry;
}

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
  if (!fits(info, place, tensor.shape)) fail_shape(file, info, shape_in(place, tensor.shape));
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

void HubWeights::expect(std::vector<HubTensor> tensors) {
  expected_ = std::move(tensors);
  reading_ = fetched_ = 0;
}

HubWeights::Range HubWeights::range_of(const HubTensor& tensor) {
  const HubPlace place = place_in(family_, tensor.name);
  const bool by_expert =
      place.layout == TensorLayout::PerExpert || place.layout == TensorLayout::PartsOfExperts;
  if (by_expert) return {};  // several pieces, read one by one
  const std::string name = name_in_folder(place.name);
  const TensorInfo* info = name.empty() ? nullptr : file_of(name).find(name);
  if (info == nullptr) return {};  // read() reports the missing tensor
  const bool scattered =
      place.layout == TensorLayout::Transposed || place.layout == TensorLayout::ByHead;
  if (scattered) return {name, 0, info->size_bytes()};
  if (!fits(*info, place, tensor.shape)) return {};  // read() says so
  uint64_t bytes = number_bytes(info->dtype);
  for (const int64_t extent : tensor.shape) bytes *= static_cast<uint64_t>(extent);
  const int64_t first = first_row_in(place, info->shape[0], tensor.shape[0]);
  const uint64_t row_bytes = bytes / static_cast<uint64_t>(tensor.shape[0]);
  return {name, static_cast<uint64_t>(first) * row_bytes, bytes};
}

// Asks the system to fetch the beginnings of this tensor and the next ones from the disk.
// NumberReader asks for the rest of each.
void HubWeights::fetch_ahead(const std::string& ours) {
  if (reading_ >= expected_.size() || expected_[reading_].name != ours) return;
  uint64_t ahead = 0;
  for (size_t i = reading_; i < expected_.size() && ahead < NumberReader::kAheadBytes; ++i) {
    const Range range = range_of(expected_[i]);
    const uint64_t beginning = std::min(range.size_bytes, NumberReader::kAheadBytes);
    if (i >= fetched_ && beginning > 0) {
      file_of(range.name).will_read(range.name, range.first, beginning);
    }
    fetched_ = std::max(fetched_, i + 1);
    if (i > reading_) ahead += beginning;
  }
  ++reading_;
}

template <class T>
void HubWeights::read_numbers(const HubPlace& place, const Shape& shape, std::span<T> to) {
  const std::string name = name_in_folder(place.name);
  const SafetensorsFile& file = file_of(name);
  const TensorInfo& info = *file.find(name);
  NumberReader numbers(file, info);
  numbers.refuse_not_finite();
  const auto part = static_cast<size_t>(place.part);
  if (place.layout != TensorLayout::Transposed) {
    const int64_t first = first_row_in(place, info.shape[0], shape[0]);
    return numbers.read(static_cast<size_t>(first * (shape.elements() / shape[0])), to);
  }
  const auto width = static_cast<size_t>(shape[0]);
  read_transposed(numbers, width * static_cast<size_t>(place.parts), part * width,
                  to.size() / width, to);
}

void HubWeights::read(const std::string& ours, Tensor& to, Device& device) {
  const HubPlace place = place_in(family_, ours);
  const auto extents = to.shape().extents();
  const std::vector<HubPart> parts = parts_of(place, {extents.begin(), extents.end()}, heads_);
  // The tensor is checked again: the file may have changed since the first check, or another rank
  // made that check.
  for (const HubPart& part : parts) check_tensor({ours, part.shape}, part.place);
  fetch_ahead(ours);
  fill_tensor(to, device, [&](auto numbers) {
    for (const HubPart& part : parts) {
      const Shape shape(std::span<const int64_t>(part.shape));
      read_numbers(
          part.place, shape,
          numbers.subspan(static_cast<size_t>(part.first), static_cast<size_t>(shape.elements())));
    }
  });
}

}  // namespace penstock
