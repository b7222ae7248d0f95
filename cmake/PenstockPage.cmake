# Builds what the page carries inside. penstock_page_engine(OUT ...): the WebAssembly module, by emscripten, when there is one.
# penstock_page_parts(...): the page's files as a C++ source. Nothing made here is kept in the tree.
set(PENSTOCK_PAGE AUTO CACHE STRING "Put the schedule library into the page of `penstock schedule`: AUTO (when em++ is found), ON or OFF")
set_property(CACHE PENSTOCK_PAGE PROPERTY STRINGS AUTO ON OFF)

set(PENSTOCK_WITH_PAGE OFF)
if(NOT PENSTOCK_PAGE STREQUAL "OFF")
  find_program(PENSTOCK_EMXX em++)
  if(PENSTOCK_EMXX)
    set(PENSTOCK_WITH_PAGE ON)
  elseif(PENSTOCK_PAGE STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_PAGE=ON, but em++ was not found: install emscripten, or use -DPENSTOCK_PAGE=OFF")
  endif()
endif()
message(STATUS "Penstock: interactive page ${PENSTOCK_WITH_PAGE}")

# Native exceptions of WebAssembly, so that the module needs no JavaScript of emscripten's. -idirafter: nlohmann-json lies
# among headers of this system, which must not stand before those of the target.
set(PENSTOCK_EM_FLAGS -std=c++20 -Os -DNDEBUG -fwasm-exceptions -Wall -Wextra -I${PROJECT_SOURCE_DIR})
find_path(PENSTOCK_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
list(APPEND PENSTOCK_EM_FLAGS -idirafter ${PENSTOCK_JSON_INCLUDE})

# penstock_page_engine(FILE SOURCES a.cpp ...): FILE, the module in base64, from absolute paths of sources.
function(penstock_page_engine file)
  cmake_parse_arguments(E "" "" "SOURCES" ${ARGN})
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/engine)
  file(MAKE_DIRECTORY ${directory})
  # The configuration of Debian freezes the cache with its libraries in it; others fill a cache of the user's.
  set(objects)
  foreach(source ${E_SOURCES})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
    string(REPLACE / - name ${name})
    set(object ${directory}/${name}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${PENSTOCK_EMXX} ${PENSTOCK_EM_FLAGS} -c ${source} -o ${object} -MD -MF ${object}.d -MT ${object}
      DEPENDS ${source}
      DEPFILE ${object}.d
      COMMENT "Compiling ${name} for the page"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(module ${directory}/engine.wasm)
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${PENSTOCK_EMXX} -Os -fwasm-exceptions --no-entry -sSTANDALONE_WASM -sALLOW_MEMORY_GROWTH ${objects} -o ${module}
    COMMAND base64 -w 0 ${module} > ${file}
    DEPENDS ${objects}
    COMMENT "Linking the page's library"
    VERBATIM)
endfunction()

# penstock_page_parts(FILE HEADER h.h PREFIX kPage FRAME f.html STYLE s.css SCRIPTS a.js ... [ENGINE [e.base64]]): the C++ source
# FILE, with the definitions of what the header declares: kPageFrame, kPageStyle, kPageScript and, where the word ENGINE stands,
# kPageEngine, which is empty without a file. Scripts are joined in that order.
function(penstock_page_parts file)
  cmake_parse_arguments(P "" "HEADER;PREFIX;FRAME;STYLE" "SCRIPTS;ENGINE" ${ARGN})
  set(engine)
  if("ENGINE" IN_LIST ARGN)
    set(engine -DENGINE=${P_ENGINE})
  endif()
  set(script ${PROJECT_SOURCE_DIR}/cmake/PenstockPageParts.cmake)
  string(REPLACE ";" "|" scripts "${P_SCRIPTS}")
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${P_HEADER} -DPREFIX=${P_PREFIX} -DFRAME=${P_FRAME} -DSTYLE=${P_STYLE} -DSCRIPTS=${scripts}
            ${engine} -DOUT=${file} -P ${script}
    DEPENDS ${P_FRAME} ${P_STYLE} ${P_SCRIPTS} ${P_ENGINE} ${script}
    COMMENT "Joining the parts of the page"
    VERBATIM)
endfunction()
