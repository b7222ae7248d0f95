// launch/program/planning/devices_file.cpp -- see devices_file.h.
#include "launch/program/planning/devices_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <vector>

#include "kernels/device_model.h"
#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/options/parse_bytes.h"
#include "launch/program/planning/file_object.h"
#include "launch/program/planning/profile_file.h"
#include "launch/program/start/rank_ranges.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

constexpr int64_t kMostBytes = int64_t{4} << 20;
constexpr const char* kCure = R"(an entry is like {"ranks": "0-3", "model": "a100", "speed": 0.5, )"
                              R"("memory": "40GiB"} (docs/planning.md))";

std::string named(const FileObject& entry, const char* key) {
  return fmt::format("{} '{}'", entry.place(), key);
}

// The ranks of an entry, of a job of `ranks` ranks.
std::vector<int> ranks_of(const FileObject& entry, int ranks) {
  const std::string text = entry.text("ranks");
  std::vector<int> listed;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = std::min(part.find('-'), part.size());
    const auto number = [&](size_t begin, size_t end) {
      int value = -1;
      const char* last = part.data() + end;
      const auto read = std::from_chars(part.data() + begin, last, value);
      return read.ec == std::errc() && read.ptr == last ? value : -1;
    };
    const int first = number(0, dash);
    const int last = dash == part.size() ? first : number(dash + 1, part.size());
    if (first < 0 || last < first) {
      entry.fail(named(entry, "ranks"),
                 fmt::format("is '{}', and lists ranks such as 0-3,8", text));
    }
    if (last >= ranks) {
      entry.fail(named(entry, "ranks"),
                 fmt::format("has rank {}, and the job has {}", last, amount_text(ranks, "rank")));
    }
    for (int rank = first; rank <= last; ++rank) listed.push_back(rank);
  }
  if (listed.empty()) entry.fail(named(entry, "ranks"), "lists no ranks");
  return listed;
}

DeviceModel model_of(const FileObject& entry, const DeviceModel& usual) {
  if (!entry.has("model")) return usual;
  const std::string name = entry.text("model");
  const std::vector<std::string> known = device_model_names();
  if (std::ranges::find(known, name) == known.end()) {
    entry.fail(named(entry, "model"),
               fmt::format("is '{}', none of {}{}", name, fmt::join(known, ", "),
                           did_you_mean(name, known)));
  }
  return name == usual.name ? usual : device_model_named(name, usual.threads);
}

double speed_of(const FileObject& entry) {
  constexpr double kMost = 1000;
  if (!entry.has("speed")) return 1;
  const double speed = entry.number("speed");
  if (speed < 1 / kMost || speed > kMost) {
    entry.fail(named(entry, "speed"),
               fmt::format("is {}, not between {} and {}; 1 is that of the model or profile", speed,
                           1 / kMost, kMost));
  }
  return speed;
}

int64_t memory_of(const FileObject& entry) {
  try {
    return parse_bytes(entry.text("memory"));
  } catch (const Error& error) {
    entry.fail(named(entry, "memory"), fmt::format("cannot be read: {}", error.what()));
  }
}

// A profile's path counts from the folder of the file that names it.
std::optional<Profile> profile_of(const FileObject& entry, const std::string& file,
                                  const std::string& precision) {
  const std::filesystem::path given = entry.text("profile");
  const std::string path = (std::filesystem::path(file).parent_path() / given).string();
  Profile profile = read_profile(path);
  check_precision(profile, path, precision);
  return profile;
}

DeviceKind kind_in(const FileObject& entry, const std::string& file, const std::string& precision,
                   const DeviceKind& usual) {
  entry.know({"ranks", "model", "profile", "speed", "memory"});
  const bool has_model = entry.has("model");
  if (!has_model && !entry.has("profile") && !entry.has("speed") && !entry.has("memory")) {
    entry.fail(entry.place(), "says nothing of its ranks: no model, profile, speed or memory");
  }
  DeviceKind kind{.model = model_of(entry, usual.model), .speed = speed_of(entry)};
  if (entry.has("profile")) {
    kind.profile = profile_of(entry, file, precision);
  } else if (!has_model) {
    kind.profile = usual.profile;
  }
  if (has_model && kind.model.own_memory) kind.memory_bytes = kind.model.memory_bytes;
  if (entry.has("memory")) kind.memory_bytes = memory_of(entry);
  return kind;
}

