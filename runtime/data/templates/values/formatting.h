// runtime/data/templates/values/formatting.h -- Python's two ways to fill values into a text.
#pragma once

#include "runtime/data/templates/functions/arguments.h"

namespace penstock::jinja {

// form % what. Throws for what Python refuses, and by name for conversions that are not supported.
[[nodiscard]] Value percent_formatted(Budget& budget, const Value& form, const Value& what);

// form.format(...). Throws as percent_formatted().
[[nodiscard]] Value brace_formatted(Budget& budget, const Value& form, const Arguments& with);

}  // namespace penstock::jinja
