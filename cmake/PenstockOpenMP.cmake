# OpenMP's runtime library, before find_package(OpenMP): LLVM's (libomp) where there is one, in the place of GCC's (libgomp). A parallel
# region that has fewer threads than the one before makes libgomp end the others, and the next region makes them anew; convolutions,
# for which oneDNN takes as many threads as suit their shape, so cost dozens of threads a step. LLVM's library keeps them, and has the
# entry points of GCC's: a program that links it gives it to oneDNN as well, since it is found before what oneDNN itself links.
# Results have the same bits. -DOpenMP_omp_LIBRARY=OFF takes libgomp all the same.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  file(GLOB folders /usr/lib/llvm-*/lib)
  list(SORT folders COMPARE NATURAL ORDER DESCENDING)
  find_library(OpenMP_omp_LIBRARY NAMES libomp.so.5 omp PATHS ${folders})
  if(OpenMP_omp_LIBRARY)
    set(OpenMP_CXX_FLAGS -fopenmp)
    set(OpenMP_CXX_LIB_NAMES omp)
  else()
    message(STATUS "Penstock: without LLVM's OpenMP (libomp) ranks of three and more threads make threads anew in convolutions")
  endif()
endif()
