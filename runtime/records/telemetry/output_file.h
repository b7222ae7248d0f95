// runtime/records/telemetry/output_file.h -- LineFile: a file to which a run appends lines, such as
// log.txt and metrics.jsonl, or bytes, so that what was written survives a crash of the run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace penstock {

// What the constructor does if the file ends with an incomplete line, left by a killed process.
enum class TornLine : uint8_t {
  IsEnded,    // adds a newline: for text, of which half a line is better than none
  IsRemoved,  // removes it: for JSON, of which every line must be complete
  IsNone,     // nothing: for bytes that are no lines
};

// Every write is given to the operating system before the call returns, so it survives the end of
// the process, though not a power failure. Whatever fails throws Error(Resource) naming the file
// and the reason.
class LineFile {
 public:
  // Opens the file for appending, or makes it. What is in it stays, except as `torn` says.
  explicit LineFile(std::string path, TornLine torn = TornLine::IsEnded);
  void write_line(const std::string& line);  // appends the line and a newline
  void write(const std::string& bytes);      // appends the bytes as they are

  // Whether somebody has removed or moved the file, so that its path leads to another or none.
  [[nodiscard]] bool is_gone() const;
  void begin_anew();  // opens or makes the file at the path, as the constructor does

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }  // all lines were flushed
  };
  std::string path_;
  TornLine torn_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace penstock
