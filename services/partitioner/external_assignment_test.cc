#include "services/partitioner/external_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/format/source/npy_file.h"
#include "services/partition/partitioner.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExternalAssignmentTest : public ::testing::Test {
 protected:
  void WriteText(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  void WriteArray(const std::string& name, std::vector<int32_t> values) const {
    ASSERT_TRUE(format::WriteNpy(folder_.path() + "/" + name, Tensor::FromVector(std::move(values))).ok());
  }
  Result<std::vector<Tensor>> Read(const std::string& name = "") const {
    return ReadExternalAssignment(folder_.path() + name, graph_, /*num_partitions=*/3);
  }
  std::string Digest() const { return *ExternalAssignmentDigest(folder_.path()); }

  static graph::SourceGraph GraphWith(graph::GraphSchema schema, const std::vector<uint64_t>& num_nodes) {
    graph::SourceGraph graph;
    graph.schema = std::move(schema);
    for (const uint64_t count : num_nodes) graph.nodes.push_back({.count = count, .columns = {}});
    return graph;
  }

  const storage::TemporaryFolder folder_;
  const graph::SourceGraph graph_ =
      GraphWith(*graph::GraphSchema::Make({"author", "paper"}, {{"author", "writes", "paper"}}), {3, 2});
};

// Files in the format of random_partition.py and parmetis_postprocess.py.
TEST_F(ExternalAssignmentTest, ReadsPartitionMappingsOfDgl) {
  WriteText("author.txt", "0\n2\n1\n");
  WriteText("paper.txt", "1\n1");
  const auto assignment = Read();
  ASSERT_TRUE(assignment.ok()) << assignment.status().ToString();
  ASSERT_EQ(assignment->size(), 2u);
  EXPECT_THAT((*assignment)[0].values<uint64_t>(), ElementsAre(0, 2, 1));
  EXPECT_THAT((*assignment)[1].values<uint64_t>(), ElementsAre(1, 1));
}

TEST_F(ExternalAssignmentTest, OneFileIsEnoughForOneNodeType) {
  WriteText("parts.txt", "2\n0\n");
  const graph::SourceGraph graph = GraphWith(*graph::GraphSchema::Make({"_N"}, {{"_N", "_E", "_N"}}), {2});
  const auto assignment = ReadExternalAssignment(folder_.path() + "/parts.txt", graph, 3);
  ASSERT_TRUE(assignment.ok()) << assignment.status().ToString();
  EXPECT_THAT((*assignment)[0].values<uint64_t>(), ElementsAre(2, 0));
  EXPECT_THAT(Read("/parts.txt").status().message(), HasSubstr("2 node types: expected a folder"));
}

TEST_F(ExternalAssignmentTest, NamesFileAndLineOfInvalidPartition) {
  WriteText("paper.txt", "1\n1\n");
  const auto error = [&](const std::string& text) {
    WriteText("author.txt", text);
    return Read().status().ToString();
  };
  EXPECT_THAT(error("0\n2\n3\n"),
              AllOf(HasSubstr("OUT_OF_RANGE"), HasSubstr("author.txt:3: the number is 3: expected 0 to 2")));
  EXPECT_THAT(error("0\n-1\n"), HasSubstr("author.txt:2: the number is -1"));
  EXPECT_THAT(error("0\n2.0\n"), HasSubstr("author.txt:2: the number is '2.0': expected an integer"));
  EXPECT_THAT(error("0 1\n"), HasSubstr("author.txt:1"));
  EXPECT_THAT(error("0\n2\n1\n0\n9\n"), HasSubstr("author.txt:4: one line too many: expected at most 3"));
  std::filesystem::remove(folder_.path() + "/paper.txt");
  EXPECT_THAT(error("0\n"), AllOf(HasSubstr("node type 'paper'"), HasSubstr("paper.txt")));
}

TEST_F(ExternalAssignmentTest, PrefersArraysAndDigestsUsedFiles) {
  WriteText("author.txt", "0\n");
  const std::string of_text = Digest();
  WriteArray("author.npy", {1, 2});
  WriteArray("paper.npy", {0});
  const std::string of_arrays = Digest();
  EXPECT_NE(of_arrays, of_text);
  const auto assignment = Read();
  ASSERT_TRUE(assignment.ok()) << assignment.status().ToString();
  EXPECT_THAT((*assignment)[0].values<int32_t>(), ElementsAre(1, 2));

  WriteText("author.txt", "2\n");
  EXPECT_EQ(Digest(), of_arrays);
  std::filesystem::remove(folder_.path() + "/author.npy");
  std::filesystem::remove(folder_.path() + "/paper.npy");
  EXPECT_NE(Digest(), of_text);
}

}  // namespace
}  // namespace espalier::partitioner
