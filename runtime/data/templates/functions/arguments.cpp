#include "runtime/data/templates/functions/arguments.h"

#include <algorithm>

#include "runtime/system/files/json.h"

namespace penstock::jinja {

std::vector<const Value*> bound(const Arguments& with,
                                std::initializer_list<const char*> parameters,
                                const std::string& of) {
  if (with.values.size() > parameters.size()) {
    fail_template("calls " + of + " with too many arguments");
  }
  std::vector<const Value*> found(parameters.size(), nullptr);
  for (size_t i = 0; i < with.values.size(); ++i) found[i] = &with.values[i];
  for (const auto& [name, value] : with.named) {
    const auto* const known = std::ranges::find(parameters, name);
    const auto at = static_cast<size_t>(known - parameters.begin());
    if (known == parameters.end() || found[at] != nullptr) {
      fail_template("calls " + of + " with the argument " + penstock::quoted(name));
    }
    found[at] = &value;
  }
  return found;
}

const std::string& text_of(const Value* value, const std::string& of) {
  if (value != nullptr && value->text() != nullptr) return *value->text();
  fail_template("gives " + of + " " + (value == nullptr ? "nothing" : kind_of(*value)) +
                " where a text belongs");
}

}  // namespace penstock::jinja
