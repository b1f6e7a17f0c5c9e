#include "services/runner/run/users_document.h"

#include <gtest/gtest.h>

#include "services/job/parsing/parse.h"
#include "services/job/testing/example_job.h"

namespace espalier::run {
namespace {

TEST(UsersDocumentTest, PositionsInJobFileMapToUserFields) {
  const auto parsed = job::ParseJob("my.yaml", job::kExampleJob, {{"training.seed", "7"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const auto said = [&](const std::string& text) { return TranslatePositions(text, "/out/job.json", parsed->places); };
  // "label: node-label" is in line 13, and its value begins in column 14.
  EXPECT_EQ(said("/out/job.json:40:18: spec.training.task.label: no such column"),
            "my.yaml:13:14: spec.training.task.label: no such column");
  EXPECT_EQ(said("INVALID_ARGUMENT: /out/job.json:40:18: spec.training.task.label: no such column"),
            said("/out/job.json:40:18: spec.training.task.label: no such column"));
  EXPECT_EQ(said("INVALID_ARGUMENT: as it is"), "INVALID_ARGUMENT: as it is");
  EXPECT_EQ(said("/out/job.json:9:9: spec.training.seed: odd"), "--set training.seed: spec.training.seed: odd");
  // A field with its default value has the position of the object around it.
  EXPECT_EQ(said("/out/job.json:4:4: spec.training.task.nodeType: odd\nas it is"),
            "my.yaml:12:7: spec.training.task.nodeType: odd\nas it is");
  for (const char* other : {"", "bad graph", "/out/job.json is no document", "/out/job.json:x:1: spec: y",
                            "/elsewhere/job.json:1:1: spec: y", "/out/job.json:1:1: no path", "one\n\ntwo\n"}) {
    EXPECT_EQ(said(other), other);
  }
}

}  // namespace
}  // namespace espalier::run
