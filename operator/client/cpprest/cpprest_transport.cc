// Send and Open share SendUntilHead, which waits for the head of the response. SendUntilHeadOnce takes a client from
// the pool and starts an Exchange; SendUntilHead calls it again after a 401, and if the request could not be written to
// a reused connection. A client goes back to the pool only after a response that was read completely. After most errors
// no other connection is reused either (HandleFailure), because the others probably have the same problem.
#include "operator/client/cpprest/cpprest_transport.h"

#include "operator/client/cpprest/endpoint.h"
#include "operator/client/cpprest/exchange.h"
#include "operator/client/cpprest/initialize.h"
#include "operator/client/cpprest/wire_request.h"

namespace espalier::ctl::client {
namespace {

// A response whose head has arrived.
struct Answer {
  std::shared_ptr<PooledClient> client;
  std::shared_ptr<Exchange> exchange;
  HttpResponse head;
};

Status CheckMaySend(Deadline deadline, const std::stop_token& stop) {
  if (stop.stop_requested()) return Cancelled("the request was cancelled");
  if (deadline.HasPassed()) return DeadlineExceeded("the deadline has passed before the request was sent");
  return {};
}

// Returns whether the connection can be reused after this response. The library does not read trailers, so the next
// request would receive them as the start of its response.
bool CanReuseConnection(const HttpResponse& head) { return head.Header("Trailer").empty(); }

// The lines of a response. Puts the connection back into the pool after a complete response without trailers; otherwise
// the connection is closed.
class CpprestLineStream final : public LineStream {
 public:
  CpprestLineStream(Answer answer, std::shared_ptr<ClientPool> pool)
      : pool_(std::move(pool)),
        exchange_(std::move(answer.exchange)),
        can_reuse_(CanReuseConnection(answer.head)),
        client_(std::move(answer.client)) {}
  ~CpprestLineStream() override { exchange_->Cancel(); }

  Result<std::optional<std::string>> Next(Deadline deadline) override {
    Result<std::optional<std::string>> line = exchange_->body().NextLine(deadline);
    if (line.ok() && !line->has_value() && client_ && can_reuse_) pool_->Return(std::move(client_));
    return line;
  }

  void Cancel() override { exchange_->Cancel(); }

 private:
  const std::shared_ptr<ClientPool> pool_;
  const std::shared_ptr<Exchange> exchange_;
  const bool can_reuse_;
  std::shared_ptr<PooledClient> client_;  // used only by the thread that calls Next
};

class CpprestTransport final : public HttpTransport {
 public:
  CpprestTransport(const Connection& connection, Endpoint endpoint, AuthorityPaths system,
                   const CpprestOptions& options)
      : options_(options),
        endpoint_(std::move(endpoint)),
        wire_{.base_path = connection.base_path,
              .user_agent = options.user_agent,
              .impersonate_user = connection.impersonate_user,
              .impersonate_uid = connection.impersonate_uid,
              .impersonate_groups = connection.impersonate_groups,
              .tls = connection.tls},
        credentials_(connection.credentials),
        pool_(std::make_shared<ClientPool>(connection, endpoint_, std::move(system), options.tunnel_timeout)) {}

  Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;

 private:
  enum class Connecting { kReuse, kNew };

  Result<Answer> SendUntilHead(const kube::HttpRequest& request, Deadline deadline, const std::stop_token& stop,
                               LineBuffer::Limits limits);
  Result<Answer> SendUntilHeadOnce(const kube::HttpRequest& request, Deadline deadline, const std::stop_token& stop,
                                   LineBuffer::Limits limits, Connecting connecting, bool* was_reused);
  Result<Credentials> GetCredentials(Deadline deadline);
  Result<std::string> ReadBody(Answer& answer, Deadline deadline, const std::stop_token& stop);
  // Prevents the reuse of all current connections unless the failure concerns only one request. Returns the status with
  // the endpoint in its message.
  Status HandleFailure(Status status);

