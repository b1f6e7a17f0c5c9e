// SetMembers walks the field table and the document together and sets the member of each field that is in the document.
// The member of a missing field keeps its initial value. ToDistTraining then sets the few members that have no field of
// their own. CheckFields has checked types, ranges and enum names, so conversions cannot fail.
#include "services/job/parsing/to_training.h"

#include "services/job/fields/field_tree.h"

namespace espalier::job {
namespace {

using Json = nlohmann::ordered_json;

// Sets the members of the fields of `object`. `table` is the object's node in the field table, and `owner` is the
// struct that has the members.
void SetMembers(const TableNode& table, const Json& object, AnyStruct owner) {
  for (const TableNode& field : table.fields) {
    const auto found = object.find(field.name);
    if (found == object.end()) continue;
    const Member& member = field.spec->member;
    if (field.spec->type != FieldType::kObject) {
      if (member.exists()) member.Set(*found, owner);
    } else if (field.spec->is_list) {
      if (!member.exists()) continue;  // read by the operator only
      for (const Json& item : *found) SetMembers(field, item, member.Open(owner));
    } else {
      SetMembers(field, *found, member.exists() ? member.Open(owner) : owner);
    }
  }
}

}  // namespace

DistTraining ToDistTraining(const Json& values) {
  DistTraining job;
  SetMembers(TableTree(), values, AnyStruct::Of(&job));
  job.has_training = values.contains("spec") && values.at("spec").contains("training");
  // graph.timeColumn always sorts in-edges, but sampling ignores it unless seedTime is set.
  Sampling& sampling = job.training.sampling;
  if (!sampling.seed_time.empty()) sampling.draw.time_column = job.graph.time_column;
  job.training.task.reverse_edges_added = job.graph.preprocess.add_reverse_edges;
  return job;
}

}  // namespace espalier::job
