// runtime/records/telemetry/formats/event_file.h -- EventFile: scalars over the steps of a run, as
// TensorBoard reads them.
//
// An event file is a sequence of TFRecords (length, its CRC-32C, bytes, their CRC-32C), each with
// an Event of tensorflow/core/util/event.proto in protocol buffers' wire format. Five of its fields
// are enough, so they are written here, without a code generator and a library that every rank
// would load. The checksum is Boost's.
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
  // Makes the file, and folders above it that are missing. Throws Error(Resource) naming the file.
  explicit EventFile(const std::string& path);

  // Says that what other files have of this step and later ones no longer counts. It comes first in
  // the file of an attempt that resumes.
  void restart(int64_t step);
  // Adds an event with the present time. Values are kept as 32-bit floats.
  void add(int64_t step, std::span<const EventScalar> scalars);

  // is_gone(): whether the file was removed or moved away. begin_anew(): makes it again at its
  // path.
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
