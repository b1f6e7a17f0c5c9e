// Fuzzes the parser of DistTraining resources (the responses of an API server), including those that violate the
// schema.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operator/api/dist_training.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::ctl;  // NOLINT: one function
  const auto object = kube::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!object.ok()) return 0;
  const auto training = api::ParseDistTraining(*object);
  if (!training.ok()) return 0;
  ESPALIER_CHECK(training->spec.has_value() == training->violations.empty());

  // A status that is written and read again is unchanged, so the operator would not write it again.
  const kube::Json written = api::ToJson(training->status);
  const api::Status read = api::StatusFromJson(written);
  ESPALIER_CHECK(api::ToJson(read) == written);
  ESPALIER_CHECK(read.phase == training->status.phase && read.incarnation == training->status.incarnation);
  if (training->status.progress.has_value()) (void)kube::Print(api::ProgressToJson(*training->status.progress));
  return 0;
}
