// runtime/records/checkpoint/format/number_reader.h -- NumberReader: the numbers of a tensor of a
// safetensors file as fp32 or bf16, whichever of F32, BF16 and F16 the file has.
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
  // How far ahead of what is converted the system is told to read, into its page cache: one thread
  // reads and converts in turn, and would else take the sum of both times.
  static constexpr uint64_t kAheadBytes = uint64_t{16} << 20;

  // Both outlive this; the tensor is of type F32, BF16 or F16.
  NumberReader(const SafetensorsFile& file, const TensorInfo& tensor)
      : file_(file), tensor_(tensor), each_(number_bytes(tensor.dtype)) {}

  // From here on read() throws Error(Data) naming file, tensor and place of the first number that
  // is infinite or none.
  void refuse_not_finite() { only_finite_ = true; }

  // Overwrites `to` with as many numbers of the tensor, from number `first` on; to bf16 they are
  // rounded to nearest even. Holds less than a MiB besides. Throws as SafetensorsFile::read().
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

// Overwrites `to`, fp32 or bf16, with the tensor of that name, which the file may have as F32, BF16
// or F16. Throws as SafetensorsFile::read().
void read_numbers(const SafetensorsFile& file, const std::string& name, Tensor& to, Device& device);

// fill_tensor() calls fill(numbers) once, which overwrites all numbers of a tensor of fp32 or bf16,
// a span of that type: in place where the host can address them, else in a copy that then goes to
// the device. fill_as() does it for the type T.
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
