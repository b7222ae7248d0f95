// runtime/data/templates/values/formatting.h -- Python's two ways to fill values into a text: "%d
// of %s" % (1, "x"), and "{} of {name}".format(1, name="x"). The memory of the result and the work
// count in `budget`, that of the template's run (budget.h); Error(Input) is thrown when it is used
// up.
#pragma once

#include "runtime/data/templates/functions/arguments.h"

namespace penstock::jinja {

// The value of `form % what`. Throws Error(Input) for what Python refuses, and naming the
// conversion for one that is not supported.
[[nodiscard]] Value percent_formatted(Budget& budget, const Value& form, const Value& what);

// The value of form.format(with). Throws Error(Input), as percent_formatted() does.
[[nodiscard]] Value brace_formatted(Budget& budget, const Value& form, const Arguments& with);

}  // namespace penstock::jinja
