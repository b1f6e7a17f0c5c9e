// espalier fetch-script: downloads the script of a program and verifies its digest. The init container `script` of a
// job's pods runs it (operator/resources/role_pod.cc).
#include "services/cli/command.h"
#include "services/job/script/fetch_script.h"
#include "services/telemetry/termination.h"

namespace espalier::cli {
namespace {

constexpr const char* kFetchScriptFooter = R"(Example:
  espalier fetch-script s3://code/train.py --folder script --sha256 DIGEST

Prints the SHA-256 of the file or archive. A cluster's pods run this for
spec.trainers.program.script. docs/programs.md)";

struct FetchScriptFlags {
  std::string uri;
  std::string shown;
  std::string folder;
  std::string entrypoint;
  std::string sha256;
};

// Fetches the script into the folder and writes the termination message, which the operator reads. The message contains
// the digest of the script that was read, even if another digest was expected, but not if writing the script failed: a
// failure with a digest tells the operator that the script is not the expected one.
Outcome FetchScript(const FetchScriptFlags& flags) {
  const std::string& shown = flags.shown.empty() ? flags.uri : flags.shown;
  telemetry::TerminationMessage termination;
  const auto fetch = [&]() -> Status {
    ASSIGN_OR_RETURN(storage::StoreSettings settings, storage::ParseStoreSettings(ReadEnvironment()));
    ASSIGN_OR_RETURN(const script::ScriptFile file,
                     script::ReadScript(flags.uri, storage::OpenerWith(std::move(settings))).While("script " + shown));
    termination.script_sha256 = file.sha256;
    RETURN_IF_ERROR(script::CheckScriptDigest(file, shown, flags.sha256));
    const Status put = script::PutScript(file, shown, flags.entrypoint, flags.folder);
    if (!put.ok()) termination.script_sha256.clear();
    return put;
  };
  const Status status = fetch();
  termination.code = ToExitCode(status.code());
  // A script with the expected digest has existed and may be restored, so the pod should be retried.
  const bool may_come_back = status.code() == StatusCode::kFailedPrecondition || status.code() == StatusCode::kNotFound;
  if (!flags.sha256.empty() && may_come_back) termination.code = ExitCode::kUnavailable;
  termination.message = status.message();
  telemetry::WriteTermination(termination);
  return status.ok() ? Done(termination.script_sha256 + "\n") : Fail(termination.code, status.message());
}

}  // namespace

void AddFetchScriptCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("fetch-script", "Fetch the script of a program and verify its digest");
  auto flags = std::make_shared<FetchScriptFlags>();
  command->footer(kFetchScriptFooter);
  command->add_option("uri", flags->uri, "The script or archive: a path, a file: URI or s3://bucket/key")->required();
  command->add_option("--folder", flags->folder, "Target folder; created if it does not exist")->required();
  command->add_option("--entrypoint", flags->entrypoint,
                      "File that the archive must contain; the archive is unpacked. Default: the script is one file");
  command->add_option("--sha256", flags->sha256, "Expected SHA-256 of the script. Default: any");
  command->add_option("--shown-as", flags->shown, "Name of the script in messages; default: its URI");
  command->callback([=] { *chosen = [flags] { return FetchScript(*flags); }; });
}

}  // namespace espalier::cli
