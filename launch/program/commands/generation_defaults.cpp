#include "launch/program/commands/generation_defaults.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

// `value` is what was asked for, else what the folder says, which `said` tells, else as it is.
template <class Number>
void settle(Number& value, const std::optional<Number>& asked, const std::optional<Number>& folder,
            const char* name, std::string& said) {
  if (!asked && folder) said += fmt::format("{}{} {}", said.empty() ? "" : ", ", name, *folder);
  value = asked.value_or(folder.value_or(value));
}

}  // namespace

std::string settle_generation(GenerationOptions& options, const SamplingAsked& asked,
                              const GenerationConfig& folder, const Tokenizer& tokenizer) {
  SamplingOptions& sampling = options.sampling;
  std::string said;
  settle(sampling.temperature, asked.temperature, folder.temperature, "temperature", said);
  settle(sampling.top_k, asked.top_k, folder.top_k, "top-k", said);
  settle(sampling.top_p, asked.top_p, folder.top_p, "top-p", said);
  settle(sampling.repetition_penalty, asked.repetition_penalty, folder.repetition_penalty,
         "repetition penalty", said);
  options.ends.clear();
  if (const int32_t end = tokenizer.special().end; end >= 0) options.ends.push_back(end);
  std::string ends;
  for (const int32_t end : folder.ends) {
    if (std::ranges::find(options.ends, end) != options.ends.end()) continue;
    options.ends.push_back(end);
    ends += fmt::format("{}{} ({})", ends.empty() ? "a text also ends with token " : ", ", end,
                        tokenizer.decode({&end, 1}));
  }
  if (said.empty() && ends.empty()) return "";
  return folder.path + " says: " + said + (said.empty() || ends.empty() ? "" : "; ") + ends;
}

std::string context_note(int64_t context, int64_t longest) {
  constexpr int64_t kLong = 2048;
  constexpr int64_t kUnit = 64;
  if (context < kLong || 4 * longest > context) return {};
  const int64_t enough = (longest + kUnit - 1) / kUnit * kUnit;
  return fmt::format(
      "the first token of each text is computed over model.context = {} positions; these texts "
      "need "
      "{} at most, and --model.context {} takes less time and memory",
      context, longest, enough);
}

}  // namespace penstock
