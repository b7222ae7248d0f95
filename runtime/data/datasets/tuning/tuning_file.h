// runtime/data/datasets/tuning/tuning_file.h -- reads a file of data.kind = "jsonl" line by line,
// or, where it is one JSON array instead, element by element.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace penstock {

// A line or element that is kept to be read later.
struct KeptLine {
  std::string text, where;  // `where` names file and line, or element
};

// Calls take(line, where) for each line that is not blank, or each element of the array that the
// file is; `where` names file and line, or element. Throws as text_file.h says, and Error(Data)
// where an array has no end, or something stands behind it. Returns whether it was an array.
bool for_each_tuning_line(
    const std::string& path, int64_t unpack_limit,
    const std::function<void(std::string_view line, const std::string& where)>& take);

}  // namespace penstock
