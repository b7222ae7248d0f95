// runtime/data/datasets/tuning/tuning_file.h -- for_each_tuning_line(): reads a file of data.kind =
// "jsonl" (data for fine-tuning), plain or compressed, line by line; a file that is one JSON array
// instead is read element by element.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace penstock {

// A line, or an element of an array, that is kept until a thread has time for it.
struct KeptLine {
  std::string text, where;  // `where`: as take() below gets it
};

// Calls take(line, where) for each line that is not blank, or for each element if the file is an
// array. `where` is for messages: "<path>, line 3" (blank lines counted) or "<path>, element 3",
// from 1. `unpack_limit`: as data.unpack_limit. Throws Error(Input) if there is no readable file;
// Error(Data) if it is damaged or unpacks to more than the limit (text_file.h), if an array has no
// end or something stands behind it; and what take() throws. Returns whether the file was an array.
bool for_each_tuning_line(
    const std::string& path, int64_t unpack_limit,
    const std::function<void(std::string_view line, const std::string& where)>& take);

}  // namespace penstock
