#include "runtime/system/comm/watch/watch.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/mpi/mpi_check.h"
#include "runtime/system/comm/watch/hang_file.h"
#include "runtime/system/comm/watch/hang_report.h"
#include "runtime/system/comm/watch/shared_pages.h"
#include "runtime/system/comm/watch/silence.h"
#include "runtime/system/comm/watch/watch_mail.h"
#include "runtime/system/files/proc.h"

namespace penstock {
namespace {

constexpr const char* kWatching = "setting a watch over all ranks";
constexpr size_t kMostLines = 48;  // most lines of a report; the file has all lines
constexpr double kFirstAnswers =
    0.4;  // seconds; the next wait and a look's period added: below 1 s
constexpr double kSecondAnswers = 0.2;
// This is how long a launcher needs to notice by itself that a host is lost (mpirun:
// oob_tcp_keepalive_*), and to end the job. If the launcher is told to end the job while it
// believes that host to be alive, it writes to the host and waits until TCP gives up, which takes a
// quarter of an hour.
constexpr double kLauncherNotices = 15.0;  // seconds
constexpr double kTurn = 1.0;  // seconds that each further host waits longer: one report is enough

// Returns the time between two looks of a rank: a tenth of the limit, but at least 10 ms and at
// most a quarter of a second.
std::chrono::milliseconds look_period(std::chrono::milliseconds limit) {
  using std::chrono::milliseconds;
  return std::clamp(limit / 10, milliseconds(10), milliseconds(250));
}

CommHandle group_of_host(const Session& session, bool alone) {
  CommHandle comm;
  if (alone) {
    PENSTOCK_MPI(MPI_Comm_dup(MPI_COMM_SELF, comm.address()), kWatching);
  } else {
    PENSTOCK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, session.rank(),
                                     MPI_INFO_NULL, comm.address()),
                 kWatching);
  }
  return comm;
}

// Returns whether /proc says that the process is stopped. A process that /proc does not show counts
// as not stopped.
bool is_stopped(int process) {
  const std::vector<std::string> fields = process_fields(process);
  return !fields.empty() && (fields[kProcessState] == "T" || fields[kProcessState] == "t");
}

// Returns whether nothing is known of some rank, because its host does not answer.
bool has_silent_host(std::span<const RankView> ranks) {
  return std::any_of(ranks.begin(), ranks.end(),
                     [](const RankView& view) { return !view.is_known; });
}

}  // namespace

class Watch::Watcher {
 public:
  Watcher(const Session& session, WatchOrder order)
      : session_(session),
        order_(std::move(order)),
        period_(look_period(order_.limit)),
        host_(group_of_host(session, order_.by_mail)),
        pages_(host_.get()),
        activity_log_(page(), session.rank(), session.host()),
        silence_(static_cast<size_t>(pages_.count()), seconds(period_)),
        ticking_(static_cast<size_t>(pages_.count()), seconds(period_)) {
    find_groups();
    // All ranks of this host begin their pages before the barrier, so the threads started after it
    // find complete pages.
    PENSTOCK_MPI(MPI_Barrier(host_.get()), kWatching);
    thread_ = std::thread([this] { watch(); });
  }

  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  ActivityLog& activity_log() { return activity_log_; }

 private:
  static double seconds(std::chrono::milliseconds time) {
    return 1e-3 * static_cast<double>(time.count());
  }
  [[nodiscard]] ActivityPage& page() const { return pages_.page(pages_.own()); }

