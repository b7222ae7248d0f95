// launch/program/planning/files/devices_file.h -- reads the file of pipeline.devices, which says on
// which device each rank of a job computes, where ranks are unlike.
#pragma once

#include <string>

#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/costs/devices.h"

namespace penstock {

// The devices of a job of `ranks` ranks: those of config.pipeline.devices or, where that is empty,
// all like `usual`. The document is
//   {"devices": [{"ranks": "0-3", "model": "a100", "speed": 0.5, "memory": "40GiB"},
//                {"ranks": "4,6-7", "profile": "slow.json"}, ...],
//    "links": [{"ranks": "0-3", "and": "4-7", "gb_per_s": 2.5, "latency_us": 30}, ...]}
// It may have either list alone. Every rank stands in one entry of the first. `model` is a name of
// device_model_named(), and brings its memory; `profile` a file of `penstock profile`, relative to
// the document's folder; an entry without either is like `usual`. `speed` and `memory` are those of
// DeviceKind. `profile_path`: where the profile of `usual` was read. An entry of `links` is of the
// links between each of `ranks` and each of `and`, or without that among `ranks`; each link stands
// in one entry at most. Throws Error(Input), a line with file, place and cure, for a document that
// says something else, and for kMeasuredDevices: here are no ranks that could measure.
[[nodiscard]] Devices devices_of_run(const Config& config, int ranks, const DeviceKind& usual,
                                     const std::string& profile_path);

// A line that says which ranks have what: "devices: ranks 0-3 a100; ranks 4-7 a100 at 0.5 of its
// speed, 40.0 GiB", and one that says which links are unlike. "" where all are alike.
[[nodiscard]] std::string devices_text(const Devices& devices);

}  // namespace penstock
