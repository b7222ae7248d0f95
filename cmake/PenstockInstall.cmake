# `cmake --install`: the program, and a package for networks of one's own. find_package(penstock) gives the target penstock::penstock, all
# that a program needs which includes launch/penstock.h; a project that has this tree inside itself (add_subdirectory) has it as well.
include(CMakePackageConfigHelpers)

# The backends as a library: elsewhere there is nothing to choose them by.
if(PENSTOCK_WITH_CUDA)
  add_library(penstock_backend STATIC)
  foreach(part penstock_cuda penstock_cuda_calls penstock_comm_cuda penstock_comm_cuda_calls)
    target_sources(penstock_backend PRIVATE $<TARGET_OBJECTS:${part}>)
  endforeach()
  target_link_libraries(penstock_backend PUBLIC CUDA::cudart CUDA::cublasLt CUDNN::cudnn NCCL::NCCL)
  if(TARGET CUDA::nvrtc)
    target_link_libraries(penstock_backend PUBLIC CUDA::nvrtc)
  endif()
else()
  add_library(penstock_backend STATIC $<TARGET_OBJECTS:penstock_no_cuda> $<TARGET_OBJECTS:penstock_no_cuda_comm>)
endif()
target_link_libraries(penstock_backend PUBLIC penstock_kernels penstock_comm)
add_dependencies(penstock penstock_backend) # where only the program was built, it can be installed

add_library(penstock_library INTERFACE)
set_target_properties(penstock_library PROPERTIES EXPORT_NAME penstock)
target_link_libraries(penstock_library INTERFACE penstock_program penstock_backend)
add_library(penstock::penstock ALIAS penstock_library)

get_property(rooms GLOBAL PROPERTY PENSTOCK_ROOMS)
# Libraries are found in the prefix itself, wherever it has been moved to, and where this build found those that no system folder has.
set_target_properties(penstock PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS penstock RUNTIME)
install(
  TARGETS ${rooms} penstock_backend penstock_library
  EXPORT penstock
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/penstock)
if(PENSTOCK_FURTHER_LEVELS)
  set_target_properties(penstock_kernels PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  foreach(level ${PENSTOCK_FURTHER_LEVELS})
    set_target_properties(penstock_kernels_${level} PROPERTIES INSTALL_RPATH "$ORIGIN/../.." INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS penstock_kernels_${level} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level})
  endforeach()
endif()
foreach(folder kernels runtime launch)
  install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "cuda" EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/launch/examples ${PROJECT_SOURCE_DIR}/launch/batch DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock
        USE_SOURCE_PERMISSIONS)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/launch/supervise.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The program writes its manual page and its completion itself; one that was compiled for another processor cannot, here.
set(pages ${PROJECT_BINARY_DIR}/generated/help)
install(
  CODE "file(MAKE_DIRECTORY \"${pages}\")
  foreach(page man bash)
    execute_process(COMMAND \"$<TARGET_FILE:penstock>\" help \${page} OUTPUT_FILE \"${pages}/\${page}\" RESULT_VARIABLE failed)
    if(failed)
      file(REMOVE \"${pages}/\${page}\")
      message(WARNING \"The program does not run on this machine, so there is no `penstock help \${page}` to install\")
    endif()
  endforeach()")
install(FILES ${pages}/man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME penstock.1 OPTIONAL)
install(FILES ${pages}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME penstock OPTIONAL)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
install(EXPORT penstock NAMESPACE penstock:: FILE penstock-targets.cmake DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/penstock-config.cmake.in ${PROJECT_BINARY_DIR}/generated/penstock-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/penstock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/penstock-config.cmake ${PROJECT_BINARY_DIR}/generated/penstock-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/PenstockOpenMP.cmake ${PROJECT_SOURCE_DIR}/cmake/FindSentencePiece.cmake ${PROJECT_SOURCE_DIR}/cmake/FindPCRE2.cmake ${PROJECT_SOURCE_DIR}/cmake/FindHwloc.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindCUDNN.cmake ${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake DESTINATION ${package})

# A module file, for sites with Environment Modules or Lmod: `module use PREFIX/share/penstock/modulefiles`.
set(PENSTOCK_MODULES "" CACHE STRING "Modules that that of Penstock loads first, those that it was built with: \"openmpi/4.1;cuda/12.4\"")
set(PENSTOCK_MODULE_NEEDS)
foreach(needed ${PENSTOCK_MODULES})
  string(APPEND PENSTOCK_MODULE_NEEDS "module load ${needed}\n")
endforeach()
set(PENSTOCK_MODULE_PLACE ${CMAKE_INSTALL_DATADIR}/penstock/modulefiles/penstock)
string(REGEX REPLACE "[^/]+" ".." PENSTOCK_MODULE_UP ${PENSTOCK_MODULE_PLACE}/file)
configure_file(${PROJECT_SOURCE_DIR}/launch/packaging/modulefile.tcl.in ${PROJECT_BINARY_DIR}/generated/modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/modulefile DESTINATION ${PENSTOCK_MODULE_PLACE} RENAME ${PROJECT_VERSION})
