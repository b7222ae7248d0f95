# penstock_page_parts(FILE HEADER h.h PREFIX kPage FRAME f.html STYLE s.css SCRIPTS a.js ...): the C++ source FILE, with the
# definitions of what the header declares: kPageFrame, kPageStyle and kPageScript. Scripts are joined in that order. Nothing made
# here is kept in the tree.
function(penstock_page_parts file)
  cmake_parse_arguments(P "" "HEADER;PREFIX;FRAME;STYLE" "SCRIPTS" ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/cmake/PenstockPageParts.cmake)
  string(REPLACE ";" "|" scripts "${P_SCRIPTS}")
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${P_HEADER} -DPREFIX=${P_PREFIX} -DFRAME=${P_FRAME} -DSTYLE=${P_STYLE} -DSCRIPTS=${scripts}
            -DOUT=${file} -P ${script}
    DEPENDS ${P_FRAME} ${P_STYLE} ${P_SCRIPTS} ${script}
    COMMENT "Joining the parts of the page"
    VERBATIM)
endfunction()
