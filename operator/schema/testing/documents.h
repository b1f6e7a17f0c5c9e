// Reads the documents of crds/examples and crds/tests.
#pragma once

#include <string>
#include <vector>

#include "operator/kube/json.h"

namespace espalier::ctl::schema {

struct TestDocument {
  std::string name;  // "invalid/no-split.yaml"
  std::string text;
  kube::Json object;
  // From "# expect: <path>: <words>" in the first line: field and text of the expected error; else empty.
  std::string expected_path;
  std::string expected_words;
};

// Returns the documents of a folder, sorted by name. Reports a gtest failure if the folder has none or a file is not
// YAML.
std::vector<TestDocument> DocumentsIn(const std::string& folder);  // "crds/tests/valid"

std::string ReadFileOrFail(const std::string& path);  // relative to the root of the repository

}  // namespace espalier::ctl::schema
