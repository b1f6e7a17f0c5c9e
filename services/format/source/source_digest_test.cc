#include <gtest/gtest.h>

#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"

namespace espalier::format {
namespace {

std::string DigestOf(SourceFormat format, const std::string& path, const TripleOptions& triples = {}) {
  Result<std::string> digest = SourceDigest({.format = format, .path = path, .triples = triples});
  return digest.ok() ? *digest : digest.status().ToString();
}

TEST(SourceDigestTest, DependsOnNamesAndBytesAndNotOnThePlace) {
  const testing::TemporaryFolder here, there;
  testing::WriteOgbTriangle(here);
  testing::WriteOgbTriangle(there);
  const std::string digest = DigestOf(SourceFormat::kOgb, here.path());
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_EQ(digest, DigestOf(SourceFormat::kOgb, there.path() + "/"));

  there.Write("processed/cache.pt", "what Python left");
  EXPECT_EQ(digest, DigestOf(SourceFormat::kOgb, there.path()));
  there.WriteGzip("raw/node-label.csv.gz", "0\n1\n2\n1\n");
  EXPECT_NE(digest, DigestOf(SourceFormat::kOgb, there.path()));
}

TEST(SourceDigestTest, BytesThatMoveBetweenFilesChangeIt) {
  const testing::TemporaryFolder a, b;
  a.Write("x", "12");
  a.Write("y", "3");
  b.Write("x", "1");
  b.Write("y", "23");
  EXPECT_NE(DigestOf(SourceFormat::kNpy, a.path()), DigestOf(SourceFormat::kNpy, b.path()));
}

TEST(SourceDigestTest, OptionsThatDecideTheGraphAreInIt) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.Write("all.txt", "a\tb\tc\n");
  const std::string digest = DigestOf(SourceFormat::kTriples, path);
  EXPECT_NE(digest, DigestOf(SourceFormat::kTriples, path, {.columns = TripleColumns::kRelationHeadTail}));
  EXPECT_NE(digest, DigestOf(SourceFormat::kTriples, path, {.names = NameOrder::kFirstAppearance}));
}

TEST(SourceDigestTest, SaysThatThereIsNothing) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(SourceDigest({.path = folder.path()}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(SourceDigest({.path = folder.path() + "/gone"}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace espalier::format
