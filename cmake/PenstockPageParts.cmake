# cmake -DFRAME= -DSTYLE= -DSCRIPTS=a|b -DENGINE= -DOUT= -P: writes the definitions of runtime/drawing/page_parts.h.
# GCC and Clang take string literals of any length.
set(content "// Made by cmake/PenstockPageParts.cmake from runtime/drawing/page/.\n#include \"runtime/drawing/page_parts.h\"\n\n")
string(APPEND content "namespace penstock {\n\n")

function(part name)
  set(text)
  foreach(file ${ARGN})
    file(READ "${file}" read)
    string(APPEND text "${read}")
  endforeach()
  set(content "${content}const std::string_view ${name} = R\"part(${text})part\";\n" PARENT_SCOPE)
endfunction()

string(REPLACE "|" ";" SCRIPTS "${SCRIPTS}")
part(kPageFrame ${FRAME})
part(kPageStyle ${STYLE})
part(kPageScript ${SCRIPTS})
part(kPageEngine ${ENGINE})
file(WRITE "${OUT}" "${content}\n}  // namespace penstock\n")
