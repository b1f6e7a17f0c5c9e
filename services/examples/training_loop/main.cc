// A user program (docs/programs.md). `espalier run -f job.yaml --output DIR -- espalier_example_training_loop 20`
// starts it on every rank; with ESPALIER_PARTITIONS it runs as a single process without servers. The graph must be
// one that `espalier generate` makes.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "espalier/base/environment.h"
#include "espalier/base/sha256.h"
#include "espalier/client/initialize.h"
#include "espalier/telemetry/process.h"
#include "espalier/telemetry/termination.h"
#include "training_loop.h"

namespace example {
namespace {

using espalier::Result;
using espalier::Status;

// Returns the local folder for the state and the result, or "" if the output is not local.
std::string FindFolder(const espalier::client::Environment& environment) {
  const std::string output = espalier::FindValue(environment, "ESPALIER_OUTPUT");
  return output.starts_with('/') ? output : "";
}

// Prints the result and, if `path` is not empty, writes it to that file. `espalier run` extends the file and prints the
// metrics in it.
Status WriteResult(const std::string& path, const LoopResult& result) {
  const std::string weights(reinterpret_cast<const char*>(result.weights.data()),
                            result.weights.size() * sizeof(double));
  const nlohmann::ordered_json json = {{"lastLoss", result.last_loss},
                                       {"testAccuracy", result.test_accuracy},
                                       {"weightsDigest", espalier::Sha256Hex(weights)}};
  std::printf("%s\n", json.dump().c_str());
  return path.empty() ? Status() : espalier::telemetry::WriteFileAtomically(path, json.dump(2) + "\n");
}

// Writes the termination message, which the operator copies to the job's status.
void ReportResult(const LoopOptions& options, const LoopResult& result) {
  espalier::telemetry::TerminationMessage message;
  message.message = "trained";
  message.metrics = {{"epochs", options.epochs}, {"loss", result.last_loss}, {"testAccuracy", result.test_accuracy}};
  espalier::telemetry::WriteTermination(message);
}

Status Run(int argc, char** argv) {
  const espalier::client::Environment environment = espalier::client::ProcessEnvironment();
  LoopOptions options;
  if (argc > 1) {
    const char* const end = argv[1] + std::strlen(argv[1]);
    const auto [stopped, error] = std::from_chars(argv[1], end, options.epochs);
    if (argc > 2 || error != std::errc() || stopped != end) {
      return espalier::InvalidArgument("expected the number of epochs");
    }
  }
  const std::string folder = FindFolder(environment);
  options.state_path = folder.empty() ? "" : folder + "/training-loop.state";
  options.resume = espalier::FindValue(environment, "ESPALIER_RESUME") == "auto";
  ASSIGN_OR_RETURN(const espalier::client::Context context, espalier::client::Initialize(environment));
  ASSIGN_OR_RETURN(const LoopResult result, TrainOnAllRanks(context, options));
  if (context.rank.value > 0) return Status();
  ReportResult(options, result);
  return WriteResult(folder.empty() ? "" : folder + "/result.json", result);
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) { return espalier::telemetry::EndOfProgram(example::Run(argc, argv)); }
