// StartOnce writes the certificates to a temporary folder, starts etcd, then kube-apiserver, then the other programs,
// and polls until each of the first two is ready. Start retries with new ports, because another process may take a free
// port before the program binds it.
#include "operator/client/testing/real_api_server.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_join.h"
#include "operator/kube/json.h"
#include "services/base/base64.h"
#include "services/base/clock.h"
#include "services/http/curl_transport.h"
#include "services/storage/testing/free_port.h"

namespace espalier::ctl::client {
namespace {

using process::ChildProcess;
using storage::FreePort;

constexpr int kMaxStarts = 3;
constexpr std::chrono::seconds kStartTime{60};  // enough for a busy machine

Result<http::Response> Exchange(const std::string& method, const std::string& url, const std::string& ca_file,
                                const std::string& body) {
  http::CurlTransport transport({.ca_file = ca_file});
  const http::Request request{
      .method = method, .url = url, .body = std::as_bytes(std::span(body)), .proxy = http::ProxyUse::kNone};
  return transport.Send(request, {.deadline = Deadline::After(std::chrono::seconds(5))});
}

}  // namespace

std::string RealApiServer::Tools() {
  if (const char* const folder = std::getenv("ESPALIER_KUBE_TOOLS"); folder != nullptr) return folder;
  return ESPALIER_KUBE_TOOLS_FOLDER;
}

RealApiServer::RealApiServer(RealApiServerOptions options) : options_(std::move(options)) {}

RealApiServer::~RealApiServer() { others_.clear(); }

Result<std::unique_ptr<RealApiServer>> RealApiServer::Start(const RealApiServerOptions& options) {
  if (Tools().empty()) return FailedPrecondition("ESPALIER_KUBE_TOOLS names no folder (e2e/tools/build.sh makes one)");
  Status last;
  for (int i = 0; i < kMaxStarts; ++i) {
    std::unique_ptr<RealApiServer> server(new RealApiServer(options));
    last = server->StartOnce();
    if (last.ok()) return server;
  }
  return last;
}

Status RealApiServer::StartOnce() {
  ASSIGN_OR_RETURN(const uint16_t etcd_port, FreePort());
  ASSIGN_OR_RETURN(port_, FreePort());
  etcd_url_ = "http://127.0.0.1:" + std::to_string(etcd_port);
  ASSIGN_OR_RETURN(ChildProcess etcd,
                   Run("etcd", {"--data-dir=" + folder() + "/etcd", "--listen-client-urls=" + etcd_url_,
                                "--advertise-client-urls=" + etcd_url_, "--listen-peer-urls=http://127.0.0.1:0",
                                "--unsafe-no-fsync", "--log-level=warn"}));
  etcd_ = std::make_unique<ChildProcess>(std::move(etcd));
  RETURN_IF_ERROR(AwaitReady(etcd_url_ + "/health", "etcd", *etcd_));

  const CertificateAndKey serving = authority_.Issue(
      {.common_name = "kube-apiserver", .alternative_names = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"});
  RETURN_IF_ERROR(WriteFile("ca.crt", authority_.pem()));
  RETURN_IF_ERROR(WriteFile("server.crt", serving.certificate_pem));
  RETURN_IF_ERROR(WriteFile("server.key", serving.key_pem));
  const CertificateAndKey accounts = authority_.Issue({.common_name = "accounts"});
  RETURN_IF_ERROR(WriteFile("accounts.crt", accounts.certificate_pem));
  RETURN_IF_ERROR(WriteFile("accounts.key", accounts.key_pem));
  RETURN_IF_ERROR(WriteFile("admin.kubeconfig", KubeConfigOf("admin", {"system:masters"})));
  RETURN_IF_ERROR(
      WriteFile("audit.json", R"({"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Request"}]})"));
  RETURN_IF_ERROR(StartApiServer());
  return StartOthers();
}

Status RealApiServer::StartApiServer() {
  const std::string at = folder() + "/";
  std::vector<std::string> flags = {
      "--etcd-servers=" + etcd_url_, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
      "--secure-port=" + std::to_string(port_), "--cert-dir=" + at + "certs", "--client-ca-file=" + at + "ca.crt",
      "--tls-cert-file=" + at + "server.crt", "--tls-private-key-file=" + at + "server.key",
      "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + at + "accounts.crt",
      "--service-account-signing-key-file=" + at + "accounts.key", "--service-cluster-ip-range=10.96.0.0/16",
      "--authorization-mode=RBAC",
      // Pods of tests use service accounts that no controller has created.
      "--disable-admission-plugins=ServiceAccount"};
  if (options_.audit) {
    flags.push_back("--audit-policy-file=" + at + "audit.json");
    flags.push_back("--audit-log-path=" + audit_log());
  }
  flags.insert(flags.end(), options_.flags.begin(), options_.flags.end());
  ASSIGN_OR_RETURN(ChildProcess child, Run("kube-apiserver", std::move(flags)));
  api_server_ = std::make_unique<ChildProcess>(std::move(child));
  // Anonymous requests for /readyz are allowed as soon as the default RBAC rules exist.
  return AwaitReady("https://127.0.0.1:" + std::to_string(port_) + "/readyz", "kube-apiserver", *api_server_);
}

Status RealApiServer::StartOthers() {
  const std::string config = "--kubeconfig=" + folder() + "/admin.kubeconfig";
  const auto start = [&](const std::string& program, std::vector<std::string> flags) -> Status {
    ASSIGN_OR_RETURN(ChildProcess child, Run(program, std::move(flags)));
    others_.push_back(std::make_unique<ChildProcess>(std::move(child)));
    return {};
  };
  if (!options_.controllers.empty()) {
    RETURN_IF_ERROR(start("kube-controller-manager",
                          {config, "--controllers=" + absl::StrJoin(options_.controllers, ","), "--leader-elect=false",
                           "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400",
                           "--service-account-private-key-file=" + folder() + "/accounts.key",
                           "--root-ca-file=" + folder() + "/ca.crt"}));
  }
  if (options_.scheduler) {
    RETURN_IF_ERROR(start("kube-scheduler", {config, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=200",
                                             "--kube-api-burst=400"}));
  }
  if (!options_.kwok_stages.empty()) {
    RETURN_IF_ERROR(start(
        "kwok", {config, "--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                 "--config=" + options_.kwok_stages}));
  }
  return {};
}

Result<ChildProcess> RealApiServer::Run(const std::string& program, std::vector<std::string> flags) const {
  return ChildProcess::Start({.name = program,
                              .program = Tools() + "/" + program,
                              .arguments = std::move(flags),
                              .environment = {{"HOME", folder()}, {"PATH", "/usr/bin:/bin"}},
                              .inherits_environment = false,
                              .log_path = folder() + "/" + program + ".log"});
}

Status RealApiServer::AwaitReady(const std::string& url, const std::string& program, ChildProcess& child) const {
  const std::string ca_file = url.starts_with("https") ? folder() + "/ca.crt" : "";
  const Deadline deadline = Deadline::After(kStartTime);
  while (!deadline.HasPassed()) {
    const Result<http::Response> answer = Exchange("GET", url, ca_file, "");
    if (answer.ok() && answer->status == 200) return {};
    if (child.Poll()) return Unavailable(program + " has ended: " + LogOf(program));
    Clock::Real().SleepFor(std::chrono::milliseconds(50));  // polls another process
  }
  return DeadlineExceeded(program + " is not ready: " + LogOf(program));
}

Status RealApiServer::WriteFile(const std::string& name, const std::string& text) const {
  std::ofstream file(folder() + "/" + name, std::ios::binary);
  file << text << std::flush;
  return file ? Status() : Internal("writing " + name);
}

Connection RealApiServer::ConnectionOf(const std::string& user, const std::vector<std::string>& groups) const {
  const CertificateAndKey pair =
      authority_.Issue({.common_name = user, .organizations = groups, .usage = "clientAuth"});
  Connection connection;
  connection.host = "127.0.0.1";
  connection.port = port_;
  connection.ca_pem = authority_.pem();
  connection.credentials = MakeFixedCredentials(
      {.client_certificate_pem = pair.certificate_pem, .client_key_pem = telemetry::Secret(pair.key_pem)});
  return connection;
}

std::string RealApiServer::KubeConfigOf(const std::string& user, const std::vector<std::string>& groups) const {
  const CertificateAndKey pair =
      authority_.Issue({.common_name = user, .organizations = groups, .usage = "clientAuth"});
  return "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
         "contexts: [{name: test, context: {cluster: test, user: test}}]\n"
         "clusters: [{name: test, cluster: {server: \"https://127.0.0.1:" +
         std::to_string(port_) + "\", certificate-authority-data: " + EncodeBase64(authority_.pem()) +
         "}}]\nusers: [{name: test, user: {client-certificate-data: " + EncodeBase64(pair.certificate_pem) +
         ", client-key-data: " + EncodeBase64(pair.key_pem) + "}}]\n";
}

void RealApiServer::Kill() { api_server_.reset(); }

Status RealApiServer::Restart() {
  Kill();
  return StartApiServer();
}

void RealApiServer::Freeze() {
  if (api_server_ == nullptr) return;
  api_server_->Signal(SIGSTOP);
  // Waits until all its threads are stopped.
  siginfo_t ignored{};
  waitid(P_PID, static_cast<id_t>(api_server_->pid()), &ignored, WSTOPPED | WEXITED | WNOWAIT);
}

void RealApiServer::Thaw() {
  if (api_server_ != nullptr) api_server_->Signal(SIGCONT);
}

Result<std::string> RealApiServer::AskEtcd(const std::string& call, const std::string& body) const {
  ASSIGN_OR_RETURN(http::Response answer, Exchange("POST", etcd_url_ + "/v3/kv/" + call, "", body));
  if (answer.status != 200) return Unavailable("etcd answers " + std::to_string(answer.status) + ": " + answer.body);
  return std::move(answer.body);
}

Status RealApiServer::Compact() {
  ASSIGN_OR_RETURN(const std::string newest, AskEtcd("range", R"({"key":"AA=="})"));
  ASSIGN_OR_RETURN(const kube::Json answer, kube::ParseJson(newest));
  const std::string revision = kube::StringAt(answer, {"header", "revision"});
  const Result<std::string> compacted = AskEtcd("compaction", R"({"physical":true,"revision":")" + revision + "\"}");
  return compacted.ok() ? Status() : compacted.status();
}

std::string RealApiServer::audit_log() const { return folder() + "/audit.log"; }

std::string RealApiServer::LogOf(const std::string& program) const {
  std::ostringstream text;
  text << std::ifstream(folder() + "/" + program + ".log").rdbuf();
  return text.str();
}

}  // namespace espalier::ctl::client
