# Decides once whether programs have the CUDA backend (PENSTOCK_WITH_CUDA), and whether it can be compiled at all, as tests do
# (PENSTOCK_CUDA_TOOLKIT). The rest of the tree asks these and picks files, never #ifdef.
#
#   PENSTOCK_CUDA   programs have the backend where there are       architectures, unless CMAKE_CUDA_ARCHITECTURES says so
#   AUTO            a toolkit, and a GPU on this machine            those of the GPUs here
#   TOOLKIT         the same; tests compile and emulate it          those of the GPUs here, else 90-real
#                   where there is a toolkit, GPU or not
#   ON              a toolkit; anything missing is an error         those of the GPUs here, else 80-real 90
#   OFF             nowhere
#
# A toolkit has cuDNN and NCCL with it. A tree whose programs have the backend keeps it under AUTO, for the same GPUs: log-in
# nodes and compute nodes may share it.
set(PENSTOCK_WITH_CUDA OFF)
set(PENSTOCK_CUDA_TOOLKIT OFF)

# The node that the driver makes, and that a container with a GPU is given; dxg is that of WSL. Asking the driver may take long.
set(PENSTOCK_GPU OFF)
if(EXISTS /dev/nvidiactl OR EXISTS /dev/dxg)
  set(PENSTOCK_GPU ON)
endif()

if(CMAKE_CUDA_COMPILER)
  set(PENSTOCK_NVCC ${CMAKE_CUDA_COMPILER})
elseif(NOT "$ENV{CUDACXX}" STREQUAL "")
  set(PENSTOCK_NVCC $ENV{CUDACXX})
else()
  find_program(PENSTOCK_NVCC nvcc NO_CACHE HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
endif()

# penstock_enable_cuda(): the language, with CMAKE_CUDA_ARCHITECTURES as in the table above.
macro(penstock_enable_cuda)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # one runtime for our files and the libraries'
  if(DEFINED CMAKE_CUDA_ARCHITECTURES OR NOT "$ENV{CUDAARCHS}" STREQUAL "")
    enable_language(CUDA)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # Ampere, Hopper, and PTX for what comes after
    enable_language(CUDA)                     # which looks for GPUs, too
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    set(here)
    foreach(architecture ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
      string(REGEX MATCH "^[0-9]+" architecture "${architecture}")
      if(architecture GREATER_EQUAL 80 AND known MATCHES "compute_${architecture}[^0-9]")
        list(APPEND here ${architecture}-real)
      endif()
    endforeach()
    if(here)
      set(PENSTOCK_CUDA_HERE "${here}" CACHE INTERNAL "Architectures of the GPUs that this tree was built beside")
    endif()
    if(PENSTOCK_CUDA_HERE)
      set(CMAKE_CUDA_ARCHITECTURES ${PENSTOCK_CUDA_HERE})
    elseif(NOT PENSTOCK_GPU AND NOT PENSTOCK_CUDA STREQUAL "ON")
      set(CMAKE_CUDA_ARCHITECTURES 90-real)
    endif()
  endif()
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know the flag
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  if(NOT TARGET CUDA::nvToolsExt)  # stock CMake 3.25 with CUDA 13 trips over the target's absence
    add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
  endif()
endmacro()

set(why)  # CUDA is left out where one might expect it
if(PENSTOCK_CUDA STREQUAL "OFF")
  unset(PENSTOCK_CUDA_BEFORE CACHE)
elseif(NOT PENSTOCK_CUDA MATCHES "^(AUTO|TOOLKIT|ON)$")
  message(FATAL_ERROR "PENSTOCK_CUDA=${PENSTOCK_CUDA} is none of AUTO, TOOLKIT, ON, OFF")
elseif(NOT PENSTOCK_NVCC)
  if(PENSTOCK_GPU)
    set(why "there is a GPU here, but no CUDA toolkit; with nvcc on PATH or in CUDACXX, run this again")
  endif()
elseif(PENSTOCK_CUDA STREQUAL "AUTO" AND NOT PENSTOCK_GPU AND NOT PENSTOCK_CUDA_BEFORE)
  set(why "there is a CUDA toolkit here, but no GPU")
else()
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)  # an earlier look may have found none, and would be the last
    set(ENV{CUDACXX} ${PENSTOCK_NVCC})  # CMake's own looks on PATH only
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    penstock_enable_cuda()
    find_package(CUDAToolkit)
    find_package(CUDNN)
    find_package(NCCL)
    if(CUDAToolkit_FOUND AND CUDNN_FOUND AND NCCL_FOUND)
      set(PENSTOCK_CUDA_TOOLKIT ON)
      if(PENSTOCK_CUDA STREQUAL "TOOLKIT" AND NOT PENSTOCK_GPU AND NOT PENSTOCK_CUDA_BEFORE)
        set(why "there is a CUDA toolkit here, but no GPU; tests emulate one")
      else()
        set(PENSTOCK_WITH_CUDA ON)
        set(PENSTOCK_CUDA_BEFORE ON CACHE INTERNAL "Programs of this tree have the CUDA backend")
      endif()
    elseif(NOT CUDNN_FOUND)
      set(why "nvcc is here, but not cuDNN 9; set CUDNN_ROOT where it is elsewhere")
    elseif(NOT NCCL_FOUND)
      set(why "nvcc and cuDNN are here, but not NCCL; set NCCL_ROOT where it is elsewhere")
    else()
      set(why "nvcc is here, but not the rest of its toolkit")
    endif()
  else()
    set(why "${PENSTOCK_NVCC} does not compile with this C++ compiler; set CUDACXX or CUDAHOSTCXX")
  endif()
endif()

# Where a part is missing programs say it too (kernels/cuda/no_cuda.cpp); that there is no GPU, they see for themselves.
set(PENSTOCK_WHY_NO_CUDA)
if(why AND NOT PENSTOCK_CUDA_TOOLKIT AND NOT why MATCHES "but no GPU")
  set(PENSTOCK_WHY_NO_CUDA "${why}")
endif()
if(PENSTOCK_CUDA_TOOLKIT)
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
  message(STATUS "Penstock: CUDA sources compiled for ${architectures}")
endif()
if(PENSTOCK_WITH_CUDA)
  message(STATUS "Penstock: CUDA backend ON")
elseif(PENSTOCK_CUDA STREQUAL "ON")
  message(FATAL_ERROR "PENSTOCK_CUDA=ON needs the CUDA toolkit, cuDNN 9 and NCCL: put nvcc on PATH or set CUDACXX, "
                      "set CUDNN_ROOT or NCCL_ROOT where they are elsewhere, or use -DPENSTOCK_CUDA=OFF")
elseif(why)
  # setup.sh shows this line, so it is one.
  message(STATUS "Penstock: CUDA backend OFF: ${why} (launch/setup.sh cuda, or -DPENSTOCK_CUDA=ON, insists)")
else()
  message(STATUS "Penstock: CUDA backend OFF")
endif()
