// Tests which server certificates the transport accepts, and which client certificate it sends.
#include <gmock/gmock.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <filesystem>
#include <fstream>

#include "operator/client/cpprest/testing/connect.h"

namespace espalier::ctl::client {
namespace {

class TlsTest : public testing::Test {
 protected:
  // Starts a server with a certificate of these options.
  std::unique_ptr<MisbehavingServer> Serve(const CertificateOptions& certificate, ServerOptions options = {}) {
    return Serve(authority_, certificate, std::move(options));
  }
  static std::unique_ptr<MisbehavingServer> Serve(const TestAuthority& issuer, const CertificateOptions& certificate,
                                                  ServerOptions options = {}) {
    options.certificate = issuer.Issue(certificate);
    return std::make_unique<MisbehavingServer>([](ServerConnection& connection) { connection.AnswerAll(); }, options);
  }
  Connection To(const MisbehavingServer& server) const {
    return {.host = "127.0.0.1", .port = server.port(), .ca_pem = authority_.pem()};
  }
  static Status Try(const Connection& connection) { return Connect(connection)->Send(Post("{}"), InTime()).status(); }
  // Expects that the request does not reach the server and that the error contains the reason.
  static void ExpectRefusal(const Connection& connection, const MisbehavingServer& server, const std::string& reason) {
    const Status status = Try(connection);
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status.ToString();
    EXPECT_THAT(status.message(), testing::HasSubstr(reason));
    EXPECT_TRUE(server.requests().empty());
  }

