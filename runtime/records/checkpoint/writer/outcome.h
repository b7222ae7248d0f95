// runtime/records/checkpoint/writer/outcome.h -- the outcome of work that may fail, which ranks
// tell each other: its result as JSON, or {kind, error}.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/error.h"

namespace penstock {

// Runs `work` and returns its result, or {kind, error} when it throws: a rank that fails still
// takes part in what follows, or the others would wait for it forever.
template <class Work>
[[nodiscard]] nlohmann::json attempt(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    return {{"kind", error.exit_code()}, {"error", error.what()}};
  } catch (const std::exception& error) {
    return {{"kind", static_cast<int>(ErrorKind::Internal)}, {"error", error.what()}};
  }
}

[[nodiscard]] inline bool has_failed(const nlohmann::json& outcome) {
  return outcome.contains("error");
}

// Throws the Error that `outcome` tells of, if any, with `prefix` before its text and the scope
// EveryRank, since every rank has the outcome.
inline void throw_if_failed(const nlohmann::json& outcome, const std::string& prefix) {
  if (!has_failed(outcome)) return;
  throw Error(static_cast<ErrorKind>(outcome.at("kind").get<int>()),
              prefix + outcome.at("error").get<std::string>(), ErrorScope::EveryRank);
}

}  // namespace penstock
