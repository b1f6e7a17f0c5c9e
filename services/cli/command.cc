#include "services/cli/command.h"

#include <cstdio>
#include <utility>

#include "services/base/parallel.h"
#include "services/storage/place_check.h"

namespace espalier::cli {

void AddOutputFlags(CLI::App* command, OutputFlags* flags) {
  command->add_flag("-q,--quiet", flags->quiet, "No progress, errors only");
  AddJsonFlag(command, &flags->json);
}

void AddJsonFlag(CLI::App* command, bool* json) { command->add_flag("--json", *json, "Print the result as JSON"); }

terminal::ProgressStyle ToProgressStyle(const OutputFlags& flags) { return terminal::StyleFor(stderr, flags.quiet); }

void AddThreadsFlag(CLI::App* command, int* threads) {
  *threads = AvailableProcessors();
  command
      ->add_option("--threads", *threads, "Threads, by default one per processor; the number does not change results")
      ->check(CLI::Range(1, 1024));
}

Outcome Done(std::string output) { return {.output = std::move(output)}; }

Outcome Fail(ExitCode code, std::string error) { return {.code = code, .error = std::move(error)}; }

Outcome Fail(const Status& status) { return Fail(ToExitCode(status.code()), status.message()); }

Outcome FailAt(const std::string& uri, const Status& status, const storage::StoreOpener& open_store) {
  return Fail(storage::FindExitCode(status, {uri}, open_store), status.message());
}

}  // namespace espalier::cli
