# The parts that a build may do without, each with an option AUTO (with it where its library is found), ON (required) or OFF. The rest
# of the tree asks PENSTOCK_WITH_<PART> and picks files, never #ifdef: runtime/data/parts/ has what stands for a part that is left out.
set(PENSTOCK_PARTS_BUILT)  # names, in the order of the table
set(PENSTOCK_PARTS_LEFT_OUT)

# penstock_part(PART NAME FOUND_BY DEBIAN [COMPONENTS ...]): looks for the library NAME by find_package(FOUND_BY), which may want
# components; DEBIAN is its package there.
function(penstock_part part name package debian)
  set(PENSTOCK_${part} AUTO CACHE STRING "Build with ${name}: AUTO (where it is found), ON or OFF")
  set_property(CACHE PENSTOCK_${part} PROPERTY STRINGS AUTO ON OFF)
  set(wanted ${PENSTOCK_${part}})
  if(NOT wanted MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "PENSTOCK_${part}=${wanted} is none of AUTO, ON, OFF")
  endif()
  set(built OFF)
  if(NOT wanted STREQUAL "OFF")
    find_package(${package} QUIET GLOBAL ${ARGN})
    set(built ${${package}_FOUND})
  endif()
  if(built)
    list(APPEND PENSTOCK_PARTS_BUILT ${name})
    set(PENSTOCK_PARTS_BUILT ${PENSTOCK_PARTS_BUILT} PARENT_SCOPE)
    set(PENSTOCK_WITH_${part} ON PARENT_SCOPE)
    return()
  endif()
  if(wanted STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_${part}=ON needs ${name}: install ${debian} (its name in Debian), or use -DPENSTOCK_${part}=OFF")
  endif()
  list(APPEND PENSTOCK_PARTS_LEFT_OUT ${name})
  set(PENSTOCK_PARTS_LEFT_OUT ${PENSTOCK_PARTS_LEFT_OUT} PARENT_SCOPE)
  set(PENSTOCK_WITH_${part} OFF PARENT_SCOPE)
endfunction()

# The same names stand in runtime/data/parts/part.h, for whoever asks for a part that is left out.
penstock_part(SENTENCEPIECE SentencePiece SentencePiece libsentencepiece-dev)
penstock_part(ARCHIVE libarchive LibArchive libarchive-dev)
penstock_part(JPEG libjpeg JPEG libjpeg-dev)
penstock_part(PNG libpng PNG libpng-dev)
penstock_part(PCRE2 PCRE2 PCRE2 libpcre2-dev)
penstock_part(ICU ICU ICU libicu-dev COMPONENTS uc)

if(PENSTOCK_PARTS_LEFT_OUT)
  # setup.sh shows this line, so it is one.
  list(JOIN PENSTOCK_PARTS_LEFT_OUT ", " left_out)
  message(STATUS "Penstock: built without ${left_out}: not found, or OFF (docs/install.md)")
endif()
