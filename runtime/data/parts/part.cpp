#include "runtime/data/parts/part.h"

#include "kernels/error.h"

namespace penstock {

void fail_without(const Part& part, const std::string& wanted) {
  fail_resource(wanted + " needs the part '" + part.name +
                "', and this program was built without it: install its libraries (in Debian " +
                part.debian + "), configure with -D" + part.option + "=ON and build again");
}

}  // namespace penstock
