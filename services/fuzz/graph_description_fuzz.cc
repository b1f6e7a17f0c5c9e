// graph.yaml. Property: a parsed description survives a round trip through text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/check.h"
#include "services/format/source/graph_description.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::format;  // NOLINT: one function
  const auto description = ParseGraphDescription(std::string(reinterpret_cast<const char*>(data), size));
  if (!description.ok()) {
    ESPALIER_CHECK(!description.status().message().empty());
    return 0;
  }
  const std::string text = GraphDescriptionToYaml(*description);
  const auto again = ParseGraphDescription(text);
  ESPALIER_CHECK(again.ok() && GraphDescriptionToYaml(*again) == text);
  return 0;
}
