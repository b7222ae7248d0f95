# One program that is fast on several kinds of processor. Where PENSTOCK_ARCH is a list, such as x86-64-v3;x86-64-v4, everything is
# compiled for its first entry, the oldest processor that shall run the program. Of the room `kernels`, which has the loops over data
# and includes nothing else of ours, a shared library is made for each entry: the first in the folder of libraries, each further one
# in glibc-hwcaps/<entry>/ below it, where the loader of glibc 2.33 or later looks first if the processor can run it. No code of ours
# chooses; an older glibc, or another C library, takes the first.
list(LENGTH PENSTOCK_ARCH length)
if(length EQUAL 0)
  message(FATAL_ERROR "PENSTOCK_ARCH names no processor: it is native, or a value of -march such as x86-64-v3, or a list of those")
endif()
set(PENSTOCK_FURTHER_LEVELS ${PENSTOCK_ARCH})
list(POP_FRONT PENSTOCK_FURTHER_LEVELS PENSTOCK_FIRST_LEVEL)

set(before ${PENSTOCK_FIRST_LEVEL})
foreach(level ${PENSTOCK_FURTHER_LEVELS})
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64"
     OR NOT level MATCHES "^x86-64-v[234]$"
     OR before STREQUAL "native"
     OR (before MATCHES "^x86-64" AND NOT before STRLESS level))
    message(FATAL_ERROR "PENSTOCK_ARCH=${PENSTOCK_ARCH}: behind the oldest processor may stand, in ascending order, the levels that glibc's "
                        "loader knows, x86-64-v2, x86-64-v3 and x86-64-v4; other kinds of processor have none")
  endif()
  set(before ${level})
endforeach()

# penstock_level(TARGET LEVEL): a shared library of kernels for that level (PENSTOCK_LEVEL: in place of PENSTOCK_ARCH's first entry).
#
# Each level's library has the inline functions and templates of the headers once more, compiled for that level. Of those the program
# must never call what a better processor was meant for, nor the library what the program was compiled for, which would be slower.
# The first holds for two reasons: one library is loaded, that which this processor can run; and where the program uses such a function
# it has one of its own, which the loader takes before a library's. For the second, inline functions are hidden, the library's calls
# of its own functions are bound when it is linked, and the compiler may inline them as it does in a static library. Static variables
# of inline functions are common to both all the same.
function(penstock_level target level)
  set_target_properties(${target} PROPERTIES PENSTOCK_LEVEL ${level} VISIBILITY_INLINES_HIDDEN ON)
  target_compile_definitions(${target} PRIVATE "PENSTOCK_KERNELS_LEVEL=\"${level}\"")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
  target_link_options(${target} PRIVATE LINKER:-Bsymbolic-functions)
endfunction()

# penstock_levels(TARGET LEVEL FURTHER-LEVEL...): TARGET, a shared library that has all its properties, is that for LEVEL; for each
# further one the same is made where the loader looks for it.
function(penstock_levels target first)
  set(folder ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/glibc-hwcaps)
  foreach(level ${ARGN})
    set(other ${target}_${level})
    get_target_property(sources ${target} SOURCES)
    add_library(${other} SHARED ${sources})
    foreach(property LINK_LIBRARIES COMPILE_OPTIONS UNITY_BUILD UNITY_BUILD_BATCH_SIZE DISABLE_PRECOMPILE_HEADERS)
      get_target_property(value ${target} ${property})
      if(value)
        set_target_properties(${other} PROPERTIES ${property} "${value}")
      endif()
    endforeach()
    set_target_properties(${other} PROPERTIES OUTPUT_NAME ${target} LIBRARY_OUTPUT_DIRECTORY ${folder}/${level})
    penstock_level(${other} ${level})
    add_dependencies(${target} ${other}) # whoever is built with one can be run with each
  endforeach()
  # What an earlier configuration left for another level would be taken before what is built now.
  file(GLOB left RELATIVE ${folder} ${folder}/*/lib${target}.so)
  foreach(file ${left})
    get_filename_component(level ${file} DIRECTORY)
    if(NOT level IN_LIST ARGN)
      file(REMOVE ${folder}/${file})
    endif()
  endforeach()
  penstock_level(${target} ${first})
endfunction()
