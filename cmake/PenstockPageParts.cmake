# cmake -DHEADER= -DPREFIX= -DFRAME= -DSTYLE= -DSCRIPTS=a|b -DOUT= -P: writes the definitions of the header.
# GCC and Clang take string literals of any length.
set(content "// Made by cmake/PenstockPageParts.cmake from the files in page/.\n#include \"${HEADER}\"\n\n")
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
part(${PREFIX}Frame ${FRAME})
part(${PREFIX}Style ${STYLE})
part(${PREFIX}Script ${SCRIPTS})
file(WRITE "${OUT}" "${content}\n}  // namespace penstock\n")
