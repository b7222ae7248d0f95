// runtime/records/checkpoint/format/number_reader.h -- NumberReader: reads numbers of a tensor in a
// safetensors file as fp32 or bf16, converting from the type that the file has (F32, BF16 or F16).
//
// A run can therefore go on in another precision than its checkpoint has, and load weights that
// others have published.
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
  // The operating system is asked to read so many bytes ahead (posix_fadvise), so that reading from
  // the disk goes on while the calling thread converts.
  static constexpr uint64_t kAheadBytes = uint64_t{16} << 20;

  // `file` and `tensor` must outlive this. `tensor` is one of file.tensors(), of type F32, BF16 or
  // F16.
  NumberReader(const SafetensorsFile& file, const TensorInfo& tensor)
      : file_(file), tensor_(tensor), each_(number_bytes(tensor.dtype)) {}

  // After this call, read() throws Error(Data) for a number that is infinite or NaN, naming file,
  // tensor and the place of the number.
  void refuse_not_finite() { only_finite_ = true; }

  // Overwrites `to` with to.size() numbers of the tensor, in row-major order, from the number with
  // the index `first` (from 0) on. Conversion to bf16 rounds to nearest even. Needs less than 1 MiB
  // of other memory. Throws Error(Internal) if first + to.size() is more than the tensor's numbers,
  // Error(Data) if the file has become shorter, Error(Resource) if the system cannot read it.
  void read(size_t first, std::span<float> to);
  void read(size_t first, std::span<bfloat16> to);

 private:
  // The work of read(), a piece of limited size at a time.
  template <class T>  // float or bfloat16
  void read_pieces(size_t first, std::span<T> to);
  // Throws for a number that is not finite. `at`: the index in the tensor of the first of
  // `numbers`.
  template <class T>
  void check_finite(std::span<const T> numbers, size_t at) const;
  // Converts the numbers in bytes_.
  void convert(std::span<float> to);
  void convert(std::span<bfloat16> to);
  // Asks the operating system to read ahead. A read of `count` numbers from the index `first` on is
  // about to read its piece that begins `at` numbers after `first`.
  void fetch_ahead(size_t first, size_t at, size_t count) const;

  const SafetensorsFile& file_;
  const TensorInfo& tensor_;
  size_t each_;                   // bytes of one number in the file
  bool only_finite_ = false;      // refuse_not_finite() was called
  std::vector<std::byte> bytes_;  // a piece as the file has it, to be converted
  std::vector<float> floats_;     // a piece as fp32, to be rounded to bf16
};

// Overwrites `to`, a tensor of fp32 or bf16 on `device`, with the whole tensor called `name` in the
// file, which may be of type F32, BF16 or F16. Throws Error(Input) naming file and tensor if there
// is none of that name, or it has another shape than `to` or another type than these three;
// Error(Data) if the file has become shorter, Error(Resource) if the system cannot read it.
void read_numbers(const SafetensorsFile& file, const std::string& name, Tensor& to, Device& device);

// fill_tensor() overwrites all numbers of `to`, a tensor of fp32 or bf16, with what the function
// `fill` writes. It calls fill(numbers) once, with a span of float or bfloat16 that has room for
// them: the tensor's own memory where the host can address it, else a buffer that is then copied to
// the device. fill_as() is the same for a known type T.
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
