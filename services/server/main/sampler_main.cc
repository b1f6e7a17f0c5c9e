// espalier-sampler: samples mini-batches from the graph servers and streams them to trainers.
#include <optional>
#include <utility>

#include "services/client/session/session.h"
#include "services/daemon/certificate_metrics.h"
#include "services/daemon/service_process.h"
#include "services/job/parsing/parse.h"
#include "services/rpc/address_range.h"
#include "services/rpc/call_metrics.h"
#include "services/server/main/job_check.h"
#include "services/server/main/sampler_flags.h"
#include "services/server/sampler_server.h"
#include "services/telemetry/configuration.h"
#include "services/telemetry/log.h"
#include "services/telemetry/termination.h"

namespace espalier::server {
namespace {

using telemetry::Level;
using telemetry::Log;

// A stop of the process ends the wait for graph servers and, later, the requests in progress.
Result<client::Session> ConnectTo(const SamplerFlags& flags, const std::string& job_name,
                                  std::shared_ptr<const rpc::TransportSecurity> tls, daemon::ServiceProcess& process) {
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

Result<ExitCode> Run(const SamplerFlags& flags, const CLI::App& app, const job::ParsedJob& job) {
  const std::string& job_name = flags.job_name.empty() ? job.training.name : flags.job_name;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<daemon::ServiceProcess> process,
      daemon::ServiceProcess::Start("sampler", flags.process, app,
                                    {{"document", telemetry::OneLine(job.effective_json)}, {"job_name", job_name}}));
  ASSIGN_OR_RETURN(const auto tls, daemon::LoadTls(flags.process.tls, pki::PeerRole::kSampler));
  const auto certificate_expiry = daemon::WatchCertificateExpiry(flags.process.tls, process->metrics());
  ASSIGN_OR_RETURN(const client::Session session, ConnectTo(flags, job_name, tls, *process));
  Log(Level::kInfo, "graph opened",
      {{"graph", session.graph_name}, {"key", session.partition_key}, {"access", ToString(session.access.front())}});

  SamplerServerOptions options;
  options.rpc = daemon::MakeRpcOptions(flags.process);
  options.rpc.tls = tls;
  options.worker_threads = daemon::CountThreads(flags.process);
  options.partition_key = session.partition_key;
  options.job = job_name;
  options.incarnation = session.incarnation->current();
  options.metrics = &process->metrics();
  options.admit = [&](const messages::StreamPlan& stream) {
    RETURN_IF_ERROR(CheckStreamIsOfJob(stream, job.training, job_name));
    session.incarnation->RaiseTo(stream.incarnation);
    return Status();
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<SamplerServer> server, SamplerServer::Start(options, session.graph));
  return process->ServeUntilStopped(server->address(), [&](Deadline deadline) { server->Drain(deadline); });
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Samples mini-batches and streams them to trainers.\n\nExample:\n  espalier-sampler --job job.yaml --servers "
      "127.0.0.1:7000,127.0.0.1:7001 --listen 127.0.0.1:7100",
      "espalier-sampler"};
  SamplerFlags flags;
  AddSamplerFlags(app, &flags);
  return daemon::ParseAndRun(app, argc, argv, flags.process, [&]() -> Result<ExitCode> {
    const Result<job::ParsedJob> job = job::ReadJob(flags.job_file);
    if (!job.ok()) return static_cast<ExitCode>(telemetry::Fail(job.status(), ExitCode::kBadDocument));
    if (const Status tls = daemon::CheckTls(job->training, flags.process.tls); !tls.ok()) {
      return static_cast<ExitCode>(telemetry::Fail(tls, ExitCode::kBadDocument));
    }
    return Run(flags, app, *job);
  });
}

}  // namespace
}  // namespace espalier::server

int main(int argc, char** argv) { return espalier::server::Main(argc, argv); }
