# Writes the header FILE with the commit of the tree SOURCE, "90511e60f1b2-dirty" where files differ from it; empty where SOURCE is no
# checkout of its own. A script that every build runs: what is written changes only with the commit.
find_program(GIT git)
set(PENSTOCK_COMMIT)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH "${SOURCE}" source)
  if(top STREQUAL source)
    execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 --match no-tag OUTPUT_VARIABLE PENSTOCK_COMMIT
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
configure_file(${SOURCE}/launch/program/commit.h.in ${FILE} @ONLY)
