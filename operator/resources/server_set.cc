#include "operator/resources/child.h"
#include "operator/resources/names.h"
#include "operator/resources/role_pod.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

constexpr api::Role kServerRole = api::Role::kServer;
constexpr std::chrono::seconds kServerGrace{30};  // running calls have 10 s to end (--drain-seconds)

// Prefers different nodes for the servers of one partition.
Json ReplicaAntiAffinity(const Context& context) {
  const Json replica_term = {{"labelSelector", {{"matchLabels", MakeSelector(context.training, kServerRole)}}},
                             {"matchLabelKeys", Json::array({"apps.kubernetes.io/pod-index"})},
                             {"topologyKey", "kubernetes.io/hostname"}};
  const Json preferred = {{"weight", 100}, {"podAffinityTerm", replica_term}};
  return {{"podAntiAffinity", {{"preferredDuringSchedulingIgnoredDuringExecution", Json::array({preferred})}}}};
}

int64_t CountServers(const Context& context, bool scaled_to_zero) {
  return scaled_to_zero ? 0 : int64_t{context.training.spec->job.graph.partitions.count};
}

// Returns the plugins as "name=path,name=path".
std::string ListPlugins(const Context& context) {
  std::string plugins;
  for (const job::ServerPlugin& plugin : context.training.spec->job.server_plugins) {
    plugins += (plugins.empty() ? "" : ",") + plugin.name + "=" + plugin.path;
  }
  return plugins;
}

std::string PartitionsUri(const Context& context) {
  return context.status.partition ? context.status.partition->uri : "";
}

Inputs InputsOfServers(const Context& context, bool scaled_to_zero) {
  Inputs inputs = SelectInputs(context, kServerRole);
  inputs.Add("partitions", PartitionsUri(context)).Add("servers", CountServers(context, scaled_to_zero));
  if (const std::string plugins = ListPlugins(context); !plugins.empty()) inputs.Add("plugins", plugins);
  return inputs;
}

}  // namespace

std::string InputsOfServerSet(const Context& context, bool scaled_to_zero) {
  return InputsOfServers(context, scaled_to_zero).Hash(context.training);
}

// The ordinal of a pod is its partition. The pods do not depend on the incarnation, so that servers are not restarted
// with the trainers.
Json ServerSet(const Context& context, int64_t replica, bool scaled_to_zero) {
  const std::string& name = context.training.meta.key.name;
  const std::string replica_number = std::to_string(replica);
  RolePod pod(context, kServerRole, "espalier-graph-server");
  pod.ObjectStorage()
      .Cache()
      .ThreadsByProcessorLimit()
      .Peers("server", kServerPort)
      .Listen("ESPALIER_LISTEN")
      .Variable("ESPALIER_PARTITIONS", PartitionsUri(context))
      .VariableOfPod("ESPALIER_PARTITION", "metadata.labels['apps.kubernetes.io/pod-index']")
      .Label(kReplicaLabel, replica_number)
      .Field("affinity", ReplicaAntiAffinity(context))
      .Field("restartPolicy", "Always")
      .GracePeriod(kServerGrace);
  if (const std::string plugins = ListPlugins(context); !plugins.empty()) pod.Variable("ESPALIER_PLUGINS", plugins);
  Labels selector = MakeSelector(context.training, kServerRole);
  selector[kReplicaLabel] = replica_number;

  Json set = MakeChild(context, kube::kStatefulSets, ServerSetName(name, replica), api::ToString(kServerRole),
                       InputsOfServers(context, scaled_to_zero));
  set["metadata"]["labels"][kReplicaLabel] = replica_number;
  set["spec"] = {{"replicas", CountServers(context, scaled_to_zero)},
                 {"serviceName", ServiceName(name)},
                 {"podManagementPolicy", "Parallel"},
                 {"updateStrategy", {{"type", "OnDelete"}}},
                 {"selector", {{"matchLabels", selector}}},
                 {"template", pod.Template()}};
  return set;
}

}  // namespace espalier::ctl::resources
