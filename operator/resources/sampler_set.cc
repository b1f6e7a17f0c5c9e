#include "operator/resources/addresses.h"
#include "operator/resources/child.h"
#include "operator/resources/names.h"
#include "operator/resources/role_pod.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

constexpr api::Role kRole = api::Role::kSampler;
constexpr std::chrono::seconds kGrace{30};  // calls under way have 10 s (--drain-seconds)

}  // namespace

// Samplers learn the incarnation from servers and trainers, so that a restart of the trainers leaves them alone.
Json SamplerSet(const Context& context, bool scaled_to_zero) {
  const std::string& name = context.training.meta.key.name;
  const int64_t samplers = scaled_to_zero ? 0 : int64_t{context.training.spec->job.sampler_replicas};
  const Json pod = RolePod(context, kRole, "espalier-sampler")
                       .Document(ConfigName(name))
                       .ThreadsByProcessorLimit()
                       .Peers("sampler", kSamplerPort)
                       .Variable("ESPALIER_LISTEN", "[::]:" + std::to_string(kSamplerPort))
                       .Graph()
                       .Field("restartPolicy", "Always")
                       .GracePeriod(kGrace)
                       .Template();
  Json set = ChildOf(context, kube::kStatefulSets, SamplerSetName(name), api::NameOf(kRole),
                     InputsOf(context, kRole).Add("samplers", samplers));
  set["spec"] = {{"replicas", samplers},
                 {"serviceName", ServiceName(name)},
                 {"podManagementPolicy", "Parallel"},
                 {"updateStrategy", {{"type", "OnDelete"}}},
                 {"selector", {{"matchLabels", SelectorOf(context.training, kRole)}}},
                 {"template", pod}};
  return set;
}

}  // namespace espalier::ctl::resources
