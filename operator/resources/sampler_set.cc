#include "operator/resources/addresses.h"
#include "operator/resources/child.h"
#include "operator/resources/names.h"
#include "operator/resources/role_pod.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

constexpr api::Role kSamplerRole = api::Role::kSampler;
constexpr std::chrono::seconds kSamplerGrace{30};  // running calls have 10 s to end (--drain-seconds)

int64_t CountSamplers(const Context& context, bool scaled_to_zero) {
  return scaled_to_zero ? 0 : int64_t{context.training.spec->job.sampler_replicas};
}

Inputs InputsOfSet(const Context& context, bool scaled_to_zero) {
  return SelectInputs(context, kSamplerRole).Add("samplers", CountSamplers(context, scaled_to_zero));
}

}  // namespace

std::string InputsOfSamplerSet(const Context& context, bool scaled_to_zero) {
  return InputsOfSet(context, scaled_to_zero).Hash(context.training);
}

// The pod template does not contain the incarnation, so that samplers are not restarted with the trainers. Samplers
// learn the incarnation from servers and trainers.
Json SamplerSet(const Context& context, bool scaled_to_zero) {
  const std::string& name = context.training.meta.key.name;
  const Json pod = RolePod(context, kSamplerRole, "espalier-sampler")
                       .Document(ConfigName(name))
                       .ThreadsByProcessorLimit()
                       .Peers("sampler", kSamplerPort)
                       .Variable("ESPALIER_LISTEN", AllAddresses(kSamplerPort))
                       .Graph()
                       .Field("restartPolicy", "Always")
                       .GracePeriod(kSamplerGrace)
                       .Template();
  Json set = MakeChild(context, kube::kStatefulSets, SamplerSetName(name), api::ToString(kSamplerRole),
                       InputsOfSet(context, scaled_to_zero));
  set["spec"] = {{"replicas", CountSamplers(context, scaled_to_zero)},
                 {"serviceName", ServiceName(name)},
                 {"podManagementPolicy", "Parallel"},
                 {"updateStrategy", {{"type", "OnDelete"}}},
                 {"selector", {{"matchLabels", MakeSelector(context.training, kSamplerRole)}}},
                 {"template", pod}};
  return set;
}

}  // namespace espalier::ctl::resources
