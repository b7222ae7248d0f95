#include "runtime/system/comm/watch/hang_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

std::string seconds_text_of(double seconds) {
  return seconds < 10.0 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

size_t open_lines(const ActivityData& activity_log) {
  return std::min(static_cast<size_t>(std::max<int64_t>(activity_log.depth, 0)),
                  ActivityData::kOpen);
}

std::string name_in(const ActivityData& activity_log, const ActivityRecord& line) {
  if (line.name < 0 || line.name >= static_cast<int32_t>(ActivityData::kNames))
    return "another rank";
  const auto& text = activity_log.names[static_cast<size_t>(line.name)];
  return {text.data(), strnlen(text.data(), text.size())};
}

// Returns a call as name(stage, micro-batch), for example "Backward(4, 6)". Numbers that do not
// apply are left out.
std::string call_text(const ActivityRecord& line) {
  std::string text = name_of(line.activity);
  if (line.stage < 0) return text;
  text += fmt::format("({}", line.stage);
  if (line.micro_batch >= 0) text += fmt::format(", {}", line.micro_batch);
  return text + ")";
}

bool receives(const ActivityRecord& line) {
  return line.activity == Activity::RecvActivation || line.activity == Activity::RecvGradient;
}

// Returns words for the activity that a rank is in. They do not say what the rank waits for in it.
std::string doing_text(const ActivityRecord& line) {
  switch (line.activity) {
    case Activity::Data:
      return "waits for the samples of its step";
    case Activity::Evaluation:
      return "is in an evaluation";
    case Activity::Checkpoint:
      return "is in a checkpoint";
    case Activity::Diagnosis:
      return "is looking for what is not finite";
    case Activity::Input:
      return "waits for its standard input";
    default:
      return "is in " + call_text(line);
  }
}

// `doing` is what a rank is in (an instruction, or work between steps), and `wait` is what the rank
// waits for in that. A pointer is null if there is nothing of the kind.
struct Place {
  const ActivityRecord* doing = nullptr;
  const ActivityRecord* wait = nullptr;
};

Place place_in(const ActivityData& activity_log) {
  Place place;
  if (activity_log.device_is_busy != 0) place.doing = &activity_log.device;
  for (size_t i = 0; i < open_lines(activity_log); ++i) {
    const ActivityRecord& line = activity_log.open[i];
    (line.activity == Activity::Wait ? place.wait : place.doing) = &line;
    if (line.activity != Activity::Wait) place.wait = nullptr;
  }
  return place;
}

// Returns whether the rank waits for another rank, and not only for its own device or data.
bool waits(const RankView& view) {
  const Place place = place_in(view.activity_log);
  if (place.doing != nullptr && receives(*place.doing)) return true;
  if (place.wait == nullptr) return false;
  const bool for_device = name_in(view.activity_log, *place.wait).find("GPU") != std::string::npos;
  return !for_device || view.activity_log.detail[0] != '\0';
}

std::string what_it_is_in(const RankView& view) {
  const auto [doing, wait] = place_in(view.activity_log);
  const auto since = [&](const ActivityRecord& line) {
    return seconds_text_of(std::max(view.now - line.begin, 0.0));
  };
  if (doing != nullptr && receives(*doing)) {
    return fmt::format("waits for the {} of stage {}, micro-batch {}, from rank {} ({})",
                       doing->activity == Activity::RecvGradient ? "gradient" : "activation",
                       doing->of_stage, doing->micro_batch, doing->peer, since(*doing));
  }
  if (wait != nullptr) {
    constexpr std::string_view kWaiting = "waiting for ";
    std::string what = name_in(view.activity_log, *wait);
    if (what.starts_with(kWaiting)) what.erase(0, kWaiting.size());
    what += fmt::format(" ({})", since(*wait));
    if (view.activity_log.detail[0] != '\0')
      what += fmt::format("; {}", view.activity_log.detail.data());
    if (doing == nullptr) return "waits for: " + what;
    return doing_text(*doing) + " and waits for: " + what;
  }
  if (doing != nullptr) return fmt::format("{} for {}", doing_text(*doing), since(*doing));
  const std::string last =
      view.activity_log.written == 0 ? "before its first instruction" : "between instructions";
  return fmt::format("is {} for {}", last, seconds_text_of(view.silence_s));
}

// Returns the place of a rank in the order of blame: 0 if it does not answer, 1 if it waits for
// nobody, 2 if it waits for another rank.
constexpr int kWaits = 2;
int suspicion(const RankView& view) {
  if (!view.is_known || !view.answers) return 0;
  return waits(view) ? kWaits : 1;
}

std::vector<const RankView*> by_suspicion(std::span<const RankView> ranks) {
  std::vector<const RankView*> sorted;
  for (const RankView& view : ranks) sorted.push_back(&view);
  std::stable_sort(sorted.begin(), sorted.end(), [](const RankView* a, const RankView* b) {
    return suspicion(*a) < suspicion(*b);
  });
  return sorted;
}

std::string subject(const RankView& view) {
  return fmt::format("rank {} (host {}) ", view.activity_log.rank, view.activity_log.host.data());
}

int64_t step_of(const RankView& view) {
  int64_t step = view.activity_log.device_is_busy != 0 ? view.activity_log.device.step : 0;
  for (size_t i = 0; i < open_lines(view.activity_log); ++i)
    step = std::max(step, view.activity_log.open[i].step);
  return step;
}

Json line_json(const ActivityData& activity_log, const ActivityRecord& line, double now) {
  Json json = {{"what", name_of(line.activity)}};
  if (line.activity == Activity::Wait) json["for"] = name_in(activity_log, line);
  if (line.step > 0) json["step"] = line.step;
  if (line.stage >= 0) json["stage"] = line.stage;
  if (line.micro_batch >= 0) json["micro_batch"] = line.micro_batch;
  if (line.of_stage >= 0) json["of_stage"] = line.of_stage;
  if (line.peer >= 0) json["peer"] = line.peer;
  json["began_s_ago"] = now - line.begin;
  if (line.end > 0.0) json["took_s"] = line.end - line.begin;
  return json;
}

Json rank_json_of(const RankView& view) {
  const ActivityData& activity_log = view.activity_log;
  Json json = {
      {"rank", activity_log.rank}, {"host", activity_log.host.data()}, {"answers", view.answers}};
  if (!view.is_known) return json;
  json["process"] = activity_log.process;
  json["stopped"] = view.is_stopped;
  json["silent_s"] = view.silence_s;
  json["says"] = sentence_about(view);
  if (activity_log.device_is_busy != 0)
    json["device"] = line_json(activity_log, activity_log.device, view.now);
  json["now"] = Json::array();
  for (size_t i = 0; i < open_lines(activity_log); ++i) {
    json["now"].push_back(line_json(activity_log, activity_log.open[i], view.now));
  }
  json["before"] = Json::array();
  const auto kept = static_cast<int64_t>(ActivityData::kLines);
  for (int64_t i = std::max<int64_t>(activity_log.written - kept, 0); i < activity_log.written;
       ++i) {
    json["before"].push_back(
        line_json(activity_log, activity_log.lines[static_cast<size_t>(i % kept)], view.now));
  }
  return json;
}

}  // namespace

