#include "runtime/records/hub/weights.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "kernels/error.h"
#include "runtime/records/checkpoint/format/number_reader.h"
#include "runtime/records/checkpoint/format/numbers.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/records/hub/mxfp4.h"
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

// Columns of a matrix in a file: every `step`-th from the column `first` on of all `columns`; the
// matrix begins at the file's number `begin`.
struct Columns {
  size_t begin, columns, first, step;
};

// Reads such columns of a matrix with that many rows and writes them transposed: `to` is
// [columns that are read, rows].
template <class T>
void read_transposed(NumberReader& numbers, const Columns& of, size_t rows, std::span<T> to) {
  const size_t width = to.size() / rows;
  const size_t most = std::max<size_t>(1, kPieceBytes / sizeof(float) / of.columns);
  std::vector<float> block(std::min(most, rows) * of.columns);
  for (size_t row = 0; row < rows; row += most) {
    const size_t count = std::min(most, rows - row);
    numbers.read(of.begin + row * of.columns, std::span(block).first(count * of.columns));
    for (size_t i = 0; i < width; ++i) {
      const size_t column = of.first + i * of.step;
      for (size_t j = 0; j < count; ++j) to[i * rows + row + j] = block[j * of.columns + column];
    }
  }
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
  std::shared_ptr<SafetensorsFile>& entry = open_[file];
  if (entry == nullptr) entry = std::make_shared<SafetensorsFile>(path_of(file), FileOwner::User);
  return *entry;
}

bool HubWeights::is_packed(const HubPlace& place) const {
  return place.layout == TensorLayout::ColumnsOfExperts && name_in_folder(place.name).empty() &&
         !name_in_folder(place.name + kMxfp4Blocks).empty();
}

Mxfp4Tensor HubWeights::packed(const HubPlace& place) {
  const auto half = [&](const char* suffix) {
    const std::string name = name_in_folder(place.name + suffix);
    if (name.empty()) {
      fail_data(folder_ + " has no tensor " + quoted(place.name + suffix) +
                ", which is one of the two that an MXFP4 matrix has: are all its files there?");
    }
    (void)file_of(name);
    return Mxfp4Tensor::Half{name, open_.at(files_.at(name))};
  };
  return {half(kMxfp4Blocks), half(kMxfp4Scales)};
}

void HubWeights::expect(std::vector<HubTensor> tensors) {
  expected_ = std::move(tensors);
  reading_ = fetched_ = 0;
}

HubWeights::Range HubWeights::range_of(const HubTensor& tensor) {
  const HubPlace place = place_in(family_, tensor.name);
  const bool by_expert = place.layout == TensorLayout::PerExpert ||
                         place.layout == TensorLayout::PartsOfExperts ||
                         place.layout == TensorLayout::ColumnsOfExperts;
  if (by_expert) return {};  // several pieces, read one by one
  const std::string name = name_in_folder(place.name);
  const TensorInfo* info = name.empty() ? nullptr : file_of(name).find(name);
  if (info == nullptr) return {};  // read() reports the missing tensor
  const bool scattered =
      place.layout == TensorLayout::Transposed || place.layout == TensorLayout::ByHead;
  if (scattered) return {name, 0, info->size_bytes()};
  if (!fits(info->shape, place, tensor.shape)) return {};  // read() says so
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
  if (is_packed(place)) return read_mxfp4(packed(place), place, shape[0], to);
  const std::string name = name_in_folder(place.name);
  const SafetensorsFile& file = file_of(name);
  const TensorInfo& info = *file.find(name);
  NumberReader numbers(file, info);
  numbers.refuse_not_finite();
  const auto part = static_cast<size_t>(place.part);
  const auto width = static_cast<size_t>(shape[0]);
  const size_t rows = to.size() / width;
  if (place.layout == TensorLayout::Transposed) {
    const size_t columns = width * static_cast<size_t>(place.parts);
    return read_transposed(numbers, {0, columns, part * width, 1}, rows, to);
  }
  if (place.layout == TensorLayout::ColumnsOfExperts) {
    const auto parts = static_cast<size_t>(place.parts / place.experts);
    const size_t begin = part / parts * parts * to.size();
    return read_transposed(numbers, {begin, parts * width, part % parts, parts}, rows, to);
  }
  const int64_t first = first_row_in(place, info.shape[0], shape[0]);
  numbers.read(static_cast<size_t>(first) * rows, to);
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
