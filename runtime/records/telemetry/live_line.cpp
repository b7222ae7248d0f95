// runtime/records/telemetry/live_line.cpp -- see live_line.h.
#include "runtime/records/telemetry/live_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "kernels/plain_text.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

// Returns the rates at this step time, for example " | 569 samples/s | 36.4 k tokens/s", or an
// empty text if no step time is known yet.
std::string rates_text(const StepRecord& record, double average_ms, bool tokens) {
  if (!(average_ms > 0.0)) return "";
  const double per_count = 1e3 / average_ms;
  std::string text =
      fmt::format(" | {} samples/s", count_text(static_cast<double>(record.samples) * per_count));
  if (tokens) {
    text +=
        fmt::format(" | {} tokens/s", count_text(static_cast<double>(record.tokens) * per_count));
    if (record.loss_tokens < record.tokens) {
      text += fmt::format(" ({} with loss)", percent_text(static_cast<double>(record.loss_tokens) /
                                                          static_cast<double>(record.tokens)));
    }
  }
  return text;
}

// Returns how far the run is in epochs, for example " | epoch 1.25/3", or an empty text if its
// length is not given in epochs.
std::string epoch_text(const StepRecord& record) {
  if (!record.epoch) return "";
  return fmt::format(" | epoch {:.2f}/{}", record.epoch->done, record.epoch->of);
}

// Returns how uneven the load of experts is, for example " | experts 2.31 x, 3 idle", or an empty
// text if there are none.
std::string experts_text(const StepRecord& record) {
  const ExpertLoad* most = fullest(record.experts);
  if (most == nullptr) return "";
  const int64_t idle = idle_experts(record.experts);
  return fmt::format(" | experts {:.2f} x", most->largest()) +
         (idle > 0 ? fmt::format(", {} idle", idle) : "");
}

std::string bar(int64_t step, int64_t total) {
  constexpr int64_t kWidth = 16;
  const int64_t full = total > 0 ? std::clamp(step * kWidth / total, int64_t{0}, kWidth) : 0;
  return fmt::format("[{:#<{}}{:.<{}}]", "", full, "", kWidth - full);
}

int digits(int64_t number) {
  return static_cast<int>(fmt::formatted_size("{}", number));
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;  // behind mpirun's pipe the width is not known
}

// Returns whether the output is seen on a terminal. Open MPI gives every rank a pseudo-terminal,
// even if the launcher's output goes to a file. So the output of the launcher counts. On the host
// where the launcher was started, it is the parent process.
bool seen_on_a_terminal() {
  if (isatty(STDOUT_FILENO) != 1) return false;
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return true;
  std::error_code unreadable;
  const auto output = std::filesystem::read_symlink(
      fmt::format("/proc/{}/fd/{}", getppid(), STDOUT_FILENO), unreadable);
  return !unreadable &&
         (output.string().starts_with("/dev/pts/") || output.string().starts_with("/dev/tty"));
}

}  // namespace

void StepClock::add(const StepRecord& record) {
  constexpr double kMemory = 0.9;  // so about the last ten steps count
  if (!warm_) {
    warm_ = true;
  } else if (average_ms_ == 0.0) {
    average_ms_ = record.step_ms;
  } else {
    average_ms_ = kMemory * average_ms_ + (1.0 - kMemory) * record.step_ms;
  }
}

std::string step_text(const StepRecord& record, int64_t total_steps, double average_ms,
                      bool tokens) {
  std::string text = fmt::format("step {:{}}/{}{} | loss {}", record.step, digits(total_steps),
                                 total_steps, epoch_text(record), loss_text(record.loss));
  if (record.accuracy) text += " | accuracy " + percent_text(*record.accuracy);
  text += fmt::format(" | norm {:.3g} | lr {:.2e} | {}", std::abs(record.grad_norm),
                      record.learning_rate, milliseconds_text(record.step_ms));
  text += experts_text(record);
  return text + rates_text(record, average_ms, tokens);
}

std::string live_text(const StepRecord& record, int64_t total_steps, double average_ms, bool tokens,
                      int width) {
  std::string text =
      fmt::format("{} {:{}}/{}{} | loss {}", bar(record.step, total_steps), record.step,
                  digits(total_steps), total_steps, epoch_text(record), loss_text(record.loss));
  if (record.accuracy) text += " | accuracy " + percent_text(*record.accuracy);
  if (average_ms > 0.0) {
    const double left = static_cast<double>(std::max(int64_t{0}, total_steps - record.step));
    // The longest part comes last: a narrow terminal cuts the end of the line off.
    text += " | " + seconds_text(left * average_ms / 1e3) + " left";
    text += " | " + milliseconds_text(average_ms) + rates_text(record, average_ms, tokens);
  }
  return text.substr(0, static_cast<size_t>(std::max(0, width)));
}

std::string eval_text(const EvalRecord& record) {
  std::string text = fmt::format("eval at step {} | loss {}", record.step, loss_text(record.loss));
  if (record.accuracy) text += " | accuracy " + percent_text(*record.accuracy);
  return text + " | " + amount_text(record.samples, "sample") + " in " +
         seconds_text(record.seconds) + (record.best ? " | the best so far" : "");
}

Terminal::Terminal() {
  const char* wish = std::getenv("PENSTOCK_PROGRESS");
  live_ = wish != nullptr ? std::string_view(wish) == "1" : seen_on_a_terminal();
  width_ = terminal_width();
}

Terminal::~Terminal() {
  erase();
}

void Terminal::print(const std::string& lines) {
  erase();
  const std::string plain = plain_text(lines, true);
  std::fwrite(plain.data(), 1, plain.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);  // not checked: the run goes on if nobody reads its output any more
}

bool Terminal::due() const {
  return live_ && std::chrono::steady_clock::now() - last_ >= std::chrono::milliseconds(100);
}

void Terminal::show(const std::string& line) {
  fmt::print("\r\x1b[2K{}", line);
  std::fflush(stdout);
  shown_ = true;
  last_ = std::chrono::steady_clock::now();
}

void Terminal::erase() {
  if (!shown_) return;
  std::fputs("\r\x1b[2K", stdout);
  std::fflush(stdout);
  shown_ = false;
}

}  // namespace penstock
