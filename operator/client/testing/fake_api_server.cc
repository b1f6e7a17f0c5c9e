// Impl parses a request, lets the store, the lister or the history of its kind execute it, and converts the outcome to
// a response. The interceptor runs before and after; every request is logged. Transports share Impl, so that they stay
// valid after the server is destroyed.
#include "operator/client/testing/fake_api_server.h"

#include <atomic>
#include <deque>

#include "operator/client/testing/fake_api_server_lists.h"
#include "operator/client/testing/fake_api_server_request.h"
#include "operator/client/testing/fake_api_server_store.h"
#include "services/base/mutex.h"
#include "services/base/parse_number.h"

namespace espalier::ctl::client {
namespace {

using fake::ApiRequest;
using fake::KindTraits;
using fake::ObjectStore;
using fake::Refusal;
using fake::Verb;
using kube::Json;

constexpr size_t kMaxLog = 100'000;

HttpResponse ObjectAnswer(int code, const KindTraits& kind, const fake::StoredObject& object) {
  return {code, {{"Content-Type", "application/json"}}, fake::TextOf(kind, object)};
}

HttpResponse Success(const ApiRequest& request, const fake::StoredObject& object) {
  return {200,
          {{"Content-Type", "application/json"}},
          kube::Print(
              {{"apiVersion", "v1"},
               {"kind", "Status"},
               {"metadata", Json::object()},
               {"status", "Success"},
               {"details", {{"name", object.key.name}, {"kind", request.resource().plural}, {"uid", object.uid}}}})};
}

}  // namespace

class FakeApiServer::Impl {
 public:
  explicit Impl(FakeApiServerOptions options)
      : options_(std::move(options)),
        store_(options_.history_per_kind, options_.wall_now ? options_.wall_now : kube::SystemTime),
        lister_(store_) {}

  Result<HttpResponse> Send(const kube::HttpRequest& http, const std::string& user_agent) {
    const Interceptor interceptor = CurrentInterceptor();
    if (interceptor) {
      if (std::optional<Result<HttpResponse>> answer = interceptor(http, /*is_done=*/false)) {
        return Logged(http, user_agent, *std::move(answer));
      }
    }
    Result<HttpResponse> answer = Serve(http);
    if (interceptor) {
      if (std::optional<Result<HttpResponse>> instead = interceptor(http, /*is_done=*/true))
        answer = *std::move(instead);
    }
    return Logged(http, user_agent, std::move(answer));
  }

  Result<HttpTransport::Stream> Open(const kube::HttpRequest& http, const std::string& user_agent) {
    const Interceptor interceptor = CurrentInterceptor();
    for (const bool is_done : {false, true}) {
      if (!interceptor) break;
      const std::optional<Result<HttpResponse>> answer = interceptor(http, is_done);
      if (!answer) continue;
      ASSIGN_OR_RETURN(HttpResponse head, Logged(http, user_agent, *answer));
      if (head.code == 200) return Internal("an interceptor cannot answer a watch with 200");
      return HttpTransport::Stream{std::move(head), nullptr};
    }
    HttpTransport::Stream stream = Watch(http);
    const Result<HttpResponse> head = Logged(http, user_agent, stream.head);
    return stream;
  }

  const FakeApiServerOptions& options() const { return options_; }
  ObjectStore& store() { return store_; }
  fake::Lister& lister() { return lister_; }

  void SetInterceptor(Interceptor interceptor) {
    MutexLock lock(&mutex_);
    interceptor_ = std::move(interceptor);
  }
  std::vector<LoggedRequest> log() const {
    MutexLock lock(&mutex_);
    return {log_.begin(), log_.end()};
  }
  void ClearLog() {
    MutexLock lock(&mutex_);
    log_.clear();
  }
  int64_t num_requests() const { return num_requests_.load(); }

 private:
  Interceptor CurrentInterceptor() const {
    MutexLock lock(&mutex_);
    return interceptor_;
  }

  Result<HttpResponse> Logged(const kube::HttpRequest& http, const std::string& user_agent,
                              Result<HttpResponse> answer) {
    num_requests_.fetch_add(1);
    MutexLock lock(&mutex_);
    log_.push_back({http.method, http.target, answer.ok() ? answer->code : 0, user_agent});
    if (log_.size() > kMaxLog) log_.pop_front();
    return answer;
  }

