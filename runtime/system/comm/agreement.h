// runtime/system/comm/agreement.h -- calls after which all ranks fail when one of them does, in the
// same words. Otherwise the others would wait for that rank for ever.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

#include "kernels/error.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// A failure of a rank, in a form that can be sent to others.
struct Failure {
  ErrorKind kind = ErrorKind::Internal;
  std::string what;
  ErrorScope scope = ErrorScope::OneRank;
};
// The failure that the exception being handled stands for, of any type: call in a catch block only.
[[nodiscard]] Failure current_failure();

// Runs `make` on rank 0 and returns its text on all ranks. Collective; when `make` throws, every
// rank throws it (ErrorScope::EveryRank).
[[nodiscard]] std::string on_first_rank(Collective& world,
                                        const std::function<std::string()>& make);
// Runs `make` on rank 0 and returns its struct of plain numbers on all ranks; when `make` throws,
// every rank throws it. Ranks run one build (launch/program/start), so the bytes mean the same
// everywhere.
template <class T, class Make>
[[nodiscard]] T numbers_of_first_rank(Collective& world, const Make& make) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>);
  const std::string bytes = on_first_rank(world, [&] {
    const T numbers = make();
    return std::string(reinterpret_cast<const char*>(&numbers), sizeof(numbers));
  });
  T numbers;
  if (bytes.size() != sizeof(numbers)) fail_internal("rank 0 sent numbers of another size");
  std::memcpy(&numbers, bytes.data(), sizeof(numbers));
  return numbers;
}
// Runs `work` on every rank; when it throws anywhere, every rank throws the words of the lowest
// rank that failed (ErrorScope::EveryRank). That rank's `who` ("rank 3"), unless empty, stands
// before the words where there are several ranks. Collective; `work` must not communicate.
void agree(Collective& world, const std::string& who, const std::function<void()>& work);

}  // namespace penstock