  // Finds out which ranks have their pages together (a group), and each rank's place among them.
  void find_groups() {
    struct Place {
      int group, place;
      std::array<char, 64> host;
    } mine{};
    mine.place = pages_.own();
    mine.group = session_.rank();
    PENSTOCK_MPI(MPI_Bcast(&mine.group, 1, MPI_INT, 0, host_.get()), kWatching);
    if (pages_.count() == 1) mine.group = session_.rank();
    std::copy_n(session_.host().begin(), std::min<size_t>(session_.host().size(), 63),
                mine.host.begin());
    std::vector<Place> all(static_cast<size_t>(session_.ranks()));
    PENSTOCK_MPI(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all.data(), sizeof(mine), MPI_BYTE,
                               MPI_COMM_WORLD),
                 kWatching);
    std::vector<int> groups;
    for (const Place& rank : all) {
      ranks_.push_back({rank.group, rank.place, rank.host.data()});
      groups.push_back(rank.group);
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    const auto own = std::find(groups.begin(), groups.end(), mine.group);
    turn_ = static_cast<double>(std::min<std::ptrdiff_t>(own - groups.begin(), 20));
    if (groups.size() > 1) mail_.emplace(MPI_COMM_WORLD);
    group_ = mine.group;
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, period_, [this] { return ends_; })) {
      lock.unlock();
      try {
        look_around();
      } catch (const Error&) {  // the main thread meets MPI's error, too, and can throw
      }
      lock.lock();
    }
  }

  void look_around() {
    page().tick();
    const double now = activity_clock();
    uint64_t patience = 1;
    double silent_s = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < static_cast<size_t>(pages_.count()); ++i) {
      const ActivityPage& one = pages_.page(static_cast<int>(i));
      silence_.see(i, one.beats(), now);
      ticking_.see(i, one.ticks(), now);
      patience = std::max(patience, one.patience());
      silent_s = std::min(silent_s, silence_.of(i, now));
    }
    silence_.looked(now);
    ticking_.looked(now);
    if (mail_ && mail_->answer([this](int rank) { return look(rank); })) asked_ = now;
    const double limit = seconds(order_.limit) * static_cast<double>(patience) + kTurn * turn_;
    if (silent_s <= limit || now < not_before_ || now - asked_ < kAsked) return;
    if (!pages_.claim()) return;
    try {
      judge();
    } catch (const Error&) {
      leave_to_others();
      throw;
    }
    leave_to_others();
  }

  // Lets other ranks of this host judge, since one rank judges at a time. This rank does not judge
  // again for a second.
  void leave_to_others() {
    not_before_ = activity_clock() + 1.0;
    pages_.release();
  }

  // Returns what this host knows of a rank. For a rank of another host that is only its number and
  // the name of its host.
  RankView look(int rank) {
    RankView view;
    const Rank& about = ranks_[static_cast<size_t>(rank)];
    view.activity_log.rank = rank;
    std::copy_n(about.host.begin(), about.host.size(), view.activity_log.host.begin());
    if (about.group != group_) return view;
    const auto place = static_cast<size_t>(about.place);
    const ActivityPage& one = pages_.page(about.place);
    one.read(view.activity_log);
    view.now = activity_clock();
    view.is_known = true;
    view.silence_s = silence_.of(place, view.now);
    view.patience = one.patience();
    view.is_stopped = is_stopped(view.activity_log.process);
    view.answers = !view.is_stopped && ticking_.of(place, view.now) < kGone + 10 * seconds(period_);
    return view;
  }

  std::vector<RankView> look_at_all() {
    std::map<int, RankView> views;
    std::vector<int> elsewhere;
    for (int rank = 0; rank < session_.ranks(); ++rank) {
      views[rank] = look(rank);
      if (!views[rank].is_known) elsewhere.push_back(rank);
    }
    if (mail_) {
      const auto here = [this](int rank) { return look(rank); };
      mail_->ask(elsewhere, elsewhere, kFirstAnswers, here, views);
      // Another rank of the same host may have the page of a silent rank. So the other rank is
      // asked about the silent one.
      std::vector<int> whom;
      std::vector<int> about;
      for (const int rank : elsewhere) {
        if (views[rank].is_known) continue;
        for (const int neighbour : elsewhere) {
          if (!views[neighbour].is_known || ranks_[at(neighbour)].group != ranks_[at(rank)].group) {
            continue;
          }
          whom.push_back(neighbour);
          about.push_back(rank);
          break;
        }
      }
      if (!whom.empty()) mail_->ask(whom, about, kSecondAnswers, here, views);
    }
    std::vector<RankView> all;
    all.reserve(views.size());
    for (const auto& [rank, view] : views) all.push_back(view);
    return all;
  }

  void judge() {
    const std::vector<RankView> all = look_at_all();
    uint64_t patience = 1;
    for (const RankView& view : all) patience = std::max(patience, view.patience);
    const double limit = seconds(order_.limit) * static_cast<double>(patience);
    for (const RankView& view : all) {
      if (view.is_known && view.silence_s <= limit) return;  // a rank goes on: no hang
    }
    HangReport report{.lines = hang_lines(all, kMostLines), .headline = hang_headline(all)};
    const std::string path = leave_hang_file(order_.folder, hang_json(all));
    if (!path.empty()) report.headline += "; what each rank did last is in " + path;
    report.headline += "; if a step may be silent for so long, raise run.wait_limit";
    if (order_.say) order_.say(report);
    if (!order_.by_mail && has_silent_host(all)) await_launcher();
    session_.abort(static_cast<int>(ErrorKind::Peer));
  }

  // Waits until the launcher must have noticed that a host is lost. Answers meanwhile, so that no
  // other host takes this one for the lost one.
  void await_launcher() {
    const double end = activity_clock() + kLauncherNotices;
    while (activity_clock() < end) {
      page().tick();
      try {
        if (mail_) (void)mail_->answer([this](int rank) { return look(rank); });
      } catch (const Error&) {  // MPI's error, as the job ends
        return;
      }
      std::this_thread::sleep_for(period_);
    }
  }

  static size_t at(int rank) { return static_cast<size_t>(rank); }

  struct Rank {
    int group, place;
    std::string host;
  };
  static constexpr double kGone = 0.5;    // seconds without a tick, after which a rank is gone
  static constexpr double kAsked = 20.0;  // seconds that an asked rank leaves judging to the asker

  const Session& session_;
  WatchOrder order_;
  std::chrono::milliseconds period_;
  CommHandle host_;
  SharedPages pages_;
  ActivityLog activity_log_;
  Silence silence_, ticking_;  // since a rank's last beat; since its watching thread's last tick
  std::vector<Rank> ranks_;    // all ranks of the job
  int group_ = 0;
  double turn_ = 0.0;              // this host's place among all hosts
  std::optional<WatchMail> mail_;  // null: all ranks are on one host
  double not_before_ = 0.0, asked_ = -1e9;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;
};

Watch::Watch(const Session& session, WatchOrder order)
    : watcher_(std::make_unique<Watcher>(session, std::move(order))) {}

Watch::~Watch() = default;

ActivityLog& Watch::activity_log() {
  return watcher_->activity_log();
}

}  // namespace penstock
