// The result of reading a CSV file must not depend on the blocks, on the number of threads that parse them, or on
// whether its rows are collected in memory or in a file.
#include "services/format/source/csv_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/testing/no_more_threads.h"
#include "services/format/source/limits.h"
#include "services/format/source/line_reader.h"
#include "services/format/source/testing/source_files.h"

namespace espalier::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

const std::vector<BlockReading> kReadings = {
    {.threads = 1, .block_bytes = 1 << 20}, {.threads = 1, .block_bytes = 5}, {.threads = 2, .block_bytes = 1},
    {.threads = 2, .block_bytes = 64},      {.threads = 4, .block_bytes = 7}, {.threads = 16, .block_bytes = 16},
};

std::string Bytes(const Tensor& tensor) {
  return tensor.ToString() + std::string(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
}

// Reads a table in all ways and expects the same outcome. Returns the bytes of the table, or the error without the
// folder.
std::string Outcome(const std::string& text, const CsvOptions& options) {
  const TemporaryFolder folder;
  std::vector<std::string> outcomes;
  for (const std::string& path : {folder.Write("t.csv", text), folder.WriteGzip("t.csv.gz", text)}) {
    for (size_t i = 0; i < 2 * kReadings.size(); ++i) {
      BlockReading reading = kReadings[i / 2];
      if (i % 2 == 1) reading.scratch_folder = folder.path() + "/scratch";
      const Result<Tensor> table = ReadCsvTable(path, options, reading);
      std::string outcome = table.ok() ? Bytes(*table) : table.status().ToString();
      for (size_t at = outcome.find(path); at != std::string::npos; at = outcome.find(path)) {
        outcome.replace(at, path.size(), "FILE");
      }
      outcomes.push_back(outcome);
      EXPECT_EQ(outcomes.front(), outcomes.back()) << reading.threads << " threads, blocks of " << reading.block_bytes
                                                   << (reading.scratch_folder.empty() ? "" : ", in a file");
    }
  }
  return outcomes.front();
}

std::string Lines(int count, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i) + "\n";
  return text;
}

constexpr CsvOptions kNumbers = {.numbers = CsvNumbers::kInferred, .shape = CsvShape::kSqueeze};
constexpr CsvOptions kThree = {.numbers = CsvNumbers::kInferred, .shape = CsvShape::kSqueeze, .num_rows = 3};

TEST(CsvTableTest, DoesNotDependOnBlocksAndThreads) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("t.csv", Lines(2000, [](int i) { return std::to_string(i) + ",0.5"; }));
  const Result<Tensor> table = ReadCsvTable(path, {.num_rows = 2000}, {.threads = 3, .block_bytes = 100});
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(table->ToString(), "F32 [2000, 2]");
  for (int64_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(table->ValueAsDouble(2 * i), static_cast<double>(i));
    ASSERT_EQ(table->ValueAsDouble(2 * i + 1), .5);
  }
  EXPECT_THAT(Outcome(Lines(500, [](int i) { return std::to_string(i * 1.25) + ", 7,-1e30"; }), {.num_rows = 500}),
              HasSubstr("F32 [500, 3]"));
}

// Returns the first error of reading all lines of a file.
Status ReadAllBlocks(const std::string& path, size_t block_bytes) {
  ASSIGN_OR_RETURN(LineBlockReader reader, LineBlockReader::Open(path, {.block_bytes = block_bytes}));
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<LineBlock> block, reader.Next());
    if (!block.has_value()) return Status();
  }
}
Status ReadAllLines(const std::string& path) {
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, reader.Next());
    if (!line.has_value()) return Status();
  }
}

