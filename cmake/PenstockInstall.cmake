# `cmake --install`: the program, and a package for networks of one's own. find_package(penstock) gives the target penstock::penstock, all
# that a program needs which includes launch/penstock.h; a project that has this tree inside itself (add_subdirectory) has it as well.
include(CMakePackageConfigHelpers)

# The backends as a library: elsewhere there is nothing to choose them by.
if(PENSTOCK_WITH_CUDA)
  add_library(penstock_backend STATIC $<TARGET_OBJECTS:penstock_cuda> $<TARGET_OBJECTS:penstock_comm_cuda>)
  target_link_libraries(penstock_backend PUBLIC CUDA::cudart CUDA::cublasLt CUDNN::cudnn NCCL::NCCL)
  if(TARGET CUDA::nvrtc)
    target_link_libraries(penstock_backend PUBLIC CUDA::nvrtc)
  endif()
else()
  add_library(penstock_backend STATIC $<TARGET_OBJECTS:penstock_no_cuda> $<TARGET_OBJECTS:penstock_no_cuda_comm>)
endif()
target_link_libraries(penstock_backend PUBLIC penstock_kernels penstock_comm)

add_library(penstock_library INTERFACE)
set_target_properties(penstock_library PROPERTIES EXPORT_NAME penstock)
target_link_libraries(penstock_library INTERFACE penstock_program penstock_backend)
add_library(penstock::penstock ALIAS penstock_library)

get_property(rooms GLOBAL PROPERTY PENSTOCK_ROOMS)
install(TARGETS penstock RUNTIME)
install(
  TARGETS ${rooms} penstock_backend penstock_library
  EXPORT penstock
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/penstock)
foreach(folder kernels runtime launch)
  install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "cuda" EXCLUDE)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/launch/examples ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)
install(EXPORT penstock NAMESPACE penstock:: FILE penstock-targets.cmake DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/penstock-config.cmake.in ${PROJECT_BINARY_DIR}/generated/penstock-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/penstock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/penstock-config.cmake ${PROJECT_BINARY_DIR}/generated/penstock-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindSentencePiece.cmake ${PROJECT_SOURCE_DIR}/cmake/FindHwloc.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindCUDNN.cmake ${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake DESTINATION ${package})
