// espalier-sampler: draws mini-batches from the graph servers and streams them to trainers.
#include <optional>
#include <utility>

#include "CLI/CLI.hpp"
#include "services/apps/configuration/configuration.h"
#include "services/apps/serving/job_check.h"
#include "services/apps/serving/service_process.h"
#include "services/apps/transport/certificate_metrics.h"
#include "services/apps/transport/job_name_flag.h"
#include "services/client/session.h"
#include "services/job/parse.h"
#include "services/job/read_document.h"
#include "services/rpc/address_range.h"
#include "services/rpc/call_metrics.h"
#include "services/server/sampler_server.h"
#include "services/telemetry/log.h"

namespace espalier::serving {
namespace {

using telemetry::Level;
using telemetry::Log;

struct Flags {
  std::string job_file;
  std::vector<std::string> servers;
  std::string access = "auto";
  std::string job_name;  // empty: the document's
  std::optional<uint64_t> incarnation;
  int connect_seconds = 120;
  ProcessOptions process;
};

void AddFlags(CLI::App& app, Flags* flags) {
  app.add_option("--job", flags->job_file, "the job's document")->envname("ESPALIER_JOB")->required();
  app.add_option("--servers", flags->servers,
                 "host:port of each partition's graph server, separated by commas; host-[0-9]:port is ten; several of "
                 "a partition are joined by |")
      ->envname("ESPALIER_SERVERS")
      ->delimiter(',')
      ->required();
  app.add_option("--access", flags->access, "auto, rpc, or mapped (share the servers' files)")
      ->envname("ESPALIER_ACCESS")
      ->check(CLI::IsMember({"auto", "rpc", "mapped"}))
      ->capture_default_str();
  transport::AddJobNameFlag(app, &flags->job_name,
                            "by which graph servers know the job, as its trainers'; default: the document's name");
  app.add_option("--incarnation", flags->incarnation, "the job's restarts so far; absent: as the servers say")
      ->envname("ESPALIER_INCARNATION");
  app.add_option("--connect-seconds", flags->connect_seconds, "how long to wait for the servers to be up")
      ->envname("ESPALIER_CONNECT_SECONDS")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  AddProcessFlags(app, &flags->process);
}

Result<job::ParsedJob> ReadJob(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, job::ReadDocument(path));
  return job::ParseJob(path, text, {});
}

// Signals end the wait for servers, and later the questions under way.
Result<client::Session> ConnectTo(const Flags& flags, const std::string& job_name,
                                  std::shared_ptr<const rpc::TransportSecurity> tls, ServiceProcess& process) {
  client::SessionOptions options;
  ASSIGN_OR_RETURN(options.addresses, rpc::ExpandAddresses(flags.servers));
  options.job = job_name;
  options.incarnation = flags.incarnation;
  options.connect_timeout = std::chrono::seconds(flags.connect_seconds);
  options.channel.stop = process.stop();
  options.channel.metrics = std::make_shared<rpc::CallMetrics>(process.shared_metrics());
  options.channel.tls = std::move(tls);
  ASSIGN_OR_RETURN(options.access, client::ParseAccess(flags.access));
  return client::Connect(options);
}

Result<ExitCode> Run(const Flags& flags, const CLI::App& app, const job::ParsedJob& job) {
  const std::string& job_name = flags.job_name.empty() ? job.training.name : flags.job_name;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ServiceProcess> process,
      ServiceProcess::Start("sampler", flags.process, app,
                            {{"document", configuration::OneLine(job.effective_json)}, {"job_name", job_name}}));
  ASSIGN_OR_RETURN(const auto tls, transport::LoadTls(flags.process.tls, pki::PeerRole::kSampler));
  const auto certificate_expiry = transport::WatchCertificateExpiry(flags.process.tls, process->metrics());
  ASSIGN_OR_RETURN(const client::Session session, ConnectTo(flags, job_name, tls, *process));
  Log(Level::kInfo, "graph opened",
      {{"graph", session.graph_name}, {"key", session.partition_key}, {"access", NameOf(session.access.front())}});

  server::SamplerServerOptions options;
  options.rpc = RpcOptionsOf(flags.process);
  options.rpc.tls = tls;
  options.worker_threads = ThreadsOf(flags.process);
  options.partition_key = session.partition_key;
  options.job = job_name;
  options.incarnation = session.incarnation->current();
  options.metrics = &process->metrics();
  options.admit = [&](const messages::StreamPlan& stream) {
    RETURN_IF_ERROR(CheckStreamIsOfJob(stream, job.training, job_name));
    session.incarnation->RaiseTo(stream.incarnation);
    return Status();
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<server::SamplerServer> server,
                   server::SamplerServer::Start(options, session.graph));
  return process->ServeUntilStopped(server->address(), [&](Deadline deadline) { server->Drain(deadline); });
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Draws mini-batches and streams them to trainers.\n\nExample:\n  espalier-sampler --job job.yaml "
      "--servers 127.0.0.1:7000,127.0.0.1:7001 --listen 127.0.0.1:7100",
      "espalier-sampler"};
  Flags flags;
  AddFlags(app, &flags);
  return ParseAndRun(app, argc, argv, flags.process, [&]() -> Result<ExitCode> {
    const Result<job::ParsedJob> job = ReadJob(flags.job_file);
    if (!job.ok()) return static_cast<ExitCode>(Fail(job.status(), ExitCode::kBadDocument));
    if (const Status tls = transport::CheckTlsOf(job->training, flags.process.tls); !tls.ok()) {
      return static_cast<ExitCode>(Fail(tls, ExitCode::kBadDocument));
    }
    return Run(flags, app, *job);
  });
}

}  // namespace
}  // namespace espalier::serving

int main(int argc, char** argv) { return espalier::serving::Main(argc, argv); }
