# Decides once whether the CUDA backend is built. The rest of the tree asks PENSTOCK_WITH_CUDA and picks files, never #ifdef.
set(PENSTOCK_WITH_CUDA OFF)
if(NOT PENSTOCK_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # one runtime for our files and the libraries'
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # Ampere, Hopper, and PTX for what comes after
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know the flag
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    if(NOT TARGET CUDA::nvToolsExt)  # stock CMake 3.25 with CUDA 13 trips over the target's absence
      add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
    endif()
    find_package(CUDAToolkit)
    find_package(CUDNN)
    find_package(NCCL)
    if(CUDAToolkit_FOUND AND CUDNN_FOUND AND NCCL_FOUND)
      set(PENSTOCK_WITH_CUDA ON)
    endif()
  endif()
  if(PENSTOCK_CUDA STREQUAL "ON" AND NOT PENSTOCK_WITH_CUDA)
    message(FATAL_ERROR "PENSTOCK_CUDA=ON needs the CUDA toolkit, cuDNN 9 and NCCL: put nvcc on PATH or set CUDACXX, "
                        "set CUDNN_ROOT or NCCL_ROOT where they are elsewhere, or use -DPENSTOCK_CUDA=OFF")
  endif()
endif()
message(STATUS "Penstock: CUDA backend ${PENSTOCK_WITH_CUDA}")
