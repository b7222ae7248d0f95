#include "runtime/schedule/window.h"

#include <algorithm>
#include <unordered_map>

namespace penstock {
namespace {

// All programs side by side, each as far as it gets.
class WindowedRun {
 public:
  WindowedRun(const Schedule& schedule, int window)
      : schedule_(schedule), window_(window), next_(static_cast<size_t>(schedule.ranks), 0) {}

  bool reaches_the_end() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t rank = 0; rank < next_.size(); ++rank) moved = advance(rank) || moved;
    }
    for (size_t rank = 0; rank < next_.size(); ++rank) {
      if (next_[rank] < schedule_.program[rank].size()) return false;
    }
    return true;
  }

 private:
  struct Traffic {
    int sent = 0, received = 0;
  };

  bool advance(size_t rank) {
    const auto& program = schedule_.program[rank];
    const size_t first = next_[rank];
    while (next_[rank] < program.size() && run(program[next_[rank]])) ++next_[rank];
    return next_[rank] > first;
  }

  // False: must wait.
  bool run(const Instruction& instruction) {
    switch (instruction.op) {
      case Op::SendActivation:
      case Op::SendGradient: {
        Traffic& edge = traffic(instruction.stage, instruction.peer);
        if (edge.sent - window_ >= edge.received) return false;
        ++edge.sent;
        return true;
      }
      case Op::RecvActivation:
      case Op::RecvGradient: {
        Traffic& edge = traffic(instruction.peer, instruction.stage);
        if (edge.sent == edge.received) return false;
        ++edge.received;
        return true;
      }
      default:
        return true;
    }
  }

  Traffic& traffic(int from, int to) { return traffic_[int64_t{from} * schedule_.stages + to]; }

  const Schedule& schedule_;
  int window_;
  std::vector<size_t> next_;                      // by rank
  std::unordered_map<int64_t, Traffic> traffic_;  // by from * stages + to
};

}  // namespace

int message_window(const Schedule& lowered, int least) {
  int window = least;
  while (window < lowered.micro_batches && !WindowedRun(lowered, window).reaches_the_end()) {
    ++window;
  }
  return window;
}

}  // namespace penstock
