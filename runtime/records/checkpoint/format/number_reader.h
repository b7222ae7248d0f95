// runtime/records/checkpoint/format/number_reader.h -- the numbers of one tensor of a safetensors
// file as they are computed with, fp32 or bf16, whatever type the file has them in.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/bfloat16.h"
#include "runtime/records/checkpoint/format/numbers.h"
#include "runtime/records/checkpoint/format/safetensors.h"

namespace penstock {

class NumberReader {
 public:
  // How far ahead of what is converted the system is told to read: one thread reads and converts in
  // turn, and would otherwise take the sum of both times. Only what will be read is fetched, into
  // the system's page cache.
  static constexpr uint64_t kAheadBytes = uint64_t{16} << 20;

  // Both outlive this; the tensor is of a type that number_bytes() knows.
  NumberReader(const SafetensorsFile& file, const TensorInfo& tensor)
      : file_(file), tensor_(tensor), each_(number_bytes(tensor.dtype)) {}

  // From here on read() throws Error(Data) naming file, tensor and place of the first number that
  // is infinite or none.
  void refuse_not_finite() { only_finite_ = true; }

  // Overwrites all of `to` with as many numbers, from the `first` of the tensor on; bf16 ones are
  // rounded to nearest even. Holds less than a MiB beside them. Throws as SafetensorsFile::read().
  void read(size_t first, std::span<float> to);
  void read(size_t first, std::span<bfloat16> to);

 private:
  template <class T>  // float or bfloat16
  void read_pieces(size_t first, std::span<T> to);
  // `at`: the index of the first number in the tensor.
  template <class T>
  void check_finite(std::span<const T> numbers, size_t at) const;
  // Both convert what is in bytes_.
  void convert(std::span<float> to);
  void convert(std::span<bfloat16> to);
  // Has the system fetch ahead of the piece at `at` of `count` numbers from the `first` on. Called
  // before that piece is read.
  void fetch_ahead(size_t first, size_t at, size_t count) const;

  const SafetensorsFile& file_;
  const TensorInfo& tensor_;
  size_t each_;
  bool only_finite_ = false;
  std::vector<std::byte> bytes_;  // of a piece of another type
  std::vector<float> floats_;     // of a piece that is to be rounded
};

// Fills `to`, fp32 or bf16, with the tensor of that name, whose numbers may be of another type in
// the file. Throws as SafetensorsFile::read().
void read_numbers(const SafetensorsFile& file, const std::string& name, Tensor& to, Device& device);

// Calls `fill(numbers)` for all the numbers of a tensor of fp32 or bf16, as a span of its type,
// where the host can address them or through a copy of this one tensor.
template <class T, class Fill>
void fill_as(Tensor& to, Device& device, const Fill& fill) {
  if (device.host_addressable()) return fill(to.span<T>());
  const auto elements = static_cast<size_t>(to.elements());
  const auto host = std::make_unique_for_overwrite<T[]>(elements);
  fill(std::span<T>(host.get(), elements));
  device.copy_from_host(to, host.get(), to.size_bytes());
  device.synchronize();
}
template <class Fill>
void fill_tensor(Tensor& to, Device& device, const Fill& fill) {
  if (to.dtype() == DType::BF16) return fill_as<bfloat16>(to, device, fill);
  fill_as<float>(to, device, fill);
}

}  // namespace penstock
