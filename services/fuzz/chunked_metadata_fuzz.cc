// metadata.json of DGL's chunked graphs. Property: if the metadata is valid, all files that it lists are below the
// folder of metadata.json.
#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/check.h"
#include "services/format/source/chunked_metadata.h"

namespace {

void CheckFiles(const espalier::format::ChunkedArray& array) {
  for (const std::string& file : array.files) {
    ESPALIER_CHECK(!file.empty() && file.front() != '/' && file != ".." && !file.starts_with("../"));
    ESPALIER_CHECK(file.find("/../") == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto metadata = espalier::format::ParseChunkedMetadata(std::string(reinterpret_cast<const char*>(data), size));
  if (!metadata.ok()) {
    ESPALIER_CHECK(!metadata.status().message().empty());
    return 0;
  }
  for (const auto& nodes : metadata->nodes) {
    for (const auto& [name, array] : nodes.columns) CheckFiles(array);
  }
  for (const auto& edges : metadata->edges) {
    CheckFiles(edges.ends);
    for (const auto& [name, array] : edges.columns) CheckFiles(array);
  }
  return 0;
}
