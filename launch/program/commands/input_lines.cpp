#include "launch/program/commands/input_lines.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "launch/program/output.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/system/files/json.h"

namespace penstock {

InputLines read_lines(std::istream& input) {
  InputLines read;
  bool mark = false;
  bool returns = false;
  for (std::string line; std::getline(input, line);) {
    if (read.lines.empty()) {
      const size_t mark_bytes = line.size() - without_mark(line).size();
      mark = mark_bytes > 0;
      line.erase(0, mark_bytes);
    }
    if (line.ends_with('\r')) {
      line.pop_back();
      returns = true;
    }
    read.lines.push_back(line);
  }
  if (mark) read.note = "standard input without its byte order mark";
  if (returns) {
    read.note += mark ? " and" : "standard input without";
    read.note += " the carriage returns at the ends of its lines";
  }
  return read;
}

std::string note_of_bytes(const std::string& text, const std::string& name) {
  std::string storage;
  if (valid_utf8(text, storage).data() == text.data()) return {};
  return name + " has bytes that are no UTF-8: they are read as U+FFFD";
}

std::vector<std::string> lines_of_input() {
  const InputLines read = read_lines(std::cin);
  if (!read.note.empty()) tell("note: " + read.note);
  return read.lines;
}

}  // namespace penstock
