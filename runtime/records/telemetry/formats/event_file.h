// runtime/records/telemetry/formats/event_file.h -- scalars over the steps of a run, as TensorBoard
// reads them.
//
// An event file is a row of TFRecords (length, its CRC-32C, bytes, their CRC-32C), each of which is
// an Event of tensorflow/core/util/event.proto in protocol buffers' wire format. Of that it takes
// five fields, so they are written here: a code generator and a library for every rank to load
// would be more to build with than this is to read. The checksum is Boost's.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/records/telemetry/output_file.h"

namespace penstock {

struct EventScalar {
  std::string tag;  // "train/loss"
  double value = 0;
};

class EventFile {
 public:
  // Makes the file and what leads to it. Throws Error(Resource) naming the file.
  explicit EventFile(const std::string& path);

  // Says that what other files have of this step and later ones is no longer true: first thing in
  // the file of a run that goes on.
  void restart(int64_t step);
  // Adds an event with the time of now. Values are kept as 32-bit floats.
  void add(int64_t step, std::span<const EventScalar> scalars);

  // Both act as those of LineFile.
  [[nodiscard]] bool is_gone() const { return file_.is_gone(); }
  void begin_anew();

 private:
  void write_version();
  void write(const std::string& event);

  std::string path_;
  LineFile file_;
};

// The file of an attempt: DIRECTORY/tensorboard/events.out.tfevents.0000000001.penstock, in the
// order of attempts by name, as TensorBoard takes them.
[[nodiscard]] std::string event_file_path(const std::string& directory, int64_t attempt);

}  // namespace penstock
