// launch/program/start/meeting.cpp -- see meeting.h.
#include "launch/program/start/meeting.h"

#include <cstdlib>

#include "launch/program/failure.h"
#include "launch/program/start/keepalive.h"
#include "launch/program/start/start_facts.h"

namespace penstock {

std::vector<std::string> meet(Collective& world, const Session& session) {
  if (session.ranks() == 1) return {};
  std::vector<StartFacts> ranks;
  for (const std::string& text : world.gather_text(text_of(own_start_facts(session)))) {
    ranks.push_back(parse_start_facts(text));
  }
  (void)on_first_rank(world, [&]() -> std::string {
    const std::string complaint = mismatch_of_starts(ranks);
    if (!complaint.empty()) fail_input(complaint);
    return "";
  });
  if (session.rank() != 0) return {};
  return {conditions_note(ranks),
          keepalive_note(count_hosts(ranks), session.started_by(), Session::library_version(),
                         parameters_here(std::getenv))};
}

}  // namespace penstock
