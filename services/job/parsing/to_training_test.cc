// Every field of the table reaches a member of its own, or is listed here with the reason why it has none.
#include "services/job/parsing/to_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/job/fields/field_table.h"

namespace espalier::job {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::ordered_json;

// Returns a document in which only the objects on the way to `path` exist, each list with one item, and with `value`
// at `path` if it is not null.
Json DocumentWith(const std::string& path, const Json& value) {
  Json document = Json::object();
  Json* at = &document;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    const bool is_list = name.ends_with("[]");
    if (is_list) name.resize(name.size() - 2);
    begin = end + 1;
    if (begin > path.size()) {
      if (!value.is_null()) (*at)[name] = value;
    } else if (is_list) {
      (*at)[name] = Json::array({Json::object()});
      at = &(*at)[name][0];
    } else {
      at = &((*at)[name] = Json::object());
    }
  }
  return document;
}

// Returns a value that no member of the field's type starts with.
Json UnusualValue(const FieldSpec& field) {
  Json value = "unusual";
  switch (field.type) {
    case FieldType::kBool: value = field.member.initial() == false; break;
    case FieldType::kInteger: value = 7; break;
    case FieldType::kNumber: value = 0.25; break;
    case FieldType::kMemorySize: value = "7Ki"; break;
    case FieldType::kEnum: {
      const bool starts_with_last = field.member.initial() == field.values.back();
      value = starts_with_last ? field.values.front() : field.values.back();
      break;
    }
    default: break;
  }
  return field.is_list ? Json::array({value}) : value;
}

// The fields without a member, apart from those that all roles share (AppendRoleFields), and why they have none.
const std::map<std::string, std::string>& FieldsWithoutMember() {
  static const char kConstant[] = "has one value only";
  static const char kMetadata[] = "the operator reads the metadata of the resource";
  static const char kOperator[] = "only the operator acts on it, and reads it from the resource";
  static const auto* const reasons = new std::map<std::string, std::string>({
      {"apiVersion", kConstant},
      {"kind", kConstant},
      {"metadata.annotations", kMetadata},
      {"metadata.labels", kMetadata},
      {"metadata.namespace", kMetadata},
      {"spec.runPolicy.cleanPodPolicy", kOperator},
      {"spec.runPolicy.forceDeleteAfterSeconds", kOperator},
      {"spec.runPolicy.managedBy", kOperator},
      {"spec.runPolicy.suspend", kOperator},
      {"spec.runPolicy.ttlSecondsAfterFinished", kOperator},
      {"spec.scheduling.gang", kOperator},
      {"spec.servers.cacheMedium", kOperator},
      {"spec.trainers.maxReplicas", kOperator},
      {"spec.trainers.minReplicas", kOperator},
  });
  return *reasons;
}

TEST(ToTrainingTest, EveryFieldHasAMemberOrAReasonForNone) {
  std::vector<FieldSpec> of_roles;
  for (const char* role : {"partitioner", "servers", "samplers", "trainers"}) {
    AppendRoleFields(std::string("spec.") + role, &of_roles);
  }
  std::map<std::string, std::string> reasons = FieldsWithoutMember();
  for (const FieldSpec& field : of_roles) reasons[field.path] = "only the operator makes pods";
  for (const FieldSpec& field : FieldTable()) {
    // The fields of an object without a member are members of the struct of the object around it.
    const bool is_group = field.type == FieldType::kObject && !field.is_list;
    const bool has_reason = reasons.erase(field.path) > 0;
    EXPECT_TRUE(is_group || field.member.exists() != has_reason) << field.path;
  }
  for (const auto& [path, reason] : reasons) ADD_FAILURE() << path << " is not in the table: " << reason;
}

TEST(ToTrainingTest, EveryFieldSetsAMemberOfItsOwn) {
  std::vector<std::pair<std::string, DistTraining>> jobs;
  for (const FieldSpec& field : FieldTable()) {
    if (!field.member.exists() || field.type == FieldType::kObject) continue;
    const DistTraining job = ToDistTraining(DocumentWith(field.path, UnusualValue(field)));
    EXPECT_FALSE(job == ToDistTraining(DocumentWith(field.path, nullptr))) << field.path << " sets nothing";
    for (const auto& [path, other] : jobs) EXPECT_FALSE(job == other) << field.path << " sets the member of " << path;
    jobs.emplace_back(field.path, job);
  }
}

TEST(ToTrainingTest, DocumentDefaultsAreMemberDefaults) {
  std::vector<std::string> different;
  for (const FieldSpec& field : FieldTable()) {
    if (!field.member.exists() || field.default_json.empty()) continue;
    if (Json::parse(field.default_json) != field.member.initial()) different.push_back(field.path);
  }
  // These members are empty at first, unlike their fields: code that creates a Task or DistTraining sets them itself.
  EXPECT_THAT(different, ElementsAre("spec.training.task.label", "spec.output.save"));
}

}  // namespace
}  // namespace espalier::job
