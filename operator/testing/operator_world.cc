// The controller's caches are filled by real informer threads, so Sync polls until they equal the server; everything
// else runs in the calling thread. A limit on the number of turns detects two components that undo each other's
// changes.
#include "operator/testing/operator_world.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "operator/api/testing/cluster_document.h"
#include "services/base/check.h"

namespace espalier::ctl::cluster {
namespace {

using kube::Json;

constexpr char kNamespace[] = "ml";
constexpr int kMaxTurns = 2000;  // limit for one Settle, to detect endless loops

client::ApiClientOptions Unlimited() {
  client::ApiClientOptions options;
  options.qps = 0;
  options.call_timeout = std::chrono::seconds(20);
  return options;
}

client::FakeApiServerOptions ServerOptions(WallTimer& wall) {
  client::FakeApiServerOptions options;
  options.wall_now = [&wall] { return wall.Now(); };
  return options;
}

controller::ControllerOptions WithDefaults(controller::ControllerOptions options, WallTimer& wall) {
  options.wall_clock = [&wall] { return wall.Now(); };
  options.poll_progress = false;
  if (options.defaults.core_image.empty()) options.defaults = {.core_image = "core:1", .trainer_image = "trainer:1"};
  return options;
}

template <class Values>
std::map<kube::ObjectKey, std::string> Versions(const Values& values) {
  std::map<kube::ObjectKey, std::string> versions;
  for (const auto& value : values) versions.emplace(value->meta.key, value->meta.resource_version);
  return versions;
}

bool IsSelected(const kube::Resource& resource, const Json& object) {
  return resource == kube::kDistTrainings ||
         kube::StringAt(object, {"metadata", "labels", "app.kubernetes.io/managed-by"}) == "espalier-operator";
}

}  // namespace

TestOperator::TestOperator(client::FakeApiServer& server, WallTimer& wall, controller::ControllerOptions options)
    : server_(server),
      connection_(server.Connect("espalier-operator")),
      transport_(*connection_),
      client_metrics_(metrics_),
      client_(transport_, Unlimited(), client_metrics_),
      events_(client_, "espalier.io/operator", "test", metrics_),
      controller_(client_, events_, WithDefaults(std::move(options), wall), metrics_) {
  controller_.StartCaches();
}

TestOperator::~TestOperator() {
  transport_.SetFault([](const kube::HttpRequest&, const client::HttpResponse*) { return Unavailable("killed"); });
  client_.Stop();
}

bool TestOperator::HasSame(const kube::Resource& resource, const std::map<kube::ObjectKey, std::string>& cached) const {
  size_t num_selected = 0;
  for (const Json& object : server_.All(resource)) {
    if (!IsSelected(resource, object)) continue;
    ++num_selected;
    const auto found =
        cached.find({kube::StringAt(object, {"metadata", "namespace"}), kube::StringAt(object, {"metadata", "name"})});
    if (found == cached.end()) return false;
    if (found->second != kube::StringAt(object, {"metadata", "resourceVersion"})) return false;
  }
  return num_selected == cached.size();
}

bool TestOperator::IsSynced() const {
  const controller::Caches& caches = controller_.caches();
  if (!HasSame(kube::kDistTrainings, Versions(caches.trainings.All()))) return false;
  if (!HasSame(kube::kJobs, Versions(caches.jobs.All()))) return false;
  if (!HasSame(kube::kStatefulSets, Versions(caches.stateful_sets.All()))) return false;
  if (!HasSame(kube::kPods, Versions(caches.pods.All()))) return false;
  if (awaits_pod_groups && !HasSame(kube::kPodGroups, Versions(caches.pod_groups.All()))) return false;
  if (awaits_workloads && !HasSame(kube::kWorkloads, Versions(caches.workloads.All()))) return false;
  for (size_t i = 0; i < controller::kMetadataOnlyKinds.size(); ++i) {
    if (!HasSame(*controller::kMetadataOnlyKinds[i], Versions(caches.others[i]->All()))) return false;
  }
  return true;
}

void TestOperator::Sync() {
  const Deadline deadline = Deadline::After(std::chrono::seconds(60));
  const Status filled = controller_.WaitForCaches(deadline);
  ESPALIER_CHECK(filled.ok()) << filled.ToString();
  while (!IsSynced()) {
    ESPALIER_CHECK(!deadline.HasPassed()) << "the caches do not follow the server";
    std::this_thread::yield();
  }
}

TestOperator::Round TestOperator::ReconcileAll() {
  Round round;
  const int64_t writes_before = transport_.num_writes();
  for (const auto& record : controller_.caches().trainings.All()) {
    const runtime::ReconcileOutcome outcome = controller_.Reconcile(record->meta.key);
    if (outcome.stale) round.did_something = true;
    if (!outcome.status.ok()) {
      if (outcome.status.code() != StatusCode::kAborted) round.errors.push_back(outcome.status);
      round.did_something = true;
    }
    if (!outcome.requeue_after) continue;
    if (outcome.requeue_after->count() <= 0) round.did_something = true;
    round.wake_after = std::min(*outcome.requeue_after, round.wake_after.value_or(std::chrono::nanoseconds::max()));
  }
  if (transport_.num_writes() > writes_before) round.did_something = true;
  return round;
}

OperatorWorld::OperatorWorld(controller::ControllerOptions options)
    : server(ServerOptions(wall)), cluster(server, [this] { return wall.Now(); }), options_(std::move(options)) {
  RestartOperator();
}

OperatorWorld::~OperatorWorld() = default;

void OperatorWorld::RestartOperator() {
  const bool awaits_workloads = op != nullptr && op->awaits_workloads;
  const bool awaits_pod_groups = op != nullptr && op->awaits_pod_groups;
  op.reset();
  op = std::make_unique<TestOperator>(server, wall, options_);
  op->awaits_workloads = awaits_workloads;
  op->awaits_pod_groups = awaits_pod_groups;
}

void OperatorWorld::Create(const std::string& name, const Json& spec) {
  Json object = api::ClusterDocument();
  object["metadata"] = {{"name", name}, {"namespace", kNamespace}};
  object["spec"].merge_patch(spec);
  const auto transport = server.Connect("kubectl");
  const auto answer = transport->Send(kube::CreateRequest(kube::kDistTrainings, object, "kubectl"),
                                      Deadline::After(std::chrono::seconds(10)));
  ESPALIER_CHECK(answer.ok() && answer->code == 201) << (answer.ok() ? answer->body : answer.status().ToString());
}

void OperatorWorld::Edit(const std::string& name, const Json& spec_patch) {
  const auto transport = server.Connect("kubectl");
  const auto answer = transport->Send(
      kube::MergePatchRequest(kube::kDistTrainings, {kNamespace, name}, {{"spec", spec_patch}}, "kubectl"),
      Deadline::After(std::chrono::seconds(10)));
  ESPALIER_CHECK(answer.ok() && answer->code == 200) << (answer.ok() ? answer->body : answer.status().ToString());
}

// Returns the last requests, for the message of a failed Settle or RunUntil.
std::string OperatorWorld::LastRequests() const {
  const std::vector<client::FakeApiServer::LoggedRequest> log = server.log();
  std::string text;
  for (size_t i = log.size() - std::min<size_t>(12, log.size()); i < log.size(); ++i) {
    text += "\n  " + log[i].user_agent + " " + log[i].method + " " + log[i].target + " " + std::to_string(log[i].code);
  }
  return text;
}

bool OperatorWorld::Turn() {
  op->Sync();
  const bool reconciled = op->ReconcileAll().did_something;
  const bool stepped = cluster.Step() > 0;
  return reconciled || stepped;
}

void OperatorWorld::Settle() {
  for (int i = 0; Turn(); ++i) ESPALIER_CHECK(i < kMaxTurns) << "the world does not come to rest:" << LastRequests();
}

bool OperatorWorld::RunUntil(const std::function<bool()>& condition, std::chrono::seconds longest) {
  const kube::WallTime end = wall.Now() + longest;
  int turns = 0;
  while (!condition()) {
    ESPALIER_CHECK(++turns < kMaxTurns) << "the world does not come to rest:" << LastRequests();
    op->Sync();
    const TestOperator::Round round = op->ReconcileAll();
    const bool stepped = cluster.Step() > 0;
    if (round.did_something || stepped) continue;
    if (wall.Now() >= end) return false;
    const auto left = std::chrono::nanoseconds(end - wall.Now());
    wall.Advance(std::min(left, round.wake_after.value_or(left)));
    turns = 0;
  }
  return true;
}

void OperatorWorld::RunFor(std::chrono::seconds time) {
  RunUntil([] { return false; }, time);
}

bool OperatorWorld::Exists(const std::string& name) const {
  return server.Find(kube::kDistTrainings, {kNamespace, name}).has_value();
}

api::Status OperatorWorld::StatusOf(const std::string& name) const {
  const std::optional<Json> object = server.Find(kube::kDistTrainings, {kNamespace, name});
  if (!object) return {};
  const Json* const status = kube::Find(*object, {"status"});
  return status == nullptr ? api::Status() : api::StatusFromJson(*status);
}

std::string OperatorWorld::PhaseOf(const std::string& name) const {
  const std::optional<Json> object = server.Find(kube::kDistTrainings, {kNamespace, name});
  return object ? kube::StringAt(*object, {"status", "phase"}) : "";
}

bool OperatorWorld::RunUntilPhase(const std::string& name, const std::string& phase, std::chrono::seconds longest) {
  return RunUntil([&] { return PhaseOf(name) == phase; }, longest);
}

std::vector<std::string> OperatorWorld::Names(const kube::Resource& resource) const {
  std::vector<std::string> names;
  for (const Json& object : server.All(resource)) names.push_back(kube::StringAt(object, {"metadata", "name"}));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> OperatorWorld::Children() const {
  std::vector<std::string> children;
  for (const kube::Resource* const resource :
       {&kube::kJobs, &kube::kStatefulSets, &kube::kServices, &kube::kConfigMaps, &kube::kServiceAccounts,
        &kube::kPodDisruptionBudgets, &kube::kNetworkPolicies, &kube::kSecrets}) {
    for (const std::string& name : Names(*resource)) children.push_back(std::string(resource->kind) + " " + name);
  }
  std::sort(children.begin(), children.end());
  return children;
}

}  // namespace espalier::ctl::cluster