  const TestAuthority authority_{"cluster"};
};

TEST_F(TlsTest, AcceptsTheAddressInTheCertificate) {
  const auto server = Serve({.alternative_names = "DNS:kubernetes,IP:127.0.0.1"});
  const Status status = Try(To(*server));
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(server->requests().at(0).server_name, "");  // an address is not sent as SNI
}

TEST_F(TlsTest, AcceptsTheServerNameAndSendsIt) {
  const auto server = Serve({.alternative_names = "DNS:kubernetes.default.svc", .key = KeyKind::kRsa});
  Connection connection = To(*server);
  connection.server_name = "kubernetes.default.svc";
  const Status status = Try(connection);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(server->requests().at(0).server_name, "kubernetes.default.svc");
}

TEST_F(TlsTest, TrustsIntermediateAuthorityAlone) {
  const TestAuthority below("below", &authority_);
  const auto server = Serve(below, {.alternative_names = "IP:127.0.0.1"});
  Connection connection = To(*server);
  connection.ca_pem = below.pem();
  const Status status = Try(connection);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(TlsTest, RefusesAnotherAuthority) {
  const auto server = Serve(TestAuthority("cluster"), {.alternative_names = "IP:127.0.0.1"});
  ExpectRefusal(To(*server), *server, "");
}

TEST_F(TlsTest, RefusesACommonNameThatTheAlternativeNamesDoNotHave) {
  const auto server = Serve({.common_name = "127.0.0.1", .alternative_names = "DNS:other"});
  ExpectRefusal(To(*server), *server, "IP address mismatch");
}

TEST_F(TlsTest, RefusesACommonNameWithoutAlternativeNames) {
  for (const std::string name : {"127.0.0.1", "kubernetes"}) {
    const auto server = Serve({.common_name = name});
    Connection connection = To(*server);
    connection.server_name = name;
    ExpectRefusal(connection, *server, "mismatch");
  }
}

TEST_F(TlsTest, RefusesAnotherName) {
  const auto server = Serve({.alternative_names = "DNS:kubernetes"});
  Connection connection = To(*server);
  connection.server_name = "kubernetes.default";
  ExpectRefusal(connection, *server, "hostname mismatch");
}

TEST_F(TlsTest, RefusesAnExpiredCertificate) {
  const auto server = Serve({.alternative_names = "IP:127.0.0.1", .is_expired = true});
  ExpectRefusal(To(*server), *server, "expired");
}

TEST_F(TlsTest, RefusesAClientsCertificate) {
  const auto server = Serve({.alternative_names = "IP:127.0.0.1", .usage = "clientAuth"});
  ExpectRefusal(To(*server), *server, "purpose");
}

TEST_F(TlsTest, SystemAuthoritiesApplyOnlyWithoutCaFile) {
  const auto server = Serve(MachineAuthority(), {.alternative_names = "IP:127.0.0.1"});
  ExpectRefusal(To(*server), *server, "");

  Connection connection = To(*server);
  connection.ca_pem.clear();
  const Status status = Try(connection);
  EXPECT_TRUE(status.ok()) << status.ToString();
  // InitializeCpprest sets SSL_CERT_FILE to /dev/null, so that the library does not load the machine's authorities for
  // every connection. The transport itself uses the file that the variable named before.
  EXPECT_STREQ(std::getenv("SSL_CERT_FILE"), "/dev/null");
}

TEST_F(TlsTest, RefusesOldTls) {
  const auto server = Serve({.alternative_names = "IP:127.0.0.1"}, {.max_tls_version = TLS1_1_VERSION});
  EXPECT_EQ(Try(To(*server)).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(server->requests().empty());
}

TEST_F(TlsTest, SkipsVerificationIfConfigured) {
  const auto server = Serve(TestAuthority("x"), {.alternative_names = "DNS:other", .is_expired = true});
  Connection connection = To(*server);
  connection.skip_verification = true;
  const Status status = Try(connection);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(TlsTest, ReadsTheAuthorityFileForEachConnection) {
  const auto server = Serve({.alternative_names = "IP:127.0.0.1"});
  const std::string path = testing::TempDir() + "/ca-" + std::to_string(getpid()) + ".crt";
  Connection connection = To(*server);
  connection.ca_pem.clear();
  connection.ca_file = path;
  const auto transport = Connect(connection);

  const Status missing = transport->Send(Get(), InTime()).status();
  EXPECT_EQ(missing.code(), StatusCode::kFailedPrecondition) << missing.ToString();
  EXPECT_THAT(missing.message(), testing::HasSubstr(path));
  std::ofstream(path) << "not a certificate";
  EXPECT_EQ(transport->Send(Get(), InTime()).status().code(), StatusCode::kFailedPrecondition);
  std::ofstream(path) << TestAuthority("old").pem();
  EXPECT_EQ(transport->Send(Get(), InTime()).status().code(), StatusCode::kUnauthenticated);
  std::ofstream(path) << TestAuthority("old").pem() << authority_.pem();
  const Status status = transport->Send(Get(), InTime()).status();
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::filesystem::remove(path);
}

Credentials Showing(const CertificateAndKey& pair) {
  return {.client_certificate_pem = pair.certificate_pem, .client_key_pem = telemetry::Secret(pair.key_pem)};
}

class ClientCertificateTest : public TlsTest {
 protected:
  ClientCertificateTest() : server_(Serve({.alternative_names = "IP:127.0.0.1"}, {.client_ca_pem = clients_.pem()})) {}

  Connection As(std::vector<Credentials> turns) const {
    Connection connection = To(*server_);
    connection.credentials = std::make_shared<CredentialsInTurn>(std::move(turns));
    return connection;
  }
  CertificateAndKey Client(const std::string& name, KeyKind key = KeyKind::kEc) const {
    return clients_.Issue({.common_name = name, .usage = "clientAuth", .key = key});
  }

  const TestAuthority clients_{"clients"};
  const std::unique_ptr<MisbehavingServer> server_;
};

TEST_F(ClientCertificateTest, IsSentToServer) {
  for (const KeyKind key : {KeyKind::kEc, KeyKind::kRsa}) {
    const Status status = Try(As({Showing(Client("operator", key))}));
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(server_->requests().back().client_name, "operator");
  }
}

TEST_F(ClientCertificateTest, MismatchedKeyIsError) {
  for (const KeyKind certificate : {KeyKind::kEc, KeyKind::kRsa}) {
    CertificateAndKey pair = Client("operator", certificate);
    pair.key_pem = Client("other", KeyKind::kRsa).key_pem;
    const Status status = Try(As({Showing(pair)}));
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), testing::HasSubstr("do not belong together"));
  }
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(ClientCertificateTest, InvalidPemIsRefused) {
  CertificateAndKey pair = Client("operator");
  pair.key_pem = "no key";
  EXPECT_EQ(Try(As({Showing(pair)})).code(), StatusCode::kFailedPrecondition);
  pair = Client("operator");
  pair.certificate_pem = "no certificate";
  EXPECT_EQ(Try(As({Showing(pair)})).code(), StatusCode::kFailedPrecondition);
}

TEST_F(ClientCertificateTest, EncryptedKeyIsRefusedWithoutPrompt) {
  CertificateAndKey pair = Client("operator");
  BIO* plain = BIO_new_mem_buf(pair.key_pem.data(), -1);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(plain, nullptr, nullptr, nullptr);
  BIO* encrypted = BIO_new(BIO_s_mem());
  unsigned char password[] = "secret";
  PEM_write_bio_PrivateKey(encrypted, key, EVP_aes_128_cbc(), password, 6, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(encrypted, &text);
  pair.key_pem.assign(text, static_cast<size_t>(size));
  BIO_free(plain);
  BIO_free(encrypted);
  EVP_PKEY_free(key);

  const Status status = Try(As({Showing(pair)}));
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), testing::HasSubstr("encrypted"));
}

TEST_F(ClientCertificateTest, ReplacedCertificateUsesNewConnection) {
  const Connection connection = As({Showing(Client("old")), Showing(Client("new"))});
  const auto transport = Connect(connection);
  EXPECT_TRUE(transport->Send(Get(), InTime()).ok());
  connection.credentials->Reject();
  EXPECT_TRUE(transport->Send(Get(), InTime()).ok());
  EXPECT_EQ(server_->requests().at(0).client_name, "old");
  EXPECT_EQ(server_->requests().at(1).client_name, "new");
}

TEST_F(ClientCertificateTest, RejectedByServerIsError) {
  EXPECT_FALSE(Try(To(*server_)).ok());
  EXPECT_FALSE(Try(As({Showing(authority_.Issue({.common_name = "stranger", .usage = "clientAuth"}))})).ok());
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(ClientCertificateTest, StreamsLinesOverTls) {
  ServerOptions options{.certificate = authority_.Issue({.alternative_names = "IP:127.0.0.1"})};
  MisbehavingServer server(
      [](ServerConnection& connection) {
        connection.Read();
        connection.StartChunks();
        connection.Chunk("a\nb\n");
        connection.AwaitClose();
      },
      options);
  const auto transport = Connect(To(server));
  const auto stream = transport->Open(Get(), InTime());
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(**stream->lines->Next(InTime()), "a");
  EXPECT_EQ(**stream->lines->Next(InTime()), "b");
  server.Stop();
  EXPECT_EQ(stream->lines->Next(InTime()).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace espalier::ctl::client
