// runtime/records/telemetry/output_file.h -- LineFile: a file of the run directory that grows line
// by line, with every write checked.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace penstock {

// What is done with an incomplete last line, which a killed process has left.
enum class TornLine : uint8_t {
  IsEnded,    // for text: half a sentence is better than none
  IsRemoved,  // for JSON: every line must parse
};

// A text file that grows by whole lines; each is handed to the system before write_line returns, so
// a run that dies leaves what it had said. What is in the file stays, but for a torn last line.
// Throws Error(Resource) naming the file and the reason.
class LineFile {
 public:
  explicit LineFile(std::string path, TornLine torn = TornLine::IsEnded);
  void write_line(const std::string& line);
  void write(const std::string& bytes);  // as they are, handed to the system before it returns

  // Whether the file was removed or moved away, so that its path leads elsewhere or nowhere.
  [[nodiscard]] bool is_gone() const;
  void begin_anew();  // opens or makes the file at the path again

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }  // all lines were flushed
  };
  std::string path_;
  TornLine torn_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace penstock
