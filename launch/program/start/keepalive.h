// launch/program/start/keepalive.h -- works out how long mpirun will need to notice that a host of
// the job is lost, and advises settings where that is long.
//
// Open MPI's daemons on the hosts are connected by TCP. A connection is probed only when it has
// been silent for a while, 300 s by default, and then nine times; until then a job hangs that has
// lost a host. Pure, except parameters_here(), which reads files.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/system/comm/launcher.h"

namespace penstock {

using Parameters = std::map<std::string, std::string>;  // Open MPI's (MCA) parameters, by name

// The parameters in the text of one of Open MPI's parameter files, whose lines are `name = value`.
[[nodiscard]] Parameters read_parameters(const std::string& text);
// The parameters that mpirun has here: those of the system's file (where Debian has it) and the
// user's, overruled by the environment, in which mpirun also passes on its command line.
[[nodiscard]] Parameters parameters_here(const Environment& environment);

// How many seconds pass until mpirun notices a lost host. A parameter that is missing has the
// default of Open MPI 4.
[[nodiscard]] double seconds_to_notice(const Parameters& parameters);

// A note with three parameters to set, where a job on several hosts was started by the mpirun of
// Open MPI 3 or 4 and that needs more than a minute to notice a lost host. Empty otherwise; Slurm
// and other launchers watch their hosts themselves. `started_by` is Session::started_by(),
// `library` is Session::library_version().
[[nodiscard]] std::string keepalive_note(int hosts, const std::string& started_by,
                                         const std::string& library, const Parameters& parameters);

}  // namespace penstock
