// runtime/records/checkpoint/format/checksum.h -- Checksum: computes the XXH3-64 hash of bytes that
// are added piece by piece, by which checkpoint files are checked for damage.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace penstock {

class Checksum {
 public:
  Checksum();  // throws Error(Resource) where there is no memory
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void add(const void* data, size_t size_bytes);
  [[nodiscard]] std::string hex() const;  // 16 digits, of all that was added

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
