// The reader of schedules written as CSV, which says in which cell it stumbled; and the writer.
#include "runtime/planning/schedule/text/csv.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

// These are the ops that a cell of the file can name. lower() inserts all others.
constexpr Op kOps[] = {Op::Forward, Op::BackwardInput, Op::BackwardWeight, Op::Backward};

constexpr const char* kExpected =
    "; a cell is an op (F, B, I or W), a stage, a dot and a micro-batch, as in F0.3";

constexpr const char* kExpectedOfPytorch =
    "; a cell as PyTorch writes it is a stage, an op (F, B, I or W) and a micro-batch, as in 0F3";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Cuts off the text before the first `separator` and returns it; if there is no separator, that is
// the whole text. The separator itself is dropped.
std::string_view cut(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return first;
}

// Returns a cell as messages quote it: short, and without anything that a terminal would obey.
std::string quoted(std::string_view cell) {
  constexpr size_t kLongest = 20;
  std::string result = "\"";
  for (const char c : cell.substr(0, kLongest)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (cell.size() > kLongest ? "...\"" : "\"");
}

// Cuts off the characters at the beginning for which `belongs` is true, and returns them.
template <typename Belongs>
std::string_view cut_while(std::string_view& text, const Belongs& belongs) {
  const size_t end = std::find_if_not(text.begin(), text.end(), belongs) - text.begin();
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(end);
  return first;
}

// This is the place of a cell; lines and cells are counted from 1.
struct Place {
  int line = 0;
  int cell = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Schedule parse() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
    while (!text_.empty()) {
      ++at_.line;
      line(trimmed(cut(text_, '\n')));
    }
    if (schedule_.program.empty()) refuse(name_ + " holds no schedule: a line per rank is needed");
    finish();
    return std::move(schedule_);
  }

 private:
  struct Stage {
    int rank = -1;
    Place first;
  };

  [[noreturn]] static void refuse(const std::string& message) {
    throw std::invalid_argument(message);
  }
  std::string here(const Place& place) const {
    return name_ + ", line " + std::to_string(place.line) + ", cell " + std::to_string(place.cell);
  }
  [[noreturn]] void refuse_cell(const std::string& message) const {
    refuse(here(at_) + ": " + message);
  }

  void line(std::string_view content) {
    if (content.starts_with('#')) return;
    if (std::all_of(content.begin(), content.end(),
                    [](char c) { return c == ',' || is_blank(c); })) {
      if (empty_line_ == 0) empty_line_ = at_.line;
      return;
    }
    if (empty_line_ != 0) {
      refuse(name_ + ", line " + std::to_string(empty_line_) +
             " is empty, but others follow; every rank has a line with instructions");
    }
    if (schedule_.program.size() == kMaxStages) {
      refuse(name_ + " has more than " + std::to_string(kMaxStages) + " lines, one per rank");
    }
    schedule_.program.emplace_back();
    for (at_.cell = 1; !content.empty(); ++at_.cell) cell(trimmed(cut(content, ',')));
  }

  void cell(std::string_view content) {
    if (content.empty()) return;
    if (content.front() == '(') return both(content);
    const Instruction instruction =
        is_digit(content.front()) ? pytorch_instruction(content) : instruction_of(content);
    place(instruction.stage);
    schedule_.micro_batches = std::max(schedule_.micro_batches, instruction.micro_batch + 1);
    schedule_.program.back().push_back(instruction);
  }

  // Reads PyTorch's "(0F3;3B1)OVERLAP_F_B", a forward and a backward that run at once there. They
  // run one after the other here.
  void both(std::string_view content) {
    std::string_view rest = content.substr(1);
    std::string_view inner = cut(rest, ')');
    if (rest != "OVERLAP_F_B" || inner.find('(') != std::string_view::npos) {
      refuse_cell(quoted(content) + " is no pair of instructions" + kExpectedOfPytorch +
                  ", and a pair is (0F3;3B1)OVERLAP_F_B");
    }
    while (!inner.empty()) cell(trimmed(cut(inner, ';')));
  }

  Instruction pytorch_instruction(std::string_view content) const {
    std::string_view rest = content;
    const std::string_view stage = cut_while(rest, is_digit);
    const std::string_view op =
        cut_while(rest, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
    const auto* const known =
        std::find_if(std::begin(kOps), std::end(kOps), [&](Op o) { return op == name_of(o); });
    if (known == std::end(kOps) && op.size() > 1) {
      refuse_cell(quoted(content) +
                  " is not for here: messages and sums are inserted later. PyTorch's "
                  "_dump_csv(file, \"compute_only\") leaves them out");
    }
    if (known == std::end(kOps)) refuse_cell(quoted(content) + " names no op" + kExpectedOfPytorch);
    return {*known, number(stage, content, "stage", kMaxStages, kExpectedOfPytorch),
            number(rest, content, "micro-batch", kMaxCells, kExpectedOfPytorch)};
  }

  Instruction instruction_of(std::string_view content) const {
    const auto* const op = std::find_if(std::begin(kOps), std::end(kOps),
                                        [&](Op o) { return content.front() == *name_of(o); });
    if (op == std::end(kOps)) {
      const bool recompute = content.front() == *name_of(Op::Recompute);
      refuse_cell(recompute ? quoted(content) + " is not for here: recomputes are inserted later"
                            : quoted(content) + " names no op" + kExpected);
    }
    std::string_view numbers = content.substr(1);
    const std::string_view stage = cut(numbers, '.');
    return {*op, number(stage, content, "stage", kMaxStages),
            number(numbers, content, "micro-batch", kMaxCells)};
  }

  int number(std::string_view digits, std::string_view content, const std::string& what, int limit,
             const char* expected = kExpected) const {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    const bool none = digits.empty() || digits.front() == '-' || end != digits.end();
    if (none) refuse_cell(quoted(content) + " names no " + what + expected);
    if (error != std::errc{} || value >= limit) {
      refuse_cell(quoted(content) + " names a " + what + " that is too large; at most " +
                  std::to_string(limit - 1) + " is possible");
    }
    return value;
  }

  // Notes that the rank of this line holds `stage`. Refuses a stage that another line has.
  void place(int stage) {
    if (stage >= static_cast<int>(stages_.size())) stages_.resize(stage + 1);
    const int rank = static_cast<int>(schedule_.program.size()) - 1;
    auto& [holder, first] = stages_[stage];
    if (holder == -1) {
      holder = rank;
      first = at_;
    }
    if (holder != rank) {
      refuse_cell("stage " + std::to_string(stage) + " is on rank " + std::to_string(rank) +
                  " here, but on rank " + std::to_string(holder) + " in line " +
                  std::to_string(first.line) + ", cell " + std::to_string(first.cell));
    }
  }

  // Works out the sizes and the placement, which follow from all cells together, and checks the
  // whole.
  void finish() {
    schedule_.ranks = static_cast<int>(schedule_.program.size());
    schedule_.stages = static_cast<int>(stages_.size());
    place_all();
    check_forwards();
    try {
      check_well_formed(schedule_);
    } catch (const std::invalid_argument& error) {
      refuse(name_ + ": " + error.what());
    }
  }

  void place_all() {
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      const int rank = stages_[stage].rank;
      if (rank == -1) {
        refuse(name_ + " has no instruction of stage " + std::to_string(stage) +
               ", but there are stages up to " + std::to_string(schedule_.stages - 1));
      }
      schedule_.rank_of_stage.push_back(rank);
    }
  }

  // Refuses a file that lacks the forward of some stage and micro-batch. The numbers of stages and
  // micro-batches are taken from the largest in the file, so one mistyped number makes the schedule
  // far larger than meant, and this finds it.
  void check_forwards() const {
    std::vector<std::pair<int, int>> there;
    for (const auto& program : schedule_.program) {
      for (const auto& [op, stage, j, peer] : program) {
        if (op == Op::Forward) there.emplace_back(stage, j);
      }
    }
    std::sort(there.begin(), there.end());
    there.erase(std::unique(there.begin(), there.end()), there.end());
    std::pair<int, int> next{0, 0};
    for (auto found = there.begin(); next.first < schedule_.stages; ++found) {
      if (found == there.end() || *found != next) {
        refuse(name_ + " has no cell " + text({Op::Forward, next.first, next.second}) +
               ", but stages up to " + std::to_string(schedule_.stages - 1) +
               " and micro-batches up to " + std::to_string(schedule_.micro_batches - 1));
      }
      const bool last = next.second + 1 == schedule_.micro_batches;
      next = last ? std::pair(next.first + 1, 0) : std::pair(next.first, next.second + 1);
    }
  }

  std::string_view text_;
  const std::string& name_;
  Place at_;
  int empty_line_ = 0;  // number of the first empty line since the last rank; 0 for none
  std::vector<Stage> stages_;
  Schedule schedule_;
};

// Returns a line per rank of what `cell` makes of its forwards and backwards.
template <typename Cell>
std::string table(const Schedule& schedule, const Cell& cell) {
  std::string csv;
  for (const auto& program : schedule.program) {
    bool first = true;
    for (const Instruction& instruction : program) {
      if (std::find(std::begin(kOps), std::end(kOps), instruction.op) == std::end(kOps)) continue;
      if (!first) csv += ',';
      first = false;
      csv += cell(instruction);
    }
    csv += '\n';
  }
  return csv;
}

}  // namespace

Schedule parse_csv(std::string_view text, const std::string& name) {
  return Parser(text, name).parse();
}

std::string to_csv(const Schedule& schedule) {
  return table(schedule, [](const Instruction& instruction) { return text(instruction); });
}

std::string to_pytorch_csv(const Schedule& schedule) {
  return table(schedule, [](const Instruction& instruction) {
    return std::to_string(instruction.stage) + name_of(instruction.op) +
           std::to_string(instruction.micro_batch);
  });
}

}  // namespace penstock
