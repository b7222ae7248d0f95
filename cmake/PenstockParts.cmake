# The parts that a build may do without, each with an option AUTO (with it where all its libraries are found), ON (required) or OFF. The
# rest of the tree asks PENSTOCK_WITH_<PART> and picks files, never #ifdef: runtime/data/parts/ has what stands for a part that is left
# out.
set(PENSTOCK_PARTS_BUILT)  # names, in the order below
set(PENSTOCK_PARTS_LEFT_OUT)

# penstock_part(PART NAME PACKAGE DEBIAN [PACKAGE DEBIAN ...]): the part NAME needs each PACKAGE, as find_package() calls it, with its
# components behind a colon; DEBIAN is the package there.
function(penstock_part part name)
  set(PENSTOCK_${part} AUTO CACHE STRING "Build with ${name}: AUTO (where the libraries are found), ON or OFF")
  set_property(CACHE PENSTOCK_${part} PROPERTY STRINGS AUTO ON OFF)
  set(wanted ${PENSTOCK_${part}})
  if(NOT wanted MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "PENSTOCK_${part}=${wanted} is none of AUTO, ON, OFF")
  endif()
  set(missing)
  set(libraries ${ARGN})
  while(libraries AND NOT wanted STREQUAL "OFF")
    list(POP_FRONT libraries package debian)
    string(REPLACE ":" ";COMPONENTS;" found_by ${package})
    find_package(${found_by} QUIET GLOBAL)
    list(GET found_by 0 package)
    if(NOT ${package}_FOUND)
      list(APPEND missing "${package} (${debian} in Debian)")
    endif()
  endwhile()
  list(JOIN missing ", " missing)
  if(wanted STREQUAL "ON" AND missing)
    message(FATAL_ERROR "PENSTOCK_${part}=ON needs ${missing}: install it, or use -DPENSTOCK_${part}=OFF")
  endif()
  if(missing OR wanted STREQUAL "OFF")
    set(PENSTOCK_WITH_${part} OFF PARENT_SCOPE)
    set(PENSTOCK_PARTS_LEFT_OUT ${PENSTOCK_PARTS_LEFT_OUT} ${name} PARENT_SCOPE)
    # setup.sh shows this line, so it is one.
    set(why "PENSTOCK_${part}=OFF")
    if(missing)
      set(why "for want of ${missing}")
    endif()
    message(STATUS "Penstock: built without ${name}: ${why} (docs/install.md)")
  else()
    set(PENSTOCK_WITH_${part} ON PARENT_SCOPE)
    set(PENSTOCK_PARTS_BUILT ${PENSTOCK_PARTS_BUILT} ${name} PARENT_SCOPE)
  endif()
endfunction()

# The same names stand in runtime/data/parts/part.h, for whoever asks for a part that is left out.
penstock_part(TOKENIZERS tokenizers SentencePiece libsentencepiece-dev PCRE2 libpcre2-dev ICU:uc libicu-dev)
penstock_part(IMAGES images LibArchive libarchive-dev JPEG libjpeg-dev PNG libpng-dev)
