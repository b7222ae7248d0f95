# Compiles through ccache where there is one, unless a launcher was chosen: -DCMAKE_CXX_COMPILER_LAUNCHER= goes without.
# To be included before CUDA is enabled, and after C++ is.
find_program(PENSTOCK_CCACHE ccache NO_CACHE)
get_filename_component(compiler ${CMAKE_CXX_COMPILER} REALPATH)
if(NOT PENSTOCK_CCACHE OR compiler MATCHES "/ccache$" OR DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  message(STATUS "Penstock: ccache not used")
  return()
endif()

# Precompiled headers need the sloppiness.
set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
if("native" IN_LIST PENSTOCK_ARCH)
  # To ccache `native` is a word: machines that share a cache would share what was compiled for the other's processor.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null OUTPUT_VARIABLE processor ERROR_QUIET)
  string(MD5 processor "${processor}")
  string(SUBSTRING ${processor} 0 8 processor)
  list(APPEND launcher CCACHE_NAMESPACE=$ENV{CCACHE_NAMESPACE}${processor})
endif()
list(APPEND launcher ${PENSTOCK_CCACHE})

set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
if(NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER AND NOT DEFINED ENV{CMAKE_CUDA_COMPILER_LAUNCHER})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()
message(STATUS "Penstock: ccache ${PENSTOCK_CCACHE}")
