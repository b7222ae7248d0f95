#include "launch/program/options/shortened.h"

namespace penstock {

std::string shortened(std::string text) {
  constexpr size_t kLongest = 60;
  if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
  return text;
}

}  // namespace penstock
