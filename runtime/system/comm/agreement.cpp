#include "runtime/system/comm/agreement.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

#include "kernels/fault.h"

namespace penstock {
namespace {

constexpr char kResult = '0';

// Returns the result or the failure of `make` as one text. The first character is kResult for a
// result; for a failure it is kResult plus the number of the error's kind. The result, or the
// failure's words, follow.
std::string outcome(const std::function<std::string()>& make) {
  try {
    std::string text(1, kResult);
    text += make();
    return text;
  } catch (...) {
    const Failure failure = current_failure();
    return static_cast<char>(kResult + static_cast<int>(failure.kind)) + failure.what;
  }
}

bool is_failure(const std::string& outcome) {
  return outcome.at(0) != kResult;
}

std::string result_of(const std::string& outcome) {
  if (!is_failure(outcome)) return outcome.substr(1);
  throw Error(static_cast<ErrorKind>(outcome[0] - kResult), outcome.substr(1),
              ErrorScope::EveryRank);
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.kind(), error.what(), error.scope()};
  } catch (const std::invalid_argument& error) {  // what the rooms schedule and partition throw
    return {ErrorKind::Input, error.what(), ErrorScope::OneRank};
  } catch (const std::bad_alloc&) {
    return {ErrorKind::Resource, std::string(kOutOfMemory) +
                                     "the host has no more: use more stages, smaller micro-batches "
                                     "or --recompute layer"};
  } catch (const std::exception& error) {
    return {ErrorKind::Internal, std::string("unexpected: ") + error.what()};
  } catch (...) {
    return {ErrorKind::Internal, "unexpected: an exception of unknown type"};
  }
}

std::string on_first_rank(Collective& world, const std::function<std::string()>& make) {
  return result_of(world.broadcast(world.rank() == 0 ? outcome(make) : "", 0));
}

void agree(Collective& world, const std::string& who, const std::function<void()>& work) {
  std::string mine = outcome([&] {
    work();
    return std::string();
  });
  if (is_failure(mine) && !who.empty() && world.size() > 1) mine.insert(1, who + ": ");
  const std::vector<std::string> all = world.gather_text(mine);
  const auto failed = std::find_if(all.begin(), all.end(), is_failure);
  (void)result_of(world.broadcast(failed == all.end() ? std::string(1, kResult) : *failed, 0));
}

}  // namespace penstock
