// runtime/records/telemetry/formats/event_file.h -- EventFile: writes numbers such as the loss of
// each step to a file that TensorBoard reads.
//
// The format: a sequence of records, each with its length, the CRC-32C of the length, the bytes of
// an event, and their CRC-32C (TFRecord). An event is a message of tensorflow/core/util/event.proto
// in the wire format of protocol buffers. Only five of its fields are needed, so they are encoded
// here without a protobuf library.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/records/telemetry/output_file.h"

namespace penstock {

struct EventScalar {
  std::string tag;  // the name of the curve: "train/loss"
  double value = 0;
};

class EventFile {
 public:
  // Makes the file, and missing folders above it. Throws Error(Resource) naming the file.
  explicit EventFile(const std::string& path);

  // For an attempt (a start of the run) that resumes, before it adds its first step: tells
  // TensorBoard to ignore what the files of earlier attempts have of `step` and later steps.
  void restart(int64_t step);
  // Adds the values of one step, with the current time. Values are stored as 32-bit floats.
  void add(int64_t step, std::span<const EventScalar> scalars);

  // Whether somebody has removed or moved the file.
  [[nodiscard]] bool is_gone() const { return file_.is_gone(); }
  // Makes the file again at its path, without the earlier events.
  void begin_anew();

 private:
  void write_version();                  // the event with which every file must begin
  void write(const std::string& event);  // appends an encoded event as a record

  std::string path_;
  LineFile file_;
};

// The path of the file of one attempt:
// DIRECTORY/tensorboard/events.out.tfevents.0000000001.penstock for attempt 1. TensorBoard reads
// such files in the order of their names, which is that of attempts.
[[nodiscard]] std::string event_file_path(const std::string& directory, int64_t attempt);

}  // namespace penstock
