// Test helpers that parse the example document with one change.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/job/parsing/parse.h"
#include "services/job/testing/example_job.h"

namespace espalier::job {

using Overrides = std::vector<std::pair<std::string, std::string>>;

// Returns the example with the first `from` replaced by `to`; fails the test if there is none.
inline std::string ExampleWith(const std::string& from, const std::string& to) {
  std::string text = kExampleJob;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Returns the error message for the document, or "" if it is valid.
inline std::string ErrorOf(const std::string& text, const Overrides& overrides = {}) {
  const Result<ParsedJob> job = ParseJob("job.yaml", text, overrides);
  if (job.ok()) return "";
  EXPECT_EQ(job.status().code(), StatusCode::kInvalidArgument);
  return job.status().message();
}

}  // namespace espalier::job