  const CpprestOptions options_;
  const Endpoint endpoint_;
  const WireSettings wire_;
  const std::shared_ptr<CredentialsSource> credentials_;  // may be null
  const std::shared_ptr<ClientPool> pool_;
};

Result<HttpResponse> CpprestTransport::Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) {
  // A line may be as long as the body, because most bodies are one line.
  const LineBuffer::Limits limits{.max_line_bytes = options_.max_response_bytes,
                                  .high_water_bytes = options_.high_water_bytes};
  ASSIGN_OR_RETURN(Answer answer, SendUntilHead(request, deadline, stop, limits));
  ASSIGN_OR_RETURN(answer.head.body, ReadBody(answer, deadline, stop));
  return std::move(answer.head);
}

Result<HttpTransport::Stream> CpprestTransport::Open(const kube::HttpRequest& request, Deadline deadline,
                                                     std::stop_token stop) {
  const LineBuffer::Limits limits{.max_line_bytes = options_.max_line_bytes,
                                  .high_water_bytes = options_.high_water_bytes};
  ASSIGN_OR_RETURN(Answer answer, SendUntilHead(request, deadline, stop, limits));
  Stream stream;
  if (answer.head.code == 200) {
    stream.head = answer.head;
    stream.lines = std::make_unique<CpprestLineStream>(std::move(answer), pool_);
    return stream;
  }
  ASSIGN_OR_RETURN(answer.head.body, ReadBody(answer, deadline, stop));
  stream.head = std::move(answer.head);
  return stream;
}

// Sends the request and waits for the head. Retries once on a new connection if the request could not be written to a
// reused connection, and once with new credentials after a 401.
Result<Answer> CpprestTransport::SendUntilHead(const kube::HttpRequest& request, Deadline deadline,
                                               const std::stop_token& stop, LineBuffer::Limits limits) {
  // If the server closes a reused connection after reading the request, the library silently sends the request again,
  // even a POST. On a new connection it does not.
  const Connecting connecting = request.repeatable ? Connecting::kReuse : Connecting::kNew;
  bool was_reused = false;
  Result<Answer> answer = SendUntilHeadOnce(request, deadline, stop, limits, connecting, &was_reused);
  if (was_reused && !answer.ok() && answer.status().code() == StatusCode::kFailedPrecondition) {
    answer = SendUntilHeadOnce(request, deadline, stop, limits, Connecting::kNew, &was_reused);
  }
  if (credentials_ && answer.ok() && answer->head.code == 401) {
    answer->exchange->Cancel();
    credentials_->Reject();
    answer = SendUntilHeadOnce(request, deadline, stop, limits, Connecting::kNew, &was_reused);
  }
  return answer;
}

Result<Answer> CpprestTransport::SendUntilHeadOnce(const kube::HttpRequest& request, Deadline deadline,
                                                   const std::stop_token& stop, LineBuffer::Limits limits,
                                                   Connecting connecting, bool* was_reused) {
  *was_reused = false;
  RETURN_IF_ERROR(CheckMaySend(deadline, stop));
  ASSIGN_OR_RETURN(const Credentials credentials, GetCredentials(deadline));
  ASSIGN_OR_RETURN(web::http::http_request wire, MakeWireRequest(request, credentials, wire_, endpoint_));
  ASSIGN_OR_RETURN(std::shared_ptr<PooledClient> client,
                   connecting == Connecting::kNew ? pool_->TakeNew(credentials) : pool_->Take(credentials));
  *was_reused = client->is_reused;
  // GetCredentials may have taken long.
  RETURN_IF_ERROR(CheckMaySend(deadline, stop));

  std::shared_ptr<Exchange> exchange = Exchange::Start(client, wire, request.body.size(), limits);
  const std::stop_callback when_stopped(stop, [exchange] { exchange->Cancel(); });
  Result<HttpResponse> head = exchange->AwaitHead(deadline);
  if (!head.ok()) {
    exchange->Cancel();
    return HandleFailure(std::move(head).status());
  }
  if (head->code < 200 || head->code > 599) {
    // The library returns an interim response such as 100 Continue; the final response follows on this connection.
    exchange->Cancel();
    return HandleFailure(Unavailable("expected a status code from 200 to 599, found " + std::to_string(head->code)));
  }
  return Answer{.client = std::move(client), .exchange = std::move(exchange), .head = *std::move(head)};
}

Result<Credentials> CpprestTransport::GetCredentials(Deadline deadline) {
  if (!credentials_) return Credentials{};
  Result<Credentials> credentials = credentials_->Get(deadline);
  if (credentials.ok() || credentials.status().code() == StatusCode::kDeadlineExceeded) return credentials;
  return FailedPrecondition("no credentials: " + credentials.status().message());
}

Result<std::string> CpprestTransport::ReadBody(Answer& answer, Deadline deadline, const std::stop_token& stop) {
  Result<std::string> body = [&] {
    const std::stop_callback when_stopped(stop, [exchange = answer.exchange] { exchange->Cancel(); });
    return answer.exchange->body().ReadAll(deadline, options_.max_response_bytes);
  }();
  if (!body.ok()) {
    answer.exchange->Cancel();
    return HandleFailure(std::move(body).status());
  }
  if (CanReuseConnection(answer.head)) pool_->Return(std::move(answer.client));
  return body;
}

Status CpprestTransport::HandleFailure(Status status) {
  // The other connections probably have the same problem, for example a restarted server or a lost network. A
  // cancellation and a size limit concern only this request.
  const bool concerns_only_this =
      status.code() == StatusCode::kCancelled || status.code() == StatusCode::kResourceExhausted;
  if (!concerns_only_this) pool_->Renew();
  return std::move(status).While(endpoint_.label);
}

}  // namespace

Result<std::unique_ptr<HttpTransport>> MakeCpprestTransport(const Connection& connection,
                                                            const CpprestOptions& options) {
  ASSIGN_OR_RETURN(AuthorityPaths system, GetSystemAuthorities());
  ASSIGN_OR_RETURN(Endpoint endpoint, ParseEndpoint(connection));
  std::unique_ptr<HttpTransport> transport =
      std::make_unique<CpprestTransport>(connection, std::move(endpoint), std::move(system), options);
  return transport;
}

}  // namespace espalier::ctl::client
