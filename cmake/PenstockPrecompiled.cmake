# Headers of others, parsed once instead of once a file. A file still includes what it uses: launch/tidy.sh reads the sources
# without any of this, and so does a build with -DPENSTOCK_PCH=OFF.
option(PENSTOCK_PCH "Precompile the headers that most files include" ON)

set(PENSTOCK_STANDARD_HEADERS
    <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory> <optional> <set> <span>
    <stdexcept> <string> <string_view> <utility> <vector>)

# penstock_precompiled_headers(NAME HEADERS <a> ... [LINKS library ...] [OPTIONS flag ...]): makes NAME, from which
# penstock_precompile() takes them. Its users compile with the same options.
function(penstock_precompiled_headers name)
  cmake_parse_arguments(P "" "" "HEADERS;LINKS;OPTIONS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "// CMake keeps precompiled headers with a target, and a target has a source.\n")
  endif()
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE penstock_options ${P_LINKS})
  target_compile_options(${name} PRIVATE ${P_OPTIONS})
  if(PENSTOCK_PCH)
    target_precompile_headers(${name} PRIVATE ${P_HEADERS})
  endif()
endfunction()

# penstock_precompile(TARGET NAME): the C++ files of TARGET find those headers ready.
function(penstock_precompile target name)
  if(PENSTOCK_PCH)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
