// Mutual TLS over real sockets: accepted and refused peers, and rotation of certificates.
#include "services/rpc/tls.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "espalier/graph/v1/graph.grpc.pb.h"
#include "services/rpc/call.h"
#include "services/rpc/deadline.h"
#include "services/rpc/server.h"
#include "services/rpc/status_map.h"
#include "services/rpc/testing/health_check.h"
#include "services/rpc/testing/tls_folder.h"

namespace espalier::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::kTestJob;
using testing::TlsFolder;

// Counts calls.
class Describer final : public graph::v1::GraphStore::CallbackService {
 public:
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const graph::v1::DescribeRequest*,
                                     graph::v1::DescribeResponse*) override {
    ++calls;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  std::atomic<int> calls = 0;
};

class TlsTest : public ::testing::Test {
 protected:
  void StartServer() {
    ServerOptions options;
    options.tls = folder_.Load(pki::PeerRole::kServer);
    options.callers = {pki::PeerRole::kSampler, pki::PeerRole::kTrainer};
    auto server = RpcServer::Start(options, {&describer_});
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
  }

  // One attempt of a call over a new connection.
  Status CallAs(const std::shared_ptr<const TransportSecurity>& tls, const char* method = kDescribe) {
    ChannelSettings settings;
    settings.tls = tls;
    return Call(MakeChannel(server_->address(), settings), method);
  }

  static Status Call(const std::shared_ptr<grpc::Channel>& channel, const char* method = kDescribe) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(ToSystemTime(Deadline::After(seconds(20))));
    const grpc::ByteBuffer request(nullptr, 0);
    grpc::ByteBuffer reply;
    std::promise<grpc::Status> ended;
    stub.UnaryCall(&context, method, grpc::StubOptions(), &request, &reply,
                   [&](grpc::Status status) { ended.set_value(std::move(status)); });
    return FromGrpc(ended.get_future().get());
  }

  static constexpr const char* kDescribe = "/espalier.graph.v1.GraphStore/Describe";
  TlsFolder folder_;
  Describer describer_;
  std::unique_ptr<RpcServer> server_;
};

// A client with the given files that accepts any server certificate.
std::shared_ptr<grpc::Channel> UncheckedChannel(const std::string& address, const TlsSettings& settings,
                                                bool shows_certificate = true) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  using Watcher = grpc::experimental::FileWatcherCertificateProvider;
  options.set_certificate_provider(
      shows_certificate ? std::make_shared<Watcher>(settings.key_file, settings.certificate_file, settings.ca_file, 1)
                        : std::make_shared<Watcher>(settings.ca_file, 1));
  options.watch_root_certs();
  if (shows_certificate) options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  return grpc::CreateChannel(address, grpc::experimental::TlsCredentials(options));
}

TEST_F(TlsTest, AcceptsProcessesOfJob) {
  StartServer();
  for (const pki::PeerRole role : {pki::PeerRole::kSampler, pki::PeerRole::kTrainer}) {
    const Status status = CallAs(folder_.Load(role));
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_EQ(describer_.calls, 2);
}

TEST_F(TlsTest, RefusesCallsOfOtherRolesButAnswersTheirHealthChecks) {
  StartServer();
  for (const pki::PeerRole role : {pki::PeerRole::kServer, pki::PeerRole::kPartitioner, pki::PeerRole::kOperator}) {
    const auto tls = folder_.Load(role);
    const Status status = CallAs(tls);
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("where a sampler or trainer is expected"));
    EXPECT_TRUE(CallAs(tls, testing::kHealth).ok());
  }
  EXPECT_EQ(describer_.calls, 0);
}

