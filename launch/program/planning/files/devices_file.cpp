// launch/program/planning/files/devices_file.cpp -- see devices_file.h.
#include "launch/program/planning/files/devices_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernels/device_model.h"
#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/options/comma_list.h"
#include "launch/program/options/parse_bytes.h"
#include "launch/program/options/settings.h"
#include "launch/program/planning/files/file_object.h"
#include "launch/program/planning/files/profile_file.h"
#include "launch/program/start/rank_ranges.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

constexpr int64_t kMostDevicesBytes = int64_t{4} << 20;
constexpr const char* kDevicesCure =
    R"(an entry is like {"ranks": "0-3", "model": "a100", "speed": 0.5, )"
    R"("memory": "40GiB"} (docs/planning.md))";
constexpr const char* kLinkCure = R"(a link is like {"ranks": "0-3", "and": "4-7", "gb_per_s": )"
                                  R"(2.5, "latency_us": 30} (docs/planning.md))";

// The ranks that a member of an entry lists, of a job of `ranks` ranks.
std::vector<int> ranks_of(const FileObject& entry, int ranks, const char* key = "ranks") {
  const std::string text = entry.text(key);
  std::vector<int> listed;
  for (const std::string& part : split_at_commas(text)) {
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
      entry.fail(entry.named(key), fmt::format("is '{}', and lists ranks such as 0-3,8", text));
    }
    if (last >= ranks) {
      entry.fail(entry.named(key),
                 fmt::format("has rank {}, and the job has {}", last, amount_text(ranks, "rank")));
    }
    for (int rank = first; rank <= last; ++rank) listed.push_back(rank);
  }
  if (listed.empty()) entry.fail(entry.named(key), "lists no ranks");
  return listed;
}

DeviceModel model_of(const FileObject& entry, const DeviceModel& usual) {
  if (!entry.has("model")) return usual;
  const std::string name = entry.text("model");
  const std::vector<std::string> known = device_model_names();
  if (std::ranges::find(known, name) == known.end()) {
    entry.fail(entry.named("model"),
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
    entry.fail(entry.named("speed"),
               fmt::format("is {}, not between {} and {}; 1 is that of the model or profile", speed,
                           1 / kMost, kMost));
  }
  return speed;
}

int64_t memory_of(const FileObject& entry) {
  const std::string text = entry.text("memory");
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    entry.fail(entry.named("memory"), fmt::format("cannot be read: {}", error.what()));
  }
}

