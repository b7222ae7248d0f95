#include "runtime/data/datasets/share.h"

#include <charconv>

#include "kernels/error.h"

namespace penstock {

std::optional<double> share_of(const std::string& validation) {
  double share = 0;
  const char* end = validation.data() + validation.size();
  const auto [rest, status] = std::from_chars(validation.data(), end, share);
  if (status == std::errc::invalid_argument || rest != end) return std::nullopt;
  if (!(share > 0 && share < 1)) {
    fail_input("data.validation = " + validation +
               " is not a share: give a number between 0 and 1, or a path");
  }
  return share;
}

}  // namespace penstock
