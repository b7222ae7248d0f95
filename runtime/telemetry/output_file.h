// runtime/telemetry/output_file.h -- files of the run directory, with every write checked.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace penstock {

// A text file that grows by whole lines; each is handed to the system before write_line returns, so
// a run that dies leaves what it had said. Throws Error(Resource) naming the file and the reason.
class LineFile {
 public:
  explicit LineFile(std::string path);  // starts empty
  void write_line(const std::string& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }  // all lines were flushed
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

// The whole file or the one that was there before, never a part. Throws Error(Resource).
void replace_file(const std::string& path, const std::string& text);

}  // namespace penstock
