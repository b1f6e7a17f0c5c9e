#include "operator/schema/crd.h"

#include "operator/kube/resource.h"
#include "operator/schema/rules.h"
#include "operator/schema/status_schema.h"
#include "operator/schema/yaml_text.h"

namespace espalier::ctl::schema {
namespace {

// Returns a column of `kubectl get`; with `only_wide`, of `kubectl get -o wide`.
OrderedJson Column(const std::string& name, const std::string& type, const std::string& path,
                   const std::string& description, bool only_wide = false) {
  OrderedJson column = {{"name", name}, {"type", type}, {"jsonPath", path}, {"description", description}};
  if (only_wide) column["priority"] = 1;
  return column;
}

OrderedJson Columns() {
  return {
      Column("Phase", "string", ".status.phase", "current phase of the job"),
      Column("Epoch", "integer", ".status.progress.epoch", "epochs done"),
      Column("Progress", "number", ".status.progress.percent", "completed share of all epochs, in percent"),
      Column("Trainers", "integer", ".status.replicaStatuses.trainer.ready", "ready trainers"),
      Column("Restarts", "integer", ".status.attempts.counted", "failures that count towards backoffLimit"),
      Column("Age", "date", ".metadata.creationTimestamp", "time since the job was created"),
      Column("Partitions", "integer", ".spec.graph.partitions.count", "number of partitions of the graph",
             /*only_wide=*/true),
      Column("Servers", "integer", ".status.replicaStatuses.server.ready", "ready graph servers", /*only_wide=*/true),
      Column("Incarnation", "integer", ".status.incarnation", "counts the starts of the trainers", /*only_wide=*/true),
      Column("Error", "string", ".status.lastError.reason", "reason for the newest failure", /*only_wide=*/true),
  };
}

OrderedJson Schema() {
  OrderedJson schema = DocumentSchema();
  AddRules(FieldRules(), &schema);
  AddRules(RelationRules(), &schema);
  AddRules(ImmutabilityRules(), &schema);
  schema["properties"]["status"] = StatusSchema();
  return schema;
}

OrderedJson Version() {
  return {{"name", kube::kDistTrainings.version},
          {"served", true},
          {"storage", true},
          {"subresources",
           {{"status", OrderedJson::object()},
            {"scale",
             {{"specReplicasPath", ".spec.trainers.replicas"},
              {"statusReplicasPath", ".status.trainerReplicas"},
              {"labelSelectorPath", ".status.selector"}}}}},
          {"additionalPrinterColumns", Columns()},
          {"schema", {{"openAPIV3Schema", Schema()}}}};
}

}  // namespace

OrderedJson Crd() {
  const kube::Resource& resource = kube::kDistTrainings;
  const std::string plural(resource.plural);
  return {
      {"apiVersion", kube::kCustomResourceDefinitions.api_version()},
      {"kind", kube::kCustomResourceDefinitions.kind},
      {"metadata",
       {{"name", plural + "." + std::string(resource.group)}, {"labels", {{"app.kubernetes.io/name", "espalier"}}}}},
      {"spec",
       {{"group", resource.group},
        {"scope", "Namespaced"},
        {"names",
         {{"plural", plural},
          {"singular", "disttraining"},
          {"kind", resource.kind},
          {"listKind", std::string(resource.kind) + "List"},
          {"shortNames", {"dt"}},
          {"categories", {"espalier", "training"}}}},
        {"versions", OrderedJson::array({Version()})}}}};
}

std::string CrdYaml() {
  return "# Made by espalier-crd from services/job/fields/field_table*.cc, services/job/rules/document_rules*.cc and\n"
         "# operator/schema: change those, and regenerate it with `espalier-crd > crds/disttrainings.yaml`.\n" +
         ToYaml(Crd());
}

}  // namespace espalier::ctl::schema