std::string sentence_about(const RankView& view) {
  if (!view.is_known) return "does not answer";
  if (view.answers) return what_it_is_in(view);
  return std::string(view.is_stopped ? "is stopped by a signal" : "does not answer") + "; it " +
         what_it_is_in(view);
}

std::vector<std::string> hang_lines(std::span<const RankView> ranks, size_t most) {
  std::vector<std::string> lines;
  for (const RankView* view : by_suspicion(ranks)) {
    if (lines.size() == most) {
      lines.push_back(fmt::format("... and {} more ranks", ranks.size() - most));
      break;
    }
    lines.push_back(subject(*view) + sentence_about(*view));
  }
  return lines;
}

std::string hang_headline(std::span<const RankView> ranks) {
  constexpr std::ptrdiff_t kNamed = 3;
  double silence_s = 0.0;
  int64_t step = 0;
  bool any = false;
  for (const RankView& view : ranks) {
    if (!view.answers) continue;
    silence_s = any ? std::min(silence_s, view.silence_s) : view.silence_s;
    any = true;
    step = std::max(step, step_of(view));
  }
  std::string line = "nothing has moved for " + seconds_text_of(silence_s);
  if (step > 0) line += fmt::format(" in step {}", step);
  const std::vector<const RankView*> sorted = by_suspicion(ranks);
  const int worst = suspicion(*sorted.front());
  if (worst == kWaits) return line + ": all ranks wait for one another";
  const std::ptrdiff_t guilty =
      std::count_if(sorted.begin(), sorted.end(),
                    [&](const RankView* view) { return suspicion(*view) == worst; });
  for (std::ptrdiff_t i = 0; i < std::min(guilty, kNamed); ++i) {
    const RankView& view = *sorted[static_cast<size_t>(i)];
    line += (i == 0 ? ": " : "; ") + subject(view) + sentence_about(view);
  }
  if (guilty > kNamed) line += fmt::format("; and {} more", guilty - kNamed);
  return line;
}

std::string hang_json(std::span<const RankView> ranks) {
  Json json = {{"headline", hang_headline(ranks)}, {"ranks", Json::array()}};
  for (const RankView& view : ranks) json["ranks"].push_back(rank_json_of(view));
  return shown_json(json, 1) + "\n";
}

}  // namespace penstock
