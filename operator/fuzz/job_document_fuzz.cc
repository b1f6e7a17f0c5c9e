// Fuzzes DistTraining documents of users, parsed as `espalier run` and as the operator parse them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "operator/kube/json.h"
#include "services/base/check.h"
#include "services/job/fields/without_defaults.h"
#include "services/job/parsing/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::job;  // NOLINT: one function
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const ReadBy read_by : {ReadBy::kRunOrRole, ReadBy::kOperator}) {
    const auto parsed = ParseJob("job.yaml", text, {}, read_by);
    if (!parsed.ok()) {
      ESPALIER_CHECK(!parsed.status().message().empty());
      continue;
    }
    // A document with all defaults filled in is the same job, and parsing it adds no more defaults.
    const auto again = ParseJob("job.json", parsed->effective_json, {}, read_by);
    ESPALIER_CHECK(again.ok()) << again.status().ToString();
    const auto before = espalier::ctl::kube::ParseJson(parsed->effective_json);
    const auto after = espalier::ctl::kube::ParseJson(again->effective_json);
    ESPALIER_CHECK(before.ok() && after.ok() && *before == *after);  // the order of fields may differ
    // Without the fields that have their default, the document is still the same job.
    const auto shortest = ParseJob("job.json", WithoutDefaults(parsed->effective_json), {}, read_by);
    ESPALIER_CHECK(shortest.ok()) << shortest.status().ToString();
    const auto back = espalier::ctl::kube::ParseJson(shortest->effective_json);
    ESPALIER_CHECK(back.ok() && *back == *before);
  }
  return 0;
}
