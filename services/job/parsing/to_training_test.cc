// The defaults of the structs in dist_training.h are those of the field table, so that code that makes a DistTraining
// without a document gets the same job.
#include "services/job/parsing/to_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
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

TEST(ToTrainingTest, MembersStartWithTheDefaultsOfTheirFields) {
  std::vector<std::string> different;
  for (const FieldSpec& field : FieldTable()) {
    if (field.default_json.empty()) continue;
    const Json value = Json::parse(field.default_json);
    const bool is_same =
        ToDistTraining(DocumentWith(field.path, value)) == ToDistTraining(DocumentWith(field.path, nullptr));
    if (!is_same) different.push_back(field.path);
  }
  // A task that code makes names its label, and a job that code makes names its outputs.
  EXPECT_THAT(different, ElementsAre("spec.training.task.label", "spec.output.save"));
}

}  // namespace
}  // namespace espalier::job