TEST_F(TlsTest, RefusesPeersOfOtherJobs) {
  StartServer();
  const pki::PeerRole role = pki::PeerRole::kTrainer;
  const auto refused = [&](const char* who, const std::shared_ptr<grpc::Channel>& channel) {
    const Status status = Call(channel);
    EXPECT_THAT(status.code(),
                AnyOf(StatusCode::kUnavailable, StatusCode::kUnauthenticated, StatusCode::kPermissionDenied))
        << who << ": " << status.ToString();
  };
  const std::string address = server_->address();
  folder_.Issue(role);
  EXPECT_TRUE(Call(UncheckedChannel(address, folder_.SettingsOf(role))).ok()) << "the test's client works";

  folder_.Issue(role, {.identity = {{"default", "other"}, role}});
  refused("another job", UncheckedChannel(address, folder_.SettingsOf(role)));
  folder_.Issue(role, {.identity = {kTestJob, role}, .valid_since = std::chrono::hours(2), .valid_for = seconds(-60)});
  refused("expired", UncheckedChannel(address, folder_.SettingsOf(role)));
  refused("no certificate", UncheckedChannel(address, folder_.SettingsOf(role), /*shows_certificate=*/false));
  TlsFolder other;
  other.Issue(role);
  refused("another authority", UncheckedChannel(address, other.SettingsOf(role)));
  refused("plaintext", grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  EXPECT_EQ(describer_.calls, 1);
}

TEST_F(TlsTest, ClientSendsNothingToUnexpectedServer) {
  StartServer();
  ChannelSettings settings;
  settings.tls = folder_.Load(pki::PeerRole::kTrainer);
  settings.server_role = pki::PeerRole::kSampler;
  Status status = Call(MakeChannel(server_->address(), settings));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("a server where a sampler is expected"));

  TlsFolder other;
  settings.tls = other.Load(pki::PeerRole::kTrainer);
  settings.server_role = pki::PeerRole::kServer;
  EXPECT_EQ(Call(MakeChannel(server_->address(), settings)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(describer_.calls, 0);
}

TEST_F(TlsTest, RefusesToStartWithInvalidCertificates) {
  folder_.Issue(pki::PeerRole::kTrainer);
  const auto tls = TransportSecurity::Load(folder_.SettingsOf(pki::PeerRole::kTrainer), pki::PeerRole::kSampler);
  EXPECT_EQ(tls.status().code(), StatusCode::kPermissionDenied);
}

TEST_F(TlsTest, LetsAServerListenForOtherHosts) {
  ServerOptions options;
  options.listen = "0.0.0.0:0";
  options.tls = folder_.Load(pki::PeerRole::kServer);
  EXPECT_TRUE(RpcServer::Start(options, {&describer_}).ok());
}

// No call fails while new connections are opened and the certificates of both ends are replaced every 100 ms.
TEST_F(TlsTest, ReplacesCertificatesWithoutAFailedCall) {
  StartServer();
  ChannelSettings settings;
  settings.tls = folder_.Load(pki::PeerRole::kTrainer);
  std::atomic<bool> stop = false;
  std::atomic<int> good = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      const auto kept = MakeChannel(server_->address(), settings);
      while (!stop) {
        for (const auto& channel : {kept, MakeChannel(server_->address(), settings)}) {
          const Status status = Call(channel);
          EXPECT_TRUE(status.ok()) << status.ToString();
          if (status.ok()) ++good;
        }
      }
    });
  }
  // Files are polled every second: after three, each end has loaded new ones at least twice.
  const Timer timer;
  const Deadline enough = Deadline::After(seconds(60));
  int issued = 0;
  while ((timer.Seconds() < 3.2 || issued <= 3 || good <= 10) && !enough.HasPassed()) {
    folder_.Issue(pki::PeerRole::kServer);
    folder_.Issue(pki::PeerRole::kTrainer);
    ++issued;
    Clock::Real().SleepFor(milliseconds(100));
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(issued, 3);
  EXPECT_GT(good, 10);
}

// A key without its certificate, as read between two writes.
TEST_F(TlsTest, KeepsOldCertificateWhileNewPairDoesNotMatch) {
  StartServer();
  ChannelSettings settings;
  settings.tls = folder_.Load(pki::PeerRole::kTrainer);
  const auto kept = MakeChannel(server_->address(), settings);
  ASSERT_TRUE(Call(kept).ok());

  folder_.Issue(pki::PeerRole::kSampler);
  const auto leaf = pki::IssueLeaf(folder_.authority(), {.identity = {kTestJob, pki::PeerRole::kServer}});
  // Replaced by rename: gRPC aborts the process if it finds the file empty.
  const std::string key_file = folder_.KeyFile(pki::PeerRole::kServer);
  std::ofstream(key_file + ".next") << leaf->key_pem.Reveal();
  std::filesystem::rename(key_file + ".next", key_file);
  // Until the server has loaded it: new connections fail, the old one stays usable.
  const Deadline seen = Deadline::After(seconds(20));
  while (Call(MakeChannel(server_->address(), settings)).ok() && !seen.HasPassed()) EXPECT_TRUE(Call(kept).ok());
  EXPECT_FALSE(seen.HasPassed());
  EXPECT_TRUE(Call(kept).ok());

  folder_.Issue(pki::PeerRole::kServer);
  const auto again = CallAndWait(std::make_shared<Peer>("server", server_->address(), settings), kDescribe,
                                 grpc::ByteBuffer(nullptr, 0), Deadline::After(seconds(20)));
  EXPECT_TRUE(again.ok()) << again.status().ToString();
}

}  // namespace
}  // namespace espalier::rpc
