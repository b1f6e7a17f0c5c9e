#include "operator/kubectl/view/testing/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace espalier::ctl::view::testing {

void ExpectGolden(const std::string& file, const std::string& text) {
  const std::string path = std::string(ESPALIER_KUBECTL_TESTDATA) + "/" + file;
  if (std::getenv("ESPALIER_UPDATE_GOLDENS") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream golden(path, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(golden), {}};
  EXPECT_EQ(text, expected) << path;
}

}  // namespace espalier::ctl::view::testing