// A profile's path counts from the folder of the file that names it.
std::optional<Profile> profile_of(const FileObject& entry, const std::string& file,
                                  const std::string& precision) {
  const std::filesystem::path given = entry.text("profile");
  const std::string path = (std::filesystem::path(file).parent_path() / given).string();
  try {
    Profile profile = read_profile(path);
    check_precision(profile, path, precision);
    return profile;
  } catch (const Error& error) {
    entry.fail(entry.named("profile"), fmt::format("cannot be taken: {}", error.what()));
  }
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

void read_kinds(const FileObject& root, const std::string& path, int ranks, const DeviceKind& usual,
                const std::string& precision, Devices& devices) {
  devices.kinds.clear();
  devices.kind_of_rank.assign(static_cast<size_t>(ranks), -1);
  devices.basis = "unlike ranks: " + path;
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
}

// An entry of "links": which ranks it joins, and by what. Where `others` is empty, `ranks` are
// joined among themselves.
struct LinkEntry {
  std::vector<int> ranks, others;
  OwnLink own;
};

LinkEntry link_in(const FileObject& entry, int ranks) {
  entry.know({"ranks", "and", "gb_per_s", "latency_us"});
  LinkEntry link{.ranks = ranks_of(entry, ranks), .others = {}, .own = {}};
  if (entry.has("and")) link.others = ranks_of(entry, ranks, "and");
  if (link.others.empty() && link.ranks.size() < 2) {
    entry.fail(entry.place(), "joins one rank to none: list more in 'ranks', or others in 'and'");
  }
  std::vector<int> listed = link.ranks;
  listed.insert(listed.end(), link.others.begin(), link.others.end());
  std::ranges::sort(listed);
  if (const auto twice = std::ranges::adjacent_find(listed); twice != listed.end()) {
    entry.fail(entry.place(), fmt::format("has rank {} twice", *twice));
  }
  const auto up_to = [&](const char* key, double least, double most) {
    const double value = entry.number(key);
    if (value >= least && value <= most) return value;
    entry.fail(entry.named(key), fmt::format("is {}, not between {} and {}", value, least, most));
  };
  if (entry.has("gb_per_s")) link.own.seconds_per_byte = 1e-9 / up_to("gb_per_s", 1e-6, 1e6);
  if (entry.has("latency_us")) link.own.latency = 1e-6 * up_to("latency_us", 0, 1e9);
  if (!link.own.latency && !link.own.seconds_per_byte) {
    entry.fail(entry.place(), "says nothing of its links: no gb_per_s or latency_us");
  }
  return link;
}

// Puts ranks that the same entries list on the same sides into one group. Ranks that none lists are
// a group, too.
std::vector<int> groups_of(const std::vector<LinkEntry>& entries, int ranks) {
  std::vector<std::vector<int>> sides(static_cast<size_t>(ranks));
  for (int e = 0; e < std::ssize(entries); ++e) {
    const LinkEntry& entry = entries[static_cast<size_t>(e)];
    for (const int rank : entry.ranks) sides[static_cast<size_t>(rank)].push_back(2 * e);
    for (const int rank : entry.others) sides[static_cast<size_t>(rank)].push_back(2 * e + 1);
  }
  std::map<std::vector<int>, int> numbers;
  std::vector<int> group_of_rank;
  for (const std::vector<int>& side : sides) {
    const int next = static_cast<int>(std::ssize(numbers));
    group_of_rank.push_back(numbers.emplace(side, next).first->second);
  }
  return group_of_rank;
}

RankLinks read_links(const FileObject& root, int ranks) {
  const std::vector<FileObject> objects = root.objects("links");
  std::vector<LinkEntry> entries;
  entries.reserve(objects.size());
  for (const FileObject& object : objects) entries.push_back(link_in(object, ranks));
  RankLinks links{.group_of_rank = groups_of(entries, ranks), .between = {}};
  const auto groups = [&](const std::vector<int>& listed) {
    std::set<int> found;
    for (const int rank : listed) found.insert(links.group_of_rank[static_cast<size_t>(rank)]);
    return found;
  };
  std::map<std::pair<int, int>, size_t> entry_of;
  for (size_t e = 0; e < entries.size(); ++e) {
    const std::set<int> first = groups(entries[e].ranks);
    const std::set<int> second = groups(entries[e].others);
    for (const int one : first) {
      for (const int other : second.empty() ? first : second) {
        const std::pair<int, int> pair = std::minmax(one, other);
        const auto [said, is_new] = entry_of.emplace(pair, e);
        if (!is_new && said->second != e) {
          objects[e].fail(
              objects[e].place(),
              fmt::format("has links that 'links'[{}] has, too: each link stands in one entry",
                          said->second));
        }
        links.between[pair] = entries[e].own;
      }
    }
  }
  return links;
}

Devices read_devices(const std::string& path, int ranks, const DeviceKind& usual,
                     const std::string& precision, Devices devices) {
  const nlohmann::json json = read_user_json(path, kMostDevicesBytes, kDevicesCure);
  const FileObject root(path, kDevicesCure, json);
  root.know({"devices", "links"});
  if (root.has("devices") || !root.has("links")) {
    read_kinds(root, path, ranks, usual, precision, devices);
  }
  if (root.has("links")) devices.links = read_links(FileObject(path, kLinkCure, json), ranks);
  return devices;
}

std::string kind_text(const DeviceKind& kind) {
  std::string text = kind.model.name;
  if (kind.profile) text += ", measured";
  if (kind.speed != 1) text += fmt::format(" at {:g} of its speed", kind.speed);
  if (kind.memory_bytes > 0) text += ", " + bytes_text(kind.memory_bytes);
  return text;
}

// The ranks whose group, or kind, is this one.
std::vector<int> ranks_of_group(const std::vector<int>& group_of_rank, int group) {
  std::vector<int> ranks;
  for (int rank = 0; rank < std::ssize(group_of_rank); ++rank) {
    if (group_of_rank[static_cast<size_t>(rank)] == group) ranks.push_back(rank);
  }
  return ranks;
}

std::string own_link_text(const OwnLink& own) {
  if (!own.seconds_per_byte) return fmt::format("{:.4g} us", 1e6 * *own.latency);
  const std::string rate = fmt::format("{:.4g} GB/s", 1e-9 / *own.seconds_per_byte);
  return own.latency ? fmt::format("{} after {:.4g} us", rate, 1e6 * *own.latency) : rate;
}

std::string own_links_text(const RankLinks& links) {
  constexpr size_t kMostTold = 8;
  std::vector<std::string> parts;
  for (const auto& [groups, own] : links.between) {
    const std::vector<int> ranks = ranks_of_group(links.group_of_rank, groups.first);
    const std::vector<int> others = ranks_of_group(links.group_of_rank, groups.second);
    if (groups.first != groups.second) {
      parts.push_back(
          fmt::format("{} with {} {}", ranks_text(ranks), ranks_text(others), own_link_text(own)));
    } else if (ranks.size() > 1) {
      parts.push_back(fmt::format("{} among themselves {}", ranks_text(ranks), own_link_text(own)));
    }
  }
  if (parts.size() > kMostTold) {
    const size_t left_out = parts.size() - kMostTold;
    parts.resize(kMostTold);
    parts.push_back(fmt::format("and {} more", left_out));
  }
  return fmt::format("unlike links: {}", fmt::join(parts, "; "));
}

}  // namespace

Devices devices_of_run(const Config& config, int ranks, const DeviceKind& usual,
                       const std::string& profile_path) {
  const std::string& path = config.pipeline.devices;
  Devices alike =
      like_devices(usual.model, usual.profile ? &*usual.profile : nullptr, profile_path);
  if (path.empty()) return alike;
  if (path == kMeasuredDevices) {
    fail_input(
        "pipeline.devices = \"measured\" is what the ranks of a run find out when it starts, and "
        "here are none: name a file that says which rank has what (docs/planning.md), or "
        "--devices \"\"");
  }
  return read_devices(path, ranks, usual, config.run.precision, std::move(alike));
}

std::string devices_text(const Devices& devices) {
  std::vector<std::string> parts;
  const int kinds = devices.kind_of_rank.empty() ? 0 : static_cast<int>(std::ssize(devices.kinds));
  parts.reserve(static_cast<size_t>(kinds));
  for (int kind = 0; kind < kinds; ++kind) {
    parts.push_back(ranks_text(ranks_of_group(devices.kind_of_rank, kind)) + " " +
                    kind_text(devices.kinds[static_cast<size_t>(kind)]));
  }
  std::string text;
  if (!parts.empty()) text = fmt::format("devices: {}", fmt::join(parts, "; "));
  if (devices.links.empty()) return text;
  return text + (text.empty() ? "" : "\n") + own_links_text(devices.links);
}

}  // namespace penstock