  HttpResponse Serve(const kube::HttpRequest& http) {
    ApiRequest request;
    if (const std::optional<Refusal> refusal = fake::ParseRequest(http, &request)) return fake::AnswerOf(*refusal);
    switch (request.verb) {
      case Verb::kGet: return Get(request);
      case Verb::kList: return lister_.List(request);
      case Verb::kWatch: return fake::AnswerOf(fake::BadRequest("a watch is a stream: it is opened, not sent"));
      case Verb::kDelete: return Delete(request);
      case Verb::kCreate: request.key.name = kube::StringAt(request.body, {"metadata", "name"}); break;
      case Verb::kReplace:
      case Verb::kMergePatch:
      case Verb::kApply: break;
    }
    const ObjectStore::Outcome outcome = store_.Write(request);
    if (outcome.refusal) return fake::AnswerOf(*outcome.refusal);
    return ObjectAnswer(outcome.is_created ? 201 : 200, *request.kind, *outcome.object);
  }

  HttpResponse Get(const ApiRequest& request) {
    const fake::StoredPtr stored = store_.Find(*request.kind, request.key);
    if (stored == nullptr) return fake::AnswerOf(fake::NotFoundRefusal(request.resource(), request.key.name));
    return ObjectAnswer(200, *request.kind, *stored);
  }

  HttpResponse Delete(const ApiRequest& request) {
    const ObjectStore::Outcome outcome = store_.Delete(request);
    if (outcome.refusal) return fake::AnswerOf(*outcome.refusal);
    return outcome.is_gone ? Success(request, *outcome.object) : ObjectAnswer(200, *request.kind, *outcome.object);
  }

  HttpTransport::Stream Watch(const kube::HttpRequest& http) {
    const auto refuse = [](const Refusal& refusal) { return HttpTransport::Stream{fake::AnswerOf(refusal), nullptr}; };
    ApiRequest request;
    if (const std::optional<Refusal> refusal = fake::ParseRequest(http, &request)) return refuse(*refusal);
    if (request.verb != Verb::kWatch) return refuse(fake::BadRequest("only watches are streams"));
    fake::WatchSettings settings{.name_space = request.key.name_space,
                                 .wants_bookmarks = request.Query("allowWatchBookmarks") == "true",
                                 .bookmark_interval = options_.bookmark_interval,
                                 .clock = options_.clock};
    if (const std::optional<Refusal> refusal = fake::Selectors::Parse(request, &settings.selectors)) {
      return refuse(*refusal);
    }
    uint64_t version = 0, timeout_seconds = 0;
    if (!ReadNumber(request.Query("resourceVersion"), &version)) {
      return refuse(fake::BadRequest("invalid resource version: " + request.Query("resourceVersion")));
    }
    if (!ReadNumber(request.Query("timeoutSeconds"), &timeout_seconds)) {
      return refuse(fake::BadRequest("invalid timeoutSeconds"));
    }
    if (timeout_seconds > 0) settings.timeout = std::chrono::seconds(timeout_seconds);
    std::unique_ptr<LineStream> lines = store_.Watch(*request.kind, version, std::move(settings));
    if (lines == nullptr) lines = fake::ExpiredStream(version, store_.newest());
    return {{200, {{"Content-Type", "application/json"}}, ""}, std::move(lines)};
  }

  // Parses a number; "" leaves it unchanged.
  static bool ReadNumber(const std::string& text, uint64_t* number) {
    if (text.empty()) return true;
    const std::optional<uint64_t> parsed = ParseNumber<uint64_t>(text);
    if (parsed) *number = *parsed;
    return parsed.has_value();
  }

  const FakeApiServerOptions options_;
  ObjectStore store_;
  fake::Lister lister_;
  std::atomic<int64_t> num_requests_{0};
  mutable Mutex mutex_;
  Interceptor interceptor_ ABSL_GUARDED_BY(mutex_);
  std::deque<LoggedRequest> log_ ABSL_GUARDED_BY(mutex_);
};

class FakeApiServer::Transport final : public HttpTransport {
 public:
  Transport(std::shared_ptr<Impl> server, std::string user_agent)
      : server_(std::move(server)), user_agent_(std::move(user_agent)) {}

  Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override {
    if (stop.stop_requested()) return Cancelled("asked to stop");
    if (deadline.HasPassed(*server_->options().clock)) return DeadlineExceeded("no time left to send a request");
    return server_->Send(request, user_agent_);
  }

  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override {
    if (stop.stop_requested()) return Cancelled("asked to stop");
    if (deadline.HasPassed(*server_->options().clock)) return DeadlineExceeded("no time left to open a stream");
    return server_->Open(request, user_agent_);
  }

