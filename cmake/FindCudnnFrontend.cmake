# CUDNN::frontend, the header-only C++ interface to cuDNN's graphs (nvidia-cudnn-frontend), from CUDNN_FRONTEND_ROOT or beside
# cuDNN. Its pip package holds the headers too.
if(CUDNN_FRONTEND_INCLUDE_DIR AND NOT EXISTS ${CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend.h)
  unset(CUDNN_FRONTEND_INCLUDE_DIR CACHE)  # they were there once
endif()
find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${CUDNN_FRONTEND_ROOT} ENV CUDNN_FRONTEND_ROOT ${CUDNN_INCLUDE_DIR}
          PATH_SUFFIXES include)
if(CUDNN_FRONTEND_INCLUDE_DIR)
  file(STRINGS ${CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h _lines REGEX "#define CUDNN_FRONTEND_(MAJOR|MINOR|PATCH)_VERSION ")
  string(REGEX REPLACE ".*MAJOR_VERSION ([0-9]+).*MINOR_VERSION ([0-9]+).*PATCH_VERSION ([0-9]+).*" "\\1.\\2.\\3" CUDNN_FRONTEND_VERSION
                       "${_lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudnnFrontend REQUIRED_VARS CUDNN_FRONTEND_INCLUDE_DIR VERSION_VAR CUDNN_FRONTEND_VERSION)
if(CudnnFrontend_FOUND AND NOT TARGET CUDNN::frontend)
  add_library(CUDNN::frontend INTERFACE IMPORTED)
  set_target_properties(CUDNN::frontend PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${CUDNN_FRONTEND_INCLUDE_DIR}
                                                   INTERFACE_LINK_LIBRARIES CUDNN::cudnn)
endif()
mark_as_advanced(CUDNN_FRONTEND_INCLUDE_DIR)
