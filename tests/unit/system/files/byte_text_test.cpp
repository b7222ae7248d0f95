// Names of files are bytes: in formats of Unicode they come back as they were, or can be told
// apart.
#include "runtime/system/files/byte_text.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

const std::vector<std::string> kNames = {"plain",
                                         "gr\xc3\xbcn",
                                         "b\xff"
                                         "d",
                                         "\xe9t\xe9/\xc3\xa9",
                                         "\x80\xbf\xc0\xfe",
                                         "cut \xe2\x82",
                                         "\xf4\x8f\xba\xa9 which stands for a byte",
                                         "\xed\xa0\x80",
                                         ""};

TEST(ByteText, ComesBackAsItWas) {
  for (const std::string& name : kNames) {
    const std::string unicode = unicode_of(name);
    EXPECT_EQ(bytes_of(unicode), name);
    EXPECT_NO_THROW((void)json(unicode).dump()) << "it is UTF-8";
  }
  EXPECT_EQ(unicode_of("gr\xc3\xbcn"), "gr\xc3\xbcn");
  EXPECT_EQ(unicode_of("\xe9"), "\U0010FEE9");
}

TEST(ByteText, IsShownSoThatNamesCanBeToldApart) {
  EXPECT_EQ(shown_bytes("b\xff"
                        "d/\xc3\xbc"),
            "b\\xffd/\xc3\xbc");
  EXPECT_EQ(shown_bytes("\xff\\xff"), "\\xff\\\\xff");
  EXPECT_EQ(shown_bytes("a\\b"), "a\\b");
}

// What is not UTF-8 was U+FFFD, one like the other, or an error of the library.
TEST(ByteText, InJson) {
  const json document = {{"path", "b\xff"}, {"more", {1, "b\xfe", {{"k\xff", nullptr}}}}};
  EXPECT_EQ(shown_json(document), R"({"more":[1,"b\\xfe",{"k\\xff":null}],"path":"b\\xff"})");
  EXPECT_EQ(unpacked_json(packed_json(document)), document);
}

}  // namespace
}  // namespace penstock
