#include "runtime/records/checkpoint/format/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/error.h"
#include "runtime/system/files/json.h"
#include "runtime/system/files/stand_in.h"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr size_t kCopyBytes = size_t{4} << 20;

TensorInfo describe(const NamedTensor& named) {
  const auto extents = named.tensor.shape().extents();
  return {named.name, safetensors_dtype(named.tensor.dtype()),
          std::vector<int64_t>(extents.begin(), extents.end()), 0, named.tensor.size_bytes()};
}

// Calls use(piece) for consecutive one-dimensional views that together cover the tensor.
template <class Use>
void for_each_piece(const Tensor& tensor, const Use& use) {
  const auto most = static_cast<int64_t>(kCopyBytes / size_of(tensor.dtype()));
  for (int64_t first = 0; first < tensor.elements(); first += most) {
    Tensor piece = tensor.view(first, Shape{std::min(most, tensor.elements() - first)});
    use(piece);
  }
}

class Writer {
 public:
  Writer(const std::string& path, Device* device)
      : file_(path),
        device_(device),
        on_host_(device == nullptr || device->host_addressable()),
        piece_(on_host_ ? 0 : kCopyBytes) {
    if (device != nullptr) device->synchronize();
  }
  void write(const std::string& text) { file_.write(text.data(), text.size()); }
  void write(const Tensor& tensor) {
    if (on_host_) return file_.write(tensor.raw(), tensor.size_bytes());
    for_each_piece(tensor, [&](const Tensor& piece) {
      device_->copy_to_host(piece_.data(), piece, piece.size_bytes());
      device_->synchronize();
      file_.write(piece_.data(), piece.size_bytes());
    });
  }
  FileDigest finish() { return file_.finish(); }

 private:
  OutputFile file_;
  Device* device_;
  bool on_host_;
  std::vector<std::byte> piece_;
};

uint64_t read_header_length(const InputFile& file) {
  const auto size = static_cast<uint64_t>(file.size_bytes());
  if (size < kLengthBytes) {
    fail_data(file.path() + ", byte 0: it is too short for a safetensors file");
  }
  std::array<unsigned char, kLengthBytes> bytes{};
  file.read(0, bytes.data(), bytes.size());
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | bytes[i];
  if (length > kMaximumHeaderBytes || length > size - kLengthBytes) {
    fail_data(file.path() + ", byte 0: it claims a header of " + std::to_string(length) +
              " bytes: it is damaged or not a safetensors file");
  }
  return length;
}

std::string brackets(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

}  // namespace

FileDigest write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                             const std::map<std::string, std::string>& metadata, Device* device) {
  SafetensorsHeader header{{}, metadata};
  std::unordered_map<std::string, const Tensor*> by_name;
  for (const NamedTensor& named : tensors) {
    header.tensors.push_back(describe(named));
    by_name[named.name] = &named.tensor;
  }
  const std::string front = encode_safetensors_header(header);
  Writer writer(path, device);
  writer.write(front);
  for (const TensorInfo& info : header.tensors) writer.write(*by_name.at(info.name));
  return writer.finish();
}

SafetensorsFile::SafetensorsFile(const std::string& path, FileOwner owner) : file_(path, owner) {
  if (owner == FileOwner::User) refuse_stand_in(file_.beginning(), path);
  std::string text(read_header_length(file_), '\0');
  file_.read(kLengthBytes, text.data(), text.size());
  data_begin_ = kLengthBytes + text.size();
  header_ =
      parse_safetensors_header(text, static_cast<uint64_t>(file_.size_bytes()) - data_begin_, path);
  for (size_t i = 0; i < header_.tensors.size(); ++i) index_[header_.tensors[i].name] = i;
}

const TensorInfo* SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &header_.tensors[found->second];
}

const TensorInfo& SafetensorsFile::get(const std::string& name) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) fail_input(path() + " has no tensor " + quoted(name));
  return *tensor;
}

void SafetensorsFile::read(const std::string& name, std::span<std::byte> to) const {
  const TensorInfo& tensor = get(name);
  if (tensor.size_bytes() != to.size()) {
    fail_input(path() + ": tensor " + quoted(name) + " has " + std::to_string(tensor.size_bytes()) +
               " bytes where " + std::to_string(to.size()) + " are needed");
  }
  file_.read(data_begin_ + tensor.begin, to.data(), to.size());
}

void SafetensorsFile::read(const std::string& name, uint64_t first, std::span<std::byte> to) const {
  const TensorInfo& tensor = get(name);
  if (first > tensor.size_bytes() || to.size() > tensor.size_bytes() - first) {
    fail_internal("a read leaves the tensor " + quoted(name) + " of " + path());
  }
  file_.read(data_begin_ + tensor.begin + first, to.data(), to.size());
}

void SafetensorsFile::will_read(const std::string& name, uint64_t first,
                                uint64_t size_bytes) const {
  const TensorInfo& tensor = get(name);
  file_.will_read(static_cast<int64_t>(data_begin_ + tensor.begin + first),
                  static_cast<int64_t>(size_bytes));
}

void SafetensorsFile::read(const std::string& name, Tensor& to, Device& device) const {
  read_part(name, to.shape(), 0, to, device);
}

void SafetensorsFile::read_part(const std::string& name, const Shape& whole, int64_t first,
                                Tensor& to, Device& device) const {
  const TensorInfo& tensor = get(name);
  const std::string dtype = safetensors_dtype(to.dtype());
  const std::vector<int64_t> shape(whole.extents().begin(), whole.extents().end());
  if (tensor.dtype != dtype || tensor.shape != shape) {
    fail_input(path() + ": tensor " + quoted(name) + " is " + tensor.dtype + " " +
               brackets(tensor.shape) + " but the model needs " + dtype + " " + brackets(shape));
  }
  if (first < 0 || first + to.elements() > whole.elements()) {
    fail_internal("a read leaves the tensor " + quoted(name) + " of " + path());
  }
  uint64_t at = data_begin_ + tensor.begin + static_cast<uint64_t>(first) * size_of(to.dtype());
  if (to.elements() == 0) return;
  if (device.host_addressable()) return file_.read(at, to.raw(), to.size_bytes());
  std::vector<std::byte> buffer(std::min<size_t>(kCopyBytes, to.size_bytes()));
  for_each_piece(to, [&](Tensor& piece) {
    file_.read(at, buffer.data(), piece.size_bytes());
    device.copy_from_host(piece, buffer.data(), piece.size_bytes());
    device.synchronize();  // the next piece uses the buffer again
    at += piece.size_bytes();
  });
}

}  // namespace penstock
