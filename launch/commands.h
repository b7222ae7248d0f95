// launch/commands.h -- the subcommands, one file each. They return the exit code; collective over
// the ranks of the session.
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/session.h"

namespace penstock {

using Arguments = std::vector<std::string>;

int train_command(Session& session, const Arguments& arguments);
int info_command(Session& session, const Arguments& arguments);

}  // namespace penstock
