// A user program with learnable rows (docs/learnable-rows.md). Run it with
// `espalier run -f job.yaml --output DIR -- espalier_example_link_embeddings links 20`.
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "espalier/base/environment.h"
#include "espalier/base/sha256.h"
#include "espalier/client/init_process_group.h"
#include "espalier/client/initialize.h"
#include "espalier/telemetry/process.h"
#include "espalier/telemetry/termination.h"
#include "link_embeddings.h"

namespace example {
namespace {

using espalier::Result;
using espalier::Status;

template <class T>
bool Parse(std::string_view text, T* number) {
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stopped == text.data() + text.size();
}

// Prints the result and, for a local output folder, writes it to result.json, which `espalier run` extends.
Status WriteResult(const std::string& output, const LinkResult& result) {
  const std::string_view rows(reinterpret_cast<const char*>(result.rows.data()), result.rows.size() * sizeof(float));
  const nlohmann::ordered_json json = {
      {"losses", result.losses}, {"endsCounted", result.ends_counted}, {"rowsDigest", espalier::Sha256Hex(rows)}};
  std::printf("%s\n", json.dump().c_str());
  if (!output.starts_with('/')) return Status();
  return espalier::telemetry::WriteFileAtomically(output + "/result.json", json.dump(2) + "\n");
}

Status Run(int argc, char** argv) {
  LinkOptions options;
  if (argc != 3 || !Parse(argv[2], &options.epochs)) return espalier::InvalidArgument("expected SPLIT EPOCHS");
  options.split = argv[1];
  const espalier::client::Environment environment = espalier::client::ProcessEnvironment();
  const std::string output = espalier::FindValue(environment, "ESPALIER_OUTPUT");
  if (output.starts_with('/') || output.starts_with("s3://")) options.folder = output + "/link-embeddings";
  options.resume = espalier::FindValue(environment, "ESPALIER_RESUME") == "auto";
  ASSIGN_OR_RETURN(options.stores, espalier::storage::ParseStoreSettings(environment));
  ASSIGN_OR_RETURN(const espalier::client::Context context, espalier::client::Initialize(environment));
  ASSIGN_OR_RETURN(const auto graph, espalier::client::DistGraph::Open(context));
  ASSIGN_OR_RETURN(const auto group, espalier::client::InitProcessGroup(*graph, context, graph->CallDeadline()));
  ASSIGN_OR_RETURN(const LinkResult result, LearnLinks(*graph, *group, options));
  return context.rank.value > 0 ? Status() : WriteResult(output, result);
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) { return espalier::telemetry::EndOfProgram(example::Run(argc, argv)); }