TEST(CsvTableTest, LongestLineDoesNotDependOnBlocks) {
  const TemporaryFolder folder;
  const std::string longest = folder.Write("longest.csv", "1\n" + std::string(kMaxLineBytes, '2') + "\n3\n");
  const std::string longer = folder.Write("longer.csv", "1\n" + std::string(kMaxLineBytes + 1, '2') + "\n3\n");
  const Status too_long = InvalidArgument(longer + ":2: the line is longer than 64 MiB");
  EXPECT_EQ(ReadAllBlocks(longest, 1 << 20), Status());
  EXPECT_EQ(ReadAllBlocks(longer, 1 << 20), too_long);
  EXPECT_EQ(ReadAllBlocks(longer, 2 * kMaxLineBytes), too_long);
  EXPECT_EQ(ReadAllLines(longest), Status());
  EXPECT_EQ(ReadAllLines(longer), too_long);
}

TEST(CsvTableTest, ReadsSameWithoutThreads) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("t.csv", Lines(2000, [](int i) { return std::to_string(i) + ",0.5"; }));
  const BlockReading reading{.threads = 3, .block_bytes = 100};
  const Result<Tensor> usual = ReadCsvTable(path, {.num_rows = 2000}, reading);
  const NoMoreThreads none;
  const Result<Tensor> table = ReadCsvTable(path, {.num_rows = 2000}, reading);
  ASSERT_TRUE(usual.ok() && table.ok()) << table.status().ToString();
  EXPECT_EQ(Bytes(*table), Bytes(*usual));
}

TEST(CsvTableTest, InfersIntegersFromTheWholeFile) {
  EXPECT_THAT(Outcome("1\n2\n16777217\n", kThree), HasSubstr("I64 [3]"));
  EXPECT_THAT(Outcome("1\n2\n0.5\n", kThree), HasSubstr("F32 [3]"));
  EXPECT_THAT(Outcome("0.5\n2\n16777217\n", kThree), HasSubstr("F32 [3]"));
  EXPECT_THAT(Outcome("1\r\n2\r\n3", kThree), HasSubstr("I64 [3]"));
  EXPECT_THAT(Outcome("1\n2\n3\n\n", kThree), HasSubstr("I64 [3]"));
}

TEST(CsvTableTest, SkipsByteOrderMarksAndBlankLines) {
  const std::string plain = Outcome("1,2\n3,4\n5,6\n", kThree);
  EXPECT_THAT(plain, HasSubstr("I64 [3, 2]"));
  EXPECT_EQ(Outcome("\xEF\xBB\xBF"
                    "1,2\n3,4\n5,6\n",
                    kThree),
            plain);
  EXPECT_EQ(Outcome("1,2\r\n3,4\r\n5,6\r", kThree), plain);
  EXPECT_EQ(Outcome(" 1, 2\n3 ,4 \n5,  6\n", kThree), plain);
  EXPECT_EQ(Outcome("1,2\n3,4\n5,6\n\n\n  \n\r\n", kThree), plain);
  EXPECT_EQ(Outcome("\xEF\xBB\xBF", {}), Outcome("", {}));
  EXPECT_THAT(Outcome("\xEF\xBB", kNumbers), HasSubstr("FILE:1, field 1 is '\xEF\xBB': expected a number"));
}

TEST(CsvTableTest, NamesTheRemedy) {
  const auto wrong = [](const std::string& text) { return Outcome(text, kNumbers); };
  EXPECT_THAT(wrong("paper,year\n1,2\n"),
              HasSubstr("FILE:1, field 1 is 'paper': expected a number; if this line is a header, delete it"));
  EXPECT_THAT(wrong("1,+-2\n"), HasSubstr("field 2 is '+-2': expected a number"));
  EXPECT_THAT(wrong("1;2\n3;4\n"), HasSubstr("'1;2': expected a number; numbers must be separated by ','"));
  EXPECT_THAT(wrong("1\t2\n3\t4\n"), HasSubstr("expected a number; numbers must be separated by ','"));
  EXPECT_THAT(wrong("\"1\",2\n"), HasSubstr("is '\"1\"': expected a number without quotes"));
  EXPECT_THAT(wrong("1,2\n3,\n"),
              HasSubstr("FILE:2, field 2 is '': expected a number; only label columns may lack values"));
  EXPECT_THAT(wrong("1,NaN\n"), HasSubstr("field 2 is 'NaN': expected a number; only label columns may lack values"));
  EXPECT_THAT(wrong(std::string("1\0,\0", 4)), HasSubstr("is the file in UTF-16"));
  EXPECT_EQ(wrong("\xFF\xFE"
                  "1"),
            "INVALID_ARGUMENT: FILE is text in UTF-16: expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8");
  EXPECT_THAT(wrong("\xFE\xFF"), HasSubstr("UTF-16"));
}

