// A user program with libtorch (docs/coming-from-dgl.md). Run it with
// `espalier run -f job.yaml --output DIR -- espalier_example_graph_sage public 30 0.003`.
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "espalier/base/environment.h"
#include "espalier/client/initialize.h"
#include "espalier/telemetry/process.h"
#include "espalier/telemetry/termination.h"
#include "graph_sage.h"

namespace example {
namespace {

using espalier::Result;
using espalier::Status;

template <class T>
bool Parse(std::string_view text, T* number) {
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stopped == text.data() + text.size();
}

Status Run(int argc, char** argv) {
  SageOptions options;
  if (argc != 4 || !Parse(argv[2], &options.epochs) || !Parse(argv[3], &options.learning_rate)) {
    return espalier::InvalidArgument("expected SPLIT EPOCHS LEARNING_RATE");
  }
  options.split = argv[1];
  const espalier::client::Environment environment = espalier::client::ProcessEnvironment();
  ASSIGN_OR_RETURN(const espalier::client::Context context, espalier::client::Initialize(environment));
  ASSIGN_OR_RETURN(const SageResult result, TrainSage(context, options));
  if (context.rank.value > 0) return Status();
  const nlohmann::ordered_json json = {{"lastLoss", result.last_loss}, {"testAccuracy", result.test_accuracy}};
  std::printf("%s\n", json.dump().c_str());
  const std::string output = espalier::FindValue(environment, "ESPALIER_OUTPUT");  // `espalier run` extends result.json
  if (!output.starts_with('/')) return Status();
  return espalier::telemetry::WriteFileAtomically(output + "/result.json", json.dump(2) + "\n");
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) { return espalier::telemetry::EndOfProgram(example::Run(argc, argv)); }
