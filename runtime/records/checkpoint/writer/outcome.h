// runtime/records/checkpoint/writer/outcome.h -- attempt(): runs work that may throw and returns
// its result, or its error, as JSON that ranks can send to each other. So an error of one rank can
// be thrown on all.
//
// A rank that threw alone would leave the others waiting in the next collective call. Instead each
// rank sends the outcome of its attempt(), and all ranks call throw_if_failed() on what they got.
// The outcome is the result of the work, or {"kind": number of the ErrorKind, "error": text}.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/error.h"

namespace penstock {

// Runs `work` and returns the JSON that it returns or, if it throws, {kind, error}. Does not throw.
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

// If `outcome` is {kind, error}, throws that Error, with `prefix` before its text. Its scope is
// EveryRank: the caller makes sure that every rank has the same outcome and calls this.
inline void throw_if_failed(const nlohmann::json& outcome, const std::string& prefix) {
  if (!has_failed(outcome)) return;
  throw Error(static_cast<ErrorKind>(outcome.at("kind").get<int>()),
              prefix + outcome.at("error").get<std::string>(), ErrorScope::EveryRank);
}

}  // namespace penstock