// The integers are more than are converted at a time, and fill whole blocks.
TEST(CsvTableTest, MakesFloatsOfManyIntegersBeforeAFraction) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("t.csv", Lines(150'000, [](int i) { return std::to_string(i); }) + "0.5\n");
  for (const std::string& scratch : {std::string(), folder.path() + "/scratch"}) {
    const Result<Tensor> table = ReadCsvTable(path, kNumbers, {.block_bytes = 1 << 16, .scratch_folder = scratch});
    ASSERT_TRUE(table.ok()) << table.status().ToString();
    ASSERT_EQ(table->ToString(), "F32 [150001]");
    for (int64_t i = 0; i < 150'000; ++i) ASSERT_EQ(table->ValueAsDouble(i), static_cast<double>(i));
    EXPECT_EQ(table->ValueAsDouble(150'000), .5);
  }
}

TEST(CsvTableTest, NamesFirstInvalidLine) {
  EXPECT_EQ(Outcome("1\n2\nx\n", kThree), "INVALID_ARGUMENT: FILE:3, field 1 is 'x': expected a number");
  EXPECT_EQ(Outcome("1,2\n3\n4,5\n", kThree),
            "INVALID_ARGUMENT: FILE:2 has 1 fields: expected 2 as in the lines before");
  EXPECT_EQ(Outcome("1,2\nx\n4,5\n", kThree),
            "INVALID_ARGUMENT: FILE:2 has 1 fields: expected 2 as in the lines before");
  EXPECT_EQ(Outcome("1,2\n3,y\nx\n", kThree), "INVALID_ARGUMENT: FILE:2, field 2 is 'y': expected a number");
  EXPECT_EQ(Outcome("1\n\n3\n4\n", kThree),
            "INVALID_ARGUMENT: FILE:3 follows an empty line: expected empty lines only at the end");
  EXPECT_EQ(Outcome("1\n2\n\n\n", kThree), "INVALID_ARGUMENT: FILE has 2 rows: expected 3");
  EXPECT_EQ(Outcome("1\n2\n\n\n3\n", kThree),
            "INVALID_ARGUMENT: FILE:5 follows an empty line: expected empty lines only at the end");
  EXPECT_EQ(Outcome("\n1\n2\n3\n", kThree),
            "INVALID_ARGUMENT: FILE:2 follows an empty line: expected empty lines only at the end");
}

TEST(CsvTableTest, CountsRowsBeforeParsing) {
  EXPECT_EQ(Outcome("1\n2\n", kThree), "INVALID_ARGUMENT: FILE has 2 rows: expected 3");
  EXPECT_EQ(Outcome("", kThree), "INVALID_ARGUMENT: FILE has 0 rows: expected 3");
  EXPECT_EQ(Outcome("1\n2\n3\n4\n", kThree), "INVALID_ARGUMENT: FILE has more than 3 rows: expected 3");
  EXPECT_EQ(Outcome("1\n2\n3\nx\n", kThree), "INVALID_ARGUMENT: FILE has more than 3 rows: expected 3");
  EXPECT_EQ(Outcome("1\n2\n3\n\nx\n", kThree),
            "INVALID_ARGUMENT: FILE:5 follows an empty line: expected empty lines only at the end");
}

TEST(CsvTableTest, ReportsABadLineBeforeATruncatedEnd) {
  const std::string text = Lines(20'000, [](int i) { return i == 100 ? "x" : std::to_string(i); });
  const TemporaryFolder folder;
  const std::string whole = testing::Gzip(text);
  const std::string path = folder.Write("t.csv.gz", whole.substr(0, whole.size() / 2));
  for (const BlockReading& reading : kReadings) {
    EXPECT_THAT(ReadCsvTable(path, {.num_rows = 20'000}, reading).status().message(), HasSubstr(":101, field 1"));
  }
  const std::string good = testing::Gzip(Lines(20'000, [](int i) { return std::to_string(i); }));
  const std::string cut = folder.Write("u.csv.gz", good.substr(0, good.size() / 2));
  for (const BlockReading& reading : kReadings) {
    const Status status = ReadCsvTable(cut, {.num_rows = 20'000}, reading).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr("truncated after line "));
  }
}

TEST(CsvEdgesTest, SkipsAByteOrderMarkAndNamesTheRemedy) {
  const TemporaryFolder folder;
  const CsvEdgeLimits limits{.num_sources = 9, .num_destinations = 9};
  const auto outcome = [&](const std::string& text) {
    const Result<CsvEdges> edges = ReadCsvEdges(folder.WriteGzip("e.csv.gz", text), limits, {.block_bytes = 2});
    if (!edges.ok()) return edges.status().message();
    return std::to_string(edges->sources.num_rows()) + " edges from " + std::to_string(edges->sources.ValueAsInt(0));
  };
  EXPECT_EQ(outcome("\xEF\xBB\xBF"
                    "3,1\r\n4,2\r\n\r\n\r\n"),
            "2 edges from 3");
  EXPECT_THAT(
      outcome("source,target\n3,1\n"),
      HasSubstr("e.csv.gz:1: the source is 'source': expected an integer; if this line is a header, delete it"));
  EXPECT_THAT(outcome("src,dst,w\n"), HasSubstr("has 3 fields: expected source,destination; if this line is a header"));
  EXPECT_THAT(outcome("3;1\n"),
              HasSubstr("has 1 fields: expected source,destination; numbers must be separated by ','"));
  EXPECT_THAT(outcome("3,1\n4,x\n"), ::testing::EndsWith("e.csv.gz:2: the destination is 'x': expected an integer"));
}

TEST(CsvIdsTest, SkipsBlanksAndAByteOrderMark) {
  const TemporaryFolder folder;
  const Result<std::vector<uint64_t>> ids = ReadCsvIds(folder.Write("ids.csv", "\xEF\xBB\xBF 3 \r\n4\n\n\n"), 9, 9);
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  EXPECT_THAT(*ids, ElementsAre(3, 4));
  EXPECT_THAT(ReadCsvIds(folder.Write("ids.csv", "node\n4\n"), 9, 9).status().message(),
              HasSubstr("if this line is a header"));
}

TEST(CsvEdgesTest, DoesNotDependOnBlocksAndThreads) {
  const TemporaryFolder folder;
  const CsvEdgeLimits limits{.num_sources = 1000, .num_destinations = 7, .num_edges = 1000};
  const auto line = [](int i) { return std::to_string(i) + "," + std::to_string(i % 7); };
  const std::string good = folder.Write("good.csv", Lines(1000, line));
  const std::string bad =
      folder.Write("bad.csv", Lines(1000, [&](int i) { return i == 300 || i == 900 ? "1,7" : line(i); }));
  std::vector<BlockReading> readings = kReadings;
  for (const BlockReading& reading : kReadings) {
    readings.push_back(reading);
    readings.back().scratch_folder = folder.path() + "/scratch";
  }
  for (const BlockReading& reading : readings) {
    const Result<CsvEdges> edges = ReadCsvEdges(good, limits, reading);
    ASSERT_TRUE(edges.ok()) << edges.status().ToString();
    for (int64_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(edges->sources.ValueAsInt(i), i);
      ASSERT_EQ(edges->destinations.ValueAsInt(i), i % 7);
    }
    EXPECT_THAT(ReadCsvEdges(bad, limits, reading).status().ToString(),
                ::testing::AllOf(HasSubstr("OUT_OF_RANGE"), HasSubstr("bad.csv:301: the destination is 7")));
  }
}

}  // namespace
}  // namespace espalier::format
