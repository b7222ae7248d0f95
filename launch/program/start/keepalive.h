// launch/program/start/keepalive.h -- how long mpirun needs to notice that a host is lost: Open
// MPI's daemons probe a connection only after it has been silent for a time, by default 300 s, and
// then nine times. Until then the job hangs. Pure, except parameters_here(), which reads files.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/system/comm/launcher.h"

namespace penstock {

using Parameters = std::map<std::string, std::string>;  // of Open MPI, by name

// The parameters in the text of one of Open MPI's parameter files: lines `name = value`.
[[nodiscard]] Parameters read_parameters(const std::string& text);
// The parameters that mpirun has here: those of its files, overruled by the environment, which also
// has those of its command line. Reads the user's file and the system's where Debian has it; other
// installations may have it elsewhere.
[[nodiscard]] Parameters parameters_here(const Environment& environment);

// Seconds until mpirun notices a lost host; a parameter that is missing has Open MPI 4's default.
[[nodiscard]] double seconds_to_notice(const Parameters& parameters);

// A note with the three parameters to set, where a job is on several hosts and Open MPI's mpirun
// would need more than a minute to notice that one is lost. Empty otherwise: Slurm and other
// launchers watch their hosts themselves. `library` is Session::library_version().
[[nodiscard]] std::string keepalive_note(int hosts, const std::string& started_by,
                                         const std::string& library, const Parameters& parameters);

}  // namespace penstock
