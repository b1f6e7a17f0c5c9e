#include "services/format/source/triple_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"

namespace espalier::format {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

// Returns the warnings of reading the folder, without its path.
std::vector<std::string> WarningsOf(const TemporaryFolder& folder,
                                    TripleColumns columns = TripleColumns::kHeadRelationTail) {
  std::vector<std::string> warnings;
  const Result<graph::SourceGraph> graph = ReadSourceGraph({.format = SourceFormat::kTriples,
                                                            .path = folder.path(),
                                                            .triples = {.columns = columns},
                                                            .warnings = &warnings});
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  for (std::string& warning : warnings) {
    const std::string path = folder.path() + "/";
    for (size_t at = warning.find(path); at != std::string::npos; at = warning.find(path))
      warning.erase(at, path.size());
  }
  return warnings;
}

TEST(TripleWarningsTest, CountsHeaderLinesOfFiles) {
  const TemporaryFolder folder;
  folder.Write("train.txt", "head\trelation\ttail\nalice\tknows\tbob\n");
  folder.Write("valid.txt", "head\trelation\ttail\nbob\tknows\talice\n");
  folder.Write("test.txt", "bob\tlikes\talice\n");
  EXPECT_THAT(WarningsOf(folder),
              ElementsAre("2 files begin with a line that looks like a header but was read as a triple (train.txt:1: "
                          "'head', 'relation', 'tail'): delete the line if it names the columns"));
}

TEST(TripleWarningsTest, CountsNamesWithBlanks) {
  const TemporaryFolder folder;
  folder.Write("train.txt", "alice\tknows\tbob \r\nbob \tknows\t carol\nbob\t likes\talice\n");
  EXPECT_THAT(WarningsOf(folder),
              ElementsAre("3 names begin or end with a space, which is part of the name (the first is 'bob ' in "
                          "train.txt:1): remove the space if the same name also occurs without it"));
}

TEST(TripleWarningsTest, DoesNotWarnOfOrdinaryFiles) {
  const TemporaryFolder folder;
  folder.Write("train.txt", "the head\tis part of\tthe body\nalice\tknows\thead\nhead\trelation\ttail\n");
  EXPECT_THAT(WarningsOf(folder), IsEmpty());
}

TEST(TripleWarningsTest, RecognizesHeadersInOtherOrder) {
  const TemporaryFolder folder;
  folder.Write("train.txt", "relation\thead\ttail\nknows\talice\tbob\n");
  EXPECT_EQ(WarningsOf(folder, TripleColumns::kRelationHeadTail).size(), 1u);
}

TEST(TripleWarningsTest, DistinguishesHeadersFromTriples) {
  using Fields = std::array<std::string_view, 3>;
  for (const Fields& header :
       {Fields{"Subject", "Predicate", "Object"}, Fields{"h", "r", "t"}, Fields{"#head", "rel", "tail"},
        Fields{"source", "edge_type", "target"}, Fields{"head_id", "relation_id", "tail_id"},
        Fields{":START_ID", ":TYPE", ":END_ID"}, Fields{"from", "relation", "to"}}) {
    EXPECT_TRUE(LooksLikeHeader(header)) << header[0];
  }
  for (const Fields& triple : {Fields{"alice", "knows", "bob"}, Fields{"head", "knows", "tail"}, Fields{"1", "2", "3"},
                               Fields{"object", "type", "subject"}, Fields{"name", "label", "id"}}) {
    EXPECT_FALSE(LooksLikeHeader(triple)) << triple[0];
  }
}

}  // namespace
}  // namespace espalier::format