 private:
  const std::shared_ptr<Impl> server_;
  const std::string user_agent_;
};

FakeApiServer::FakeApiServer(FakeApiServerOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}
FakeApiServer::~FakeApiServer() { CutWatches(/*broken=*/true); }

std::unique_ptr<HttpTransport> FakeApiServer::Connect(std::string user_agent) {
  return std::make_unique<Transport>(impl_, std::move(user_agent));
}

Status FakeApiServer::Put(const kube::Resource& resource, Json object) {
  const KindTraits* const kind = fake::FindKind(resource);
  if (kind == nullptr) return NotFound("no kind " + std::string(resource.kind) + " here");
  if (!object.is_object()) return InvalidArgument("not an object");
  const kube::ObjectKey key{kube::StringAt(object, {"metadata", "namespace"}),
                            kube::StringAt(object, {"metadata", "name"})};
  if (key.name.empty() || key.name_space.empty() == resource.namespaced) {
    return InvalidArgument("an object needs a name, and a namespace where its kind has them");
  }
  impl_->store().Force(*kind, key, [&](Json* stored) {
    *stored = std::move(object);
    return true;
  });
  return {};
}

Status FakeApiServer::Update(const kube::Resource& resource, const kube::ObjectKey& key,
                             const std::function<void(Json&)>& change) {
  const KindTraits* const kind = fake::FindKind(resource);
  const bool found = kind != nullptr && impl_->store().Force(*kind, key, [&](Json* stored) {
    if (stored->is_null()) return false;
    change(*stored);
    return true;
  });
  return found ? Status() : NotFound(std::string(resource.plural) + " " + ToString(key));
}

Status FakeApiServer::Remove(const kube::Resource& resource, const kube::ObjectKey& key) {
  const KindTraits* const kind = fake::FindKind(resource);
  const bool found = kind != nullptr && impl_->store().Remove(*kind, key);
  return found ? Status() : NotFound(std::string(resource.plural) + " " + ToString(key));
}

std::vector<Json> FakeApiServer::All(const kube::Resource& resource) const {
  std::vector<Json> objects;
  const KindTraits* const kind = fake::FindKind(resource);
  if (kind == nullptr) return objects;
  for (const fake::StoredPtr& stored : impl_->store().List(*kind, "").objects) {
    objects.push_back(fake::ParsedOf(*kind, *stored));
  }
  return objects;
}

std::vector<std::shared_ptr<const Json>> FakeApiServer::All(const kube::Resource& resource, KnownObjects* known) const {
  std::vector<std::shared_ptr<const Json>> objects;
  KnownObjects seen;
  const KindTraits* const kind = fake::FindKind(resource);
  if (kind == nullptr) return objects;
  for (fake::StoredPtr& stored : impl_->store().List(*kind, "").objects) {
    KnownObject& object = seen[stored->key];
    const auto before = known->find(stored->key);
    if (before != known->end() && before->second.version == stored) {
      object = std::move(before->second);
    } else {
      object.object = std::make_shared<const Json>(fake::ParsedOf(*kind, *stored));
      object.version = std::move(stored);
    }
    objects.push_back(object.object);
  }
  *known = std::move(seen);
  return objects;
}

std::optional<Json> FakeApiServer::Find(const kube::Resource& resource, const kube::ObjectKey& key) const {
  const KindTraits* const kind = fake::FindKind(resource);
  const fake::StoredPtr stored = kind == nullptr ? nullptr : impl_->store().Find(*kind, key);
  if (stored == nullptr) return std::nullopt;
  return fake::ParsedOf(*kind, *stored);
}

size_t FakeApiServer::Count(const kube::Resource& resource) const {
  const KindTraits* const kind = fake::FindKind(resource);
  return kind == nullptr ? 0 : impl_->store().Count(*kind);
}

void FakeApiServer::Compact() {
  for (const auto& history : impl_->store().histories()) history->Forget(impl_->store().newest());
  impl_->lister().Forget();
}

void FakeApiServer::CutWatches(bool broken) {
  for (const auto& history : impl_->store().histories()) history->Cut(broken);
}

void FakeApiServer::MuteWatches(bool mute) {
  for (const auto& history : impl_->store().histories()) history->Mute(mute);
}

void FakeApiServer::SendBookmarks() {
  for (const auto& history : impl_->store().histories()) history->SendBookmarks();
}

int64_t FakeApiServer::num_open_watches() const {
  int64_t open = 0;
  for (const auto& history : impl_->store().histories()) open += history->num_open();
  return open;
}

void FakeApiServer::SetInterceptor(Interceptor interceptor) { impl_->SetInterceptor(std::move(interceptor)); }
std::vector<FakeApiServer::LoggedRequest> FakeApiServer::log() const { return impl_->log(); }
void FakeApiServer::ClearLog() { impl_->ClearLog(); }
int64_t FakeApiServer::num_requests() const { return impl_->num_requests(); }

}  // namespace espalier::ctl::client
