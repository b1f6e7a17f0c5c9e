#include "services/server/main/sampler_flags.h"

#include "services/daemon/job_name_flag.h"

namespace espalier::server {

void AddSamplerFlags(CLI::App& app, SamplerFlags* flags) {
  app.add_option("--job", flags->job_file, "the job's document")->envname("ESPALIER_JOB")->required();
  app.add_option("--servers", flags->servers,
                 "host:port of each partition's graph server, separated by commas; host-[0-9]:port means ten servers; "
                 "replicas of a partition are joined by |")
      ->envname("ESPALIER_SERVERS")
      ->delimiter(',')
      ->required();
  app.add_option("--access", flags->access,
                 "mapped: map the servers' files; rpc: send requests; auto: map files if possible")
      ->envname("ESPALIER_ACCESS")
      ->check(CLI::IsMember({"auto", "rpc", "mapped"}))
      ->capture_default_str();
  daemon::AddJobNameFlag(
      app, &flags->job_name,
      "the job's name at the graph servers; the job's trainers must use the same name; default: the document's name");
  app.add_option("--incarnation", flags->incarnation, "the job's incarnation; default: the one that the servers report")
      ->envname("ESPALIER_INCARNATION");
  app.add_option("--connect-seconds", flags->connect_seconds, "how long to wait for the servers")
      ->envname("ESPALIER_CONNECT_SECONDS")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  daemon::AddProcessFlags(app, &flags->process);
}

}  // namespace espalier::server
