#include "runtime/network/autograd/name_patterns.h"

#include <fnmatch.h>

#include <algorithm>

#include "kernels/error.h"
#include "kernels/suggest.h"

namespace penstock {
namespace {

bool takes_out(const std::string& pattern) {
  return pattern.starts_with('!');
}

// Returns whether the pattern fits the name. A pattern either chooses the names that it fits or
// takes them out.
bool fits(const std::string& name, const std::string& pattern) {
  const char* glob = pattern.c_str() + (takes_out(pattern) ? 1 : 0);
  return fnmatch(glob, name.c_str(), 0) == 0;
}

// Returns first the patterns of the layers that each name belongs to, and then all names. For
// blocks.0.norm.bias the patterns are blocks.*, blocks.0.* and blocks.0.norm.*.
std::vector<std::string> sensible_patterns(std::span<const std::string> names) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      all.push_back(name.substr(0, dot) + ".*");
    }
  }
  all.insert(all.end(), names.begin(), names.end());
  return all;
}

}  // namespace

bool matches_any(const std::string& name, std::span<const std::string> patterns) {
  const auto last = std::find_if(patterns.rbegin(), patterns.rend(),
                                 [&](const std::string& pattern) { return fits(name, pattern); });
  return last != patterns.rend() && !takes_out(*last);
}

void refuse_unmatched(const std::string& option, std::span<const std::string> patterns,
                      std::span<const std::string> names) {
  for (const std::string& pattern : patterns) {
    const bool found = std::any_of(names.begin(), names.end(),
                                   [&](const std::string& name) { return fits(name, pattern); });
    if (found) continue;
    std::string complaint = option;
    complaint.append(": no tensor of the network is called '").append(pattern).append("'");
    const std::string hint = did_you_mean(pattern, sensible_patterns(names));
    if (hint.empty() && !names.empty()) {
      complaint.append("; names are like '").append(names.front()).append("'");
    }
    fail_input(complaint + hint);
  }
}

}  // namespace penstock
