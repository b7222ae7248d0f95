#include "runtime/engine/training/checkpoints/resume_rules.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "kernels/error.h"
#include "runtime/network/autograd/name_patterns.h"

namespace penstock {
namespace {

enum class Rule {
  Fixed,
  Free,
  SameFile,    // only the last part of a path must stay: other machines have other folders
  BothOrNone,  // 0 switches off something that keeps state: it must stay off, or stay on
  FromData,    // 0 means the number that the data have, and data are compared elsewhere
};

struct RuleOf {
  const char* pattern;  // of the keys that the rule is for
  Rule rule;
};

// The first rule whose pattern fits a key decides. A key that no pattern fits is Fixed, so a new
// key is free only once a rule says so.
constexpr RuleOf kRules[] = {
    {"model.vocabulary", Rule::FromData},
    {"model.classes", Rule::FromData},
    {"model.from", Rule::Free},  // used at the start alone; the network that it gives is compared
    {"model.*", Rule::Fixed},
    {"lora.from", Rule::Free},  // used at the start alone
    {"data.train", Rule::SameFile},
    {"data.validation", Rule::SameFile},
    {"data.vocabulary", Rule::SameFile},
    {"data.prefetch", Rule::Free},
    {"data.threads", Rule::Free},
    {"optimizer.kind", Rule::Fixed},
    {"optimizer.freeze", Rule::Fixed},
    {"optimizer.adamw_for", Rule::Fixed},
    {"optimizer.momentum", Rule::BothOrNone},
    {"optimizer.moving_average", Rule::BothOrNone},
    {"optimizer.*", Rule::Free},
    {"pipeline.*", Rule::Free},
    {"init.*", Rule::Free},  // used at the start alone
    {"checkpoint.*", Rule::Free},
    {"run.seed", Rule::Fixed},
    {"run.*", Rule::Free},
};

Rule rule_of(const std::string& key) {
  for (const RuleOf& rule : kRules) {
    const std::string pattern = rule.pattern;
    if (matches_any(key, {&pattern, 1})) return rule.rule;
  }
  return Rule::Fixed;
}

// Returns the values of a run file by key, for example "model.layers" -> `4`. The further lines of
// a value, such as a list of layers, are joined to its first line.
std::map<std::string, std::string> values_by_key(const std::string& run_file) {
  std::map<std::string, std::string> values;
  std::string section;
  std::string* value = nullptr;
  std::istringstream lines(run_file);
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
    if (name != 0 && name != std::string::npos && line.compare(name, 3, " = ") == 0) {
      value = &values[section + "." + line.substr(0, name)];
      *value = line.substr(name + 3);
    } else if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2);
      value = nullptr;
    } else if (value != nullptr && !line.empty()) {
      *value += " " + line.substr(line.find_first_not_of(' '));
    }
  }
  return values;
}

bool is_zero(const std::string& value) {
  return !value.empty() && value.find_first_not_of("0.") == std::string::npos;
}

// Returns the last part of a path that stands in quotes, without the quotes.
std::string_view last_part(std::string_view value) {
  constexpr std::string_view kQuotes = "'\"";
  value.remove_prefix(std::min(value.find_first_not_of(kQuotes), value.size()));
  value.remove_suffix(value.size() - std::min(value.find_last_not_of(kQuotes) + 1, value.size()));
  return value.substr(value.rfind('/') + 1);  // all of it if there is no '/': npos + 1 is 0
}

bool may_change(Rule rule, const std::string& saved, const std::string& given) {
  switch (rule) {
    case Rule::Fixed:
      return false;
    case Rule::Free:
      return true;
    case Rule::SameFile:
      return last_part(saved) == last_part(given);
    case Rule::BothOrNone:
      return is_zero(saved) == is_zero(given);
    case Rule::FromData:
      return is_zero(saved) || is_zero(given);
  }
  return false;
}

std::string shortened(const std::string& value) {
  constexpr size_t kMost = 80;
  return value.size() <= kMost ? value : value.substr(0, kMost) + "...";
}

}  // namespace

std::vector<ChangedKey> compare_for_resume(const std::string& saved, const std::string& given) {
  const auto before = values_by_key(saved);
  const auto now = values_by_key(given);
  std::vector<ChangedKey> changes;
  for (const auto& [key, value] : now) {
    const auto old = before.find(key);
    if (old == before.end() || old->second == value) continue;
    if (!may_change(rule_of(key), old->second, value)) {
      fail_input(key + " was " + shortened(old->second) + " when it was saved and is " +
                 shortened(value) +
                 " now, which makes it another run: leave it as it was, or start another run from "
                 "these weights with --init");
    }
    changes.push_back({key, shortened(old->second), shortened(value)});
  }
  return changes;
}

std::string describe(const std::vector<ChangedKey>& changes) {
  std::string text;
  for (const ChangedKey& change : changes) {
    text += (text.empty() ? "" : ", ") + change.key + " " + change.saved + " -> " + change.given;
  }
  return text;
}

}  // namespace penstock
