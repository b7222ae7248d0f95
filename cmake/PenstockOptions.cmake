# penstock_headers is what every user of a room needs, outside this tree too. penstock_options is what every room compiles with:
# warnings, CPU, sanitizers. And penstock_room(), which declares a room.
include(GNUInstallDirs)
add_library(penstock_headers INTERFACE)
target_compile_features(penstock_headers INTERFACE cxx_std_20)
target_include_directories(penstock_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/penstock>)
set_property(GLOBAL PROPERTY PENSTOCK_ROOMS penstock_headers)

add_library(penstock_options INTERFACE)
target_link_libraries(penstock_options INTERFACE penstock_headers)
target_compile_options(
  penstock_options
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
            $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PENSTOCK_WERROR}>>:-Werror>
            # GCC 12 sees overlaps in "text" + std::to_string(n), and reads beyond the end in find(), that are not there (GCC bug 105651).
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overread>
            # GCC 12.2 for CPUs with AVX-512 makes {1, 1, 1, 1} of std::vector<size_t>{1, 1, 0, 0}; our loops are vectorised elsewhere.
            $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-tree-slp-vectorize>
            # Floating point keeps IEEE meaning (NaN checks, fixed order of sums); only traps and errno are given up.
            $<$<COMPILE_LANGUAGE:CXX>:-march=$<IF:$<BOOL:$<TARGET_PROPERTY:PENSTOCK_LEVEL>>,$<TARGET_PROPERTY:PENSTOCK_LEVEL>,${PENSTOCK_FIRST_LEVEL}>
            -fno-math-errno -fno-trapping-math>
            # GCC collects its garbage from 128 MB on, again and again: from 400 MB on it takes a fourteenth less time, and a sixth more memory.
            $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:--param=ggc-min-heapsize=400000>)
target_compile_options(
  penstock_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra --expt-relaxed-constexpr>
                             $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${PENSTOCK_WERROR}>>:-Werror=all-warnings -Xcompiler=-Werror>)
# By which ranks are known to run the same build (launch/program/start/build_id.h); not every compiler asks for it by itself.
target_link_options(penstock_options INTERFACE LINKER:--build-id)
if(PENSTOCK_SANITIZE)
  # The code of tests (targets with the property PENSTOCK_TEST_CODE) is not what is looked at: without the checks of undefined
  # behaviour it compiles in half the time. Without the check of null pointers, at which the program stops anyway, the rest takes a
  # seventh less. The check of alignment takes a quarter, and finds nothing in rooms that take no bytes for numbers in place, as those
  # with loops over data do (the others have the property PENSTOCK_GLUE).
  target_compile_options(penstock_options INTERFACE -fsanitize=${PENSTOCK_SANITIZE} -fno-sanitize-recover=all -fno-sanitize=null
                                                       $<$<BOOL:$<TARGET_PROPERTY:PENSTOCK_TEST_CODE>>:-fno-sanitize=undefined>
                                                       $<$<BOOL:$<TARGET_PROPERTY:PENSTOCK_GLUE>>:-fno-sanitize=alignment>
                                                       -fno-omit-frame-pointer -Wno-error) # of what GCC 12 sees in its own checks
  target_link_options(penstock_options INTERFACE -fsanitize=${PENSTOCK_SANITIZE})
endif()