// Refuses ranks of which no entry tells.
void check_all(const FileObject& root, const std::vector<int>& kind_of_rank) {
  std::vector<int> missing;
  for (size_t rank = 0; rank < kind_of_rank.size(); ++rank) {
    if (kind_of_rank[rank] < 0) missing.push_back(static_cast<int>(rank));
  }
  if (missing.empty()) return;
  root.fail("'devices'",
            fmt::format("has no entry for {} of {}", ranks_text(missing), kind_of_rank.size()));
}

// Makes the kind of rank 0 the first.
void begin_with_first_rank(Devices& devices) {
  const int first = devices.kind_of_rank.front();
  std::swap(devices.kinds.front(), devices.kinds[static_cast<size_t>(first)]);
  for (int& kind : devices.kind_of_rank) {
    if (kind == 0 || kind == first) kind = first - kind;
  }
}

Devices read_devices(const std::string& path, int ranks, const DeviceKind& usual,
                     const std::string& precision) {
  const nlohmann::json json = read_user_json(path, kMostBytes, kCure);
  const FileObject root(path, kCure, json);
  root.know({"devices"});
  Devices devices{.kind_of_rank = std::vector<int>(static_cast<size_t>(ranks), -1),
                  .basis = "unlike ranks: " + path};
  for (const FileObject& entry : root.objects("devices")) {
    devices.kinds.push_back(kind_in(entry, path, precision, usual));
    const int number = static_cast<int>(std::ssize(devices.kinds)) - 1;
    for (const int rank : ranks_of(entry, ranks)) {
      int& kind = devices.kind_of_rank[static_cast<size_t>(rank)];
      if (kind >= 0) {
        entry.fail(entry.place(),
                   kind == number
                       ? fmt::format("has rank {} twice", rank)
                       : fmt::format("has rank {}, which 'devices'[{}] has, too", rank, kind));
      }
      kind = number;
    }
    if (devices.kinds.back().model.own_memory != devices.kinds.front().model.own_memory) {
      entry.fail(entry.place(),
                 fmt::format("is for {}, and 'devices'[0] for {}: CPUs and "
                             "accelerators in one job are not reckoned with",
                             devices.kinds.back().model.name, devices.kinds.front().model.name));
    }
  }
  check_all(root, devices.kind_of_rank);
  begin_with_first_rank(devices);
  return devices;
}

std::string kind_text(const DeviceKind& kind) {
  std::string text = kind.model.name;
  if (kind.profile) text += ", measured";
  if (kind.speed != 1) text += fmt::format(" at {:g} of its speed", kind.speed);
  if (kind.memory_bytes > 0) text += ", " + bytes_text(kind.memory_bytes);
  return text;
}

}  // namespace

Devices devices_of_run(const Config& config, int ranks, const DeviceKind& usual,
                       const std::string& profile_path) {
  const std::string& path = config.pipeline.devices;
  if (!path.empty()) return read_devices(path, ranks, usual, config.run.precision);
  return like_devices(usual.model, usual.profile ? &*usual.profile : nullptr, profile_path);
}

std::string devices_text(const Devices& devices) {
  if (devices.kind_of_rank.empty()) return "";
  std::vector<std::string> parts;
  for (int kind = 0; kind < std::ssize(devices.kinds); ++kind) {
    std::vector<int> ranks;
    for (int rank = 0; rank < std::ssize(devices.kind_of_rank); ++rank) {
      if (devices.kind_of_rank[static_cast<size_t>(rank)] == kind) ranks.push_back(rank);
    }
    parts.push_back(ranks_text(ranks) + " " + kind_text(devices.kinds[static_cast<size_t>(kind)]));
  }
  return fmt::format("devices: {}", fmt::join(parts, "; "));
}

}  // namespace penstock
