#include "operator/schema/testing/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "operator/client/yaml_json.h"

namespace espalier::ctl::schema {
namespace {

constexpr char kExpect[] = "# expect: ";

TestDocument ReadDocument(const std::string& folder, const std::string& file) {
  TestDocument document;
  document.name = std::filesystem::path(folder).filename() / file;
  document.text = ReadFileOrFail(folder + "/" + file);
  const Result<kube::Json> json = client::ParseYamlOrJson(document.text);
  EXPECT_TRUE(json.ok()) << document.name << ": " << json.status().ToString();
  if (json.ok()) document.object = *json;
  if (document.text.starts_with(kExpect)) {
    const std::string line = document.text.substr(sizeof(kExpect) - 1, document.text.find('\n') - sizeof(kExpect) + 1);
    const size_t colon = line.find(": ");
    EXPECT_NE(colon, std::string::npos) << document.name;
    document.expected_path = line.substr(0, colon);
    document.expected_words = line.substr(colon + 2);
  }
  return document;
}

}  // namespace

std::vector<TestDocument> DocumentsIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(ESPALIER_SOURCE_DIR "/" + folder, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().filename());
  }
  EXPECT_FALSE(files.empty()) << folder;
  std::sort(files.begin(), files.end());
  std::vector<TestDocument> documents;
  for (const std::string& file : files) documents.push_back(ReadDocument(folder, file));
  return documents;
}

std::string ReadFileOrFail(const std::string& path) {
  std::ifstream file(ESPALIER_SOURCE_DIR "/" + path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace espalier::ctl::schema
