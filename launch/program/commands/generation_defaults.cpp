#include "launch/program/commands/generation_defaults.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// Sets `value` to what was asked for, or else to what the folder says. A value of the folder is
// added to the text `said`. If neither gives a value, `value` is left as it is.
template <class Number>
void settle(Number& value, const std::optional<Number>& asked, const std::optional<Number>& folder,
            const char* name, std::string& said) {
  if (!asked && folder) said += fmt::format("{}{} {}", said.empty() ? "" : ", ", name, *folder);
  value = asked.value_or(folder.value_or(value));
}

void append_item(std::string& list, const std::string& more, const char* between) {
  if (!more.empty()) list += (list.empty() ? "" : between) + more;
}

// Settles which tokens end a text. Returns what the user is told of the folder's tokens: which of
// them end a text as well, and which do not because the vocabulary lacks them.
std::string settle_ends(GenerationOptions& options, const GenerationConfig& folder,
                        const Tokenizer& tokenizer) {
  options.ends.clear();
  if (const int32_t end = tokenizer.special().end; end >= 0) options.ends.push_back(end);
  std::string ends;
  std::string beyond;
  for (const int32_t end : folder.ends) {
    if (end >= tokenizer.size()) {
      append_item(beyond, std::to_string(end), ", ");
      continue;
    }
    if (std::ranges::find(options.ends, end) != options.ends.end()) continue;
    options.ends.push_back(end);
    append_item(ends, fmt::format("{} ({})", end, tokenizer.decode({&end, 1})), ", ");
  }
  std::string stops;
  for (const std::string& stop : folder.stops) append_item(stops, quoted(stop), ", ");
  std::string said;
  if (!ends.empty()) said = "a text also ends with token " + ends;
  if (!stops.empty()) append_item(said, "a text also ends before " + stops, "; ");
  if (beyond.empty()) return said;
  append_item(
      said,
      fmt::format("no text can end with token {}, since there are {} tokens: correct eos_token_id",
                  beyond, tokenizer.size()),
      "; ");
  return said;
}

}  // namespace

std::vector<std::string> settle_generation(GenerationOptions& options, const GenerationAsked& asked,
                                           const GenerationConfig& folder,
                                           const Tokenizer& tokenizer) {
  SamplingOptions& sampling = options.sampling;
  std::string said;
  settle(options.tokens, asked.tokens, folder.tokens, "tokens", said);
  settle(sampling.temperature, asked.temperature, folder.temperature, "temperature", said);
  settle(sampling.top_k, asked.top_k, folder.top_k, "top-k", said);
  settle(sampling.top_p, asked.top_p, folder.top_p, "top-p", said);
  settle(sampling.min_p, asked.min_p, folder.min_p, "min-p", said);
  settle(sampling.repetition_penalty, asked.repetition_penalty, folder.repetition_penalty,
         "repetition penalty", said);
  append_item(said, settle_ends(options, folder, tokenizer), "; ");
  std::vector<std::string> lines;
  if (!said.empty()) lines.push_back(folder.path + " says: " + said);
  std::string ignored;
  for (const std::string& one : folder.ignored) append_item(ignored, one, ", ");
  if (folder.longest && !asked.tokens) {
    append_item(ignored,
                fmt::format("max_length {} (--tokens is {})", *folder.longest, options.tokens),
                ", ");
  }
  if (!ignored.empty())
    lines.push_back(folder.path + " also says what is not followed: " + ignored);
  return lines;
}

std::string context_note(int64_t context, int64_t longest, int64_t cache) {
  constexpr int64_t kLong = 2048;
  constexpr int64_t kUnit = 64;
  if (cache == 0 || context < kLong || 4 * longest > context) return {};
  const int64_t enough = (longest + kUnit - 1) / kUnit * kUnit;
  return fmt::format(
      "the cache has place for model.context = {} positions of each row, {}; these texts need {} "
      "at most, and --model.context {} takes less memory",
      context, bytes_text(cache), longest, enough);
}

}  // namespace penstock
