// The documents of crds/examples and crds/tests, as kubectl sends them.
#pragma once

#include <string>
#include <vector>

#include "operator/kube/json.h"

namespace espalier::ctl::schema {

struct TestDocument {
  std::string name;  // "invalid/no-split.yaml"
  std::string text;
  kube::Json object;
  // "# expect: <path>: <words>" on the first line: where the answer points, and what it says there; else empty.
  std::string expected_path;
  std::string expected_words;
};

// In order of names. A folder without documents, or a file that is no YAML, is a test's failure (gtest's).
std::vector<TestDocument> DocumentsIn(const std::string& folder);  // "crds/tests/valid"

std::string ReadFileOrFail(const std::string& path);  // below the repository's root

}  // namespace espalier::ctl::schema
