// The manifests of partitionings, checkpoints, outputs and saved tensors. Property: a parsed manifest survives a round
// trip through text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/check.h"
#include "services/format/checkpoint/checkpoint_manifest.h"
#include "services/format/partition/manifest.h"
#include "services/format/results/outputs_manifest.h"
#include "services/format/saved_tensors/saved_tensors.h"

namespace {

template <class Read, class Write>
void RoundTrip(const std::string& text, const Read& read, const Write& write) {
  const auto manifest = read(text);
  if (!manifest.ok()) {
    ESPALIER_CHECK(!manifest.status().message().empty());
    return;
  }
  const std::string written = write(*manifest);
  const auto again = read(written);
  ESPALIER_CHECK(again.ok() && write(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::format;  // NOLINT: one function
  const std::string text(reinterpret_cast<const char*>(data), size);
  RoundTrip(text, ManifestFromJson, ManifestToJson);
  RoundTrip(text, CheckpointManifestFromJson, CheckpointManifestToJson);
  RoundTrip(text, OutputsManifestFromJson, OutputsManifestToJson);
  RoundTrip(text, SavedTensorsFromJson, SavedTensorsToJson);
  (void)IsOutputsManifest(text);
  return 0;
}
