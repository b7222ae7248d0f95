#include "runtime/records/checkpoint/format/checksum.h"

#include <xxhash.h>

#include <array>
#include <cstdio>

#include "kernels/fault.h"

namespace penstock {

struct Checksum::State {
  State() : xxh(XXH3_createState()) {}
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  XXH3_state_t* xxh;
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  if (state_->xxh == nullptr || XXH3_64bits_reset(state_->xxh) != XXH_OK) {
    fail_out_of_memory("the host has none for a checksum");
  }
}
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::add(const void* data, size_t size_bytes) {
  if (XXH3_64bits_update(state_->xxh, data, size_bytes) != XXH_OK) {
    fail_internal("a checksum was given no data");
  }
}

std::string Checksum::hex() const {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits_digest(state_->xxh)));
  return digits.data();
}

}  // namespace penstock