# Most of the time to build goes into code that runs for microseconds a step: it gets -O2, rooms with loops over data -O3, and rooms
# whose code runs once a run -O1, with which it compiles in two thirds of the time.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
set(PENSTOCK_LOOP_OPTIONS $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O3>)
# GCC takes registers of 256 bits on processors with AVX-512 unless told otherwise; so do clang and its kin.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND PENSTOCK_LOOP_OPTIONS $<$<COMPILE_LANGUAGE:CXX>:-mprefer-vector-width=512>)
endif()
set(PENSTOCK_GLUE_OPTIONS)
set(PENSTOCK_ONCE_OPTIONS $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
if(PENSTOCK_SANITIZE)
  set(PENSTOCK_GLUE_OPTIONS $<$<COMPILE_LANGUAGE:CXX>:-O0>) # where every access is checked, optimising takes a third of the time
  set(PENSTOCK_ONCE_OPTIONS ${PENSTOCK_GLUE_OPTIONS})
endif()
penstock_precompiled_headers(penstock_standard_headers HEADERS ${PENSTOCK_STANDARD_HEADERS} OPTIONS ${PENSTOCK_GLUE_OPTIONS})
penstock_precompiled_headers(penstock_once_headers HEADERS ${PENSTOCK_STANDARD_HEADERS} OPTIONS ${PENSTOCK_ONCE_OPTIONS})
set_target_properties(penstock_standard_headers penstock_once_headers PROPERTIES PENSTOCK_GLUE ON)
penstock_precompiled_headers(penstock_loop_headers HEADERS ${PENSTOCK_STANDARD_HEADERS} OPTIONS ${PENSTOCK_LOOP_OPTIONS})

# Most of what a compiler reads is the same headers again: PENSTOCK_UNITY gives it several files of a room at a time, which takes
# an eighth of the time that they take one by one. Each still includes what it uses: launch/tidy.sh compiles each alone.
option(PENSTOCK_UNITY "Compile the files of a room together" ON)
# penstock_together(TARGET): its C++ files, but those with options of their own, are compiled together.
function(penstock_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PENSTOCK_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# penstock_room(NAME [LOOPS | ONCE] [SHARED] SOURCES a.cpp ... LINKS room ...): the library penstock_NAME. What it may include is
# what it links. LOOPS: its time goes into loops over data. ONCE: its code runs once a run, or for a line that somebody reads.
# SHARED: it is a shared library, not a static one.
function(penstock_room name)
  cmake_parse_arguments(ROOM "LOOPS;ONCE;SHARED" "" "SOURCES;LINKS" ${ARGN})
  set(type STATIC)
  if(ROOM_SHARED)
    set(type SHARED)
  endif()
  add_library(penstock_${name} ${type} ${ROOM_SOURCES})
  target_link_libraries(penstock_${name} PUBLIC penstock_headers $<BUILD_INTERFACE:penstock_options> ${ROOM_LINKS})
  set_property(GLOBAL APPEND PROPERTY PENSTOCK_ROOMS penstock_${name})
  if(ROOM_LOOPS)
    set(options ${PENSTOCK_LOOP_OPTIONS})
    set(headers penstock_loop_headers)
  elseif(ROOM_ONCE)
    set(options ${PENSTOCK_ONCE_OPTIONS})
    set(headers penstock_once_headers)
  else()
    set(options ${PENSTOCK_GLUE_OPTIONS})
    set(headers penstock_standard_headers)
  endif()
  target_compile_options(penstock_${name} PRIVATE ${options})
  penstock_precompile(penstock_${name} ${headers})
  if(NOT ROOM_LOOPS)
    set_target_properties(penstock_${name} PROPERTIES PENSTOCK_GLUE ON)
  endif()
  set_target_properties(penstock_${name} PROPERTIES PENSTOCK_WING "${PENSTOCK_WING}")
  penstock_together(penstock_${name})
endfunction()

# penstock_openmp(FILE.cpp ...): sources of this directory's room with `#pragma omp`. Only they are compiled with OpenMP, which
# precompiled headers would have to agree on.
function(penstock_openmp)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${OpenMP_CXX_FLAGS}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Backends are linked into programs, not into rooms, so that a test can put others in their place.
# penstock_without_gpu(TARGET): a program that computes on the CPU; it starts without loading CUDA's libraries.
function(penstock_without_gpu target)
  target_link_libraries(${target} PRIVATE penstock_no_cuda penstock_no_cuda_comm)
endfunction()

# penstock_with_gpu(TARGET): a program with the CUDA backend. Needs PENSTOCK_CUDA_TOOLKIT.
function(penstock_with_gpu target)
  target_link_libraries(${target} PRIVATE penstock_cuda penstock_cuda_calls penstock_comm_cuda penstock_comm_cuda_calls)
endfunction()

# penstock_accelerated(TARGET): a program with the backends that were configured.
function(penstock_accelerated target)
  if(PENSTOCK_WITH_CUDA)
    penstock_with_gpu(${target})
  else()
    penstock_without_gpu(${target})
  endif()
endfunction()
