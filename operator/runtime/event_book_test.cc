// Tests when Events are created and patched, which occurrences form a series, retries after failures, and the limits.
#include "operator/runtime/event_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "operator/kube/json.h"

namespace espalier::ctl::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Optional;
using Kind = EventBook::Write::Kind;
using Due = EventBook::Due;

class EventBookTest : public testing::Test {
 protected:
  static kube::ObjectMeta About(const std::string& name) {
    kube::ObjectMeta meta;
    meta.key = {"default", name};
    meta.uid = "uid-of-" + name;
    meta.resource_version = "7";
    return meta;
  }
  bool Record(const std::string& reason = "Restarted", const std::string& name = "cora",
              const std::string& note = "a trainer died") {
    return book.Record(kube::kDistTrainings, About(name), {EventType::kWarning, reason, "Restart", note}, At(), now);
  }
  kube::WallTime At() const {
    return kube::WallTime(seconds(1'000'000'000)) + (std::chrono::duration_cast<seconds>(now - begin));
  }
  std::optional<EventBook::Write> Next(Due due = Due::kNow) { return book.NextWrite(due, now); }
  // Writes everything that is due and returns the number of writes.
  int WriteAll() {
    int writes = 0;
    for (auto write = Next(); write; write = Next(), ++writes) book.OnWritten(*write, now);
    return writes;
  }
  static int64_t CountOf(const EventBook::Write& write) {
    return kube::IntegerAt(write.body, {"series", "count"}).value_or(1);
  }

  const SteadyTime begin = SteadyTime(std::chrono::hours(1));
  SteadyTime now = begin;
  EventBook book{"espalier.io/operator", "operator-0_abc"};
};

TEST_F(EventBookTest, FirstOccurrenceCreatesEvent) {
  ASSERT_TRUE(Record());
  const auto write = Next();
  ASSERT_TRUE(write);

  EXPECT_EQ(write->kind, Kind::kCreate);
  kube::Json expected = {{"apiVersion", "events.k8s.io/v1"},
                         {"kind", "Event"},
                         {"metadata", {{"name", write->key.name}, {"namespace", "default"}}},
                         {"eventTime", "2001-09-09T01:46:40.000000Z"},
                         {"reportingController", "espalier.io/operator"},
                         {"reportingInstance", "operator-0_abc"},
                         {"type", "Warning"},
                         {"reason", "Restarted"},
                         {"action", "Restart"},
                         {"note", "a trainer died"},
                         {"regarding",
                          {{"apiVersion", "espalier.io/v1alpha1"},
                           {"kind", "DistTraining"},
                           {"name", "cora"},
                           {"namespace", "default"},
                           {"uid", "uid-of-cora"},
                           {"resourceVersion", "7"}}}};
  EXPECT_EQ(write->body, expected);
  EXPECT_THAT(write->key.name, testing::MatchesRegex("cora\\.[0-9a-f]{16}"));
  EXPECT_EQ(Next(), std::nullopt) << "it is under way";
}

TEST_F(EventBookTest, SecondOccurrencePatchesSeries) {
  Record();
  ASSERT_EQ(WriteAll(), 1);
  now += seconds(3);
  Record();

  const auto write = Next();

  ASSERT_TRUE(write);
  EXPECT_EQ(write->kind, Kind::kPatch);
  EXPECT_EQ(write->body, (kube::Json{{"series", {{"count", 2}, {"lastObservedTime", "2001-09-09T01:46:43.000000Z"}}}}));
}

TEST_F(EventBookTest, AnotherNoteIsAnotherEvent) {
  Record("AllReady", "cora", "Job cora-trainer-1");
  ASSERT_EQ(WriteAll(), 1);
  Record("AllReady", "cora", "Job cora-trainer-2");

  const auto write = Next();

  ASSERT_TRUE(write);
  EXPECT_EQ(write->kind, Kind::kCreate);
  EXPECT_EQ(kube::StringAt(write->body, {"note"}), "Job cora-trainer-2");
}

TEST_F(EventBookTest, RepetitionBeforeWriteIsMerged) {
  Record();
  Record();
  Record();

  const auto write = Next();

  ASSERT_TRUE(write);
  EXPECT_EQ(write->kind, Kind::kCreate);
  EXPECT_EQ(CountOf(*write), 3);
  book.OnWritten(*write, now);
  EXPECT_EQ(Next(), std::nullopt);
}

TEST_F(EventBookTest, RepetitionDuringWriteIsKept) {
  Record();
  const auto create = Next();
  ASSERT_TRUE(create);
  Record();
  EXPECT_EQ(Next(), std::nullopt) << "the patch must not overtake the creation";
  book.OnWritten(*create, now);

  const auto patch = Next();

  ASSERT_TRUE(patch);
  EXPECT_EQ(patch->kind, Kind::kPatch);
  EXPECT_EQ(CountOf(*patch), 2);
}

TEST_F(EventBookTest, ALongSeriesIsRefreshedEveryHalfHour) {
  Record();
  WriteAll();
  Record();
  ASSERT_EQ(WriteAll(), 1);
  int writes = 0;
  for (int minute = 1; minute <= 90; ++minute) {
    now += minutes(1);
    Record();
    writes += WriteAll();
  }

  EXPECT_EQ(writes, 3);
}

TEST_F(EventBookTest, QuietSeriesWritesLastCountAndEnds) {
  Record();
  WriteAll();
  Record();
  WriteAll();
  Record();
  Record();
  ASSERT_EQ(Next(), std::nullopt);
  EXPECT_EQ(book.NextTime(), now + minutes(6));

  now += minutes(6);
  const auto last = Next();
  ASSERT_TRUE(last);
  EXPECT_EQ(CountOf(*last), 4);
  book.OnWritten(*last, now);
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_EQ(book.num_series(), 0u);

  Record();
  const auto again = Next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, Kind::kCreate);
  EXPECT_NE(again->key.name, last->key.name) << "the old Event may still be there";
}

TEST_F(EventBookTest, OtherReasonsAndOtherObjectsAreOtherEvents) {
  Record("Restarted", "cora");
  Record("Suspended", "cora");
  Record("Restarted", "ogbn");

  std::set<std::string> names;
  while (const auto write = Next()) {
    EXPECT_EQ(write->kind, Kind::kCreate);
    names.insert(write->key.name);
  }
  EXPECT_EQ(names.size(), 3u);
}

TEST_F(EventBookTest, FailedWriteIsRetriedWithSameName) {
  Record();
  const auto first = Next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(book.OnFailed(*first, Unavailable("no route"), now));
  EXPECT_EQ(Next(), std::nullopt);
  Record();  // does not shorten the delay
  EXPECT_EQ(Next(), std::nullopt);

  now += seconds(1);
  const auto second = Next();

  ASSERT_TRUE(second);
  EXPECT_EQ(second->key, first->key);
  EXPECT_EQ(CountOf(*second), 2);
}

TEST_F(EventBookTest, GivesUpAfterTwelveTries) {
  Record();
  for (int n = 1; n <= EventBook::kMaxTries; ++n) {
    const auto write = Next(Due::kAny);
    ASSERT_TRUE(write) << "try " << n;
    EXPECT_EQ(book.OnFailed(*write, Unavailable("no route"), now), n < EventBook::kMaxTries);
  }
  EXPECT_EQ(Next(Due::kAny), std::nullopt);
  EXPECT_EQ(book.num_series(), 0u);
}

TEST_F(EventBookTest, RefusedEventIsDropped) {
  for (const StatusCode code : {StatusCode::kPermissionDenied, StatusCode::kInvalidArgument, StatusCode::kNotFound}) {
    Record();
    const auto write = Next();
    ASSERT_TRUE(write);
    EXPECT_FALSE(book.OnFailed(*write, Status(code, "the namespace is being terminated"), now));
    EXPECT_EQ(Next(Due::kAny), std::nullopt);
  }
}

TEST_F(EventBookTest, ExpiredEventIsRecreatedWithCount) {
  Record();
  WriteAll();
  Record();
  const auto patch = Next();
  ASSERT_TRUE(patch);
  EXPECT_TRUE(book.OnFailed(*patch, NotFound("it has expired"), now));

  const auto create = Next();

  ASSERT_TRUE(create);
  EXPECT_EQ(create->kind, Kind::kCreate);
  EXPECT_EQ(create->key, patch->key);
  EXPECT_EQ(CountOf(*create), 2);
}

TEST_F(EventBookTest, FullQueueReportsDrop) {
  for (size_t i = 0; i < EventBook::kMaxQueued; ++i) ASSERT_TRUE(Record("Restarted", "job-" + std::to_string(i)));

  EXPECT_FALSE(Record("Restarted", "one-more"));
  EXPECT_TRUE(Record("Restarted", "job-0")) << "what is there counts on";
  const auto write = Next();
  ASSERT_TRUE(write);
  book.OnWritten(*write, now);
  EXPECT_TRUE(Record("Restarted", "one-more"));
}

TEST_F(EventBookTest, EvictsQuietestSeries) {
  for (size_t i = 0; i < EventBook::kMaxSeries; ++i) {
    now += milliseconds(1);
    Record("Restarted", "job-" + std::to_string(i));
    WriteAll();
  }
  now += milliseconds(1);
  Record("Restarted", "job-0");
  WriteAll();
  ASSERT_EQ(book.num_series(), EventBook::kMaxSeries);
  Record("Restarted", "one-more");
  WriteAll();
  EXPECT_EQ(book.num_series(), EventBook::kMaxSeries);

  Record("Restarted", "job-0");
  EXPECT_EQ(Next(), std::nullopt) << "it is known, and on its third time";
  Record("Restarted", "job-1");
  const auto write = Next();
  ASSERT_TRUE(write);
  EXPECT_EQ(write->kind, Kind::kCreate) << "it was forgotten";
}

TEST_F(EventBookTest, NotesAreValidUtf8AndCutBetweenCharacters) {
  std::string note = "x";
  for (int i = 0; i < 600; ++i) note += "\u00e9";  // two bytes each
  Record("Restarted", "cora", note);
  Record("Suspended", "cora", "bytes \xff\xfe");

  const auto cut = Next();
  const auto mended = Next();

  // Without the gap 1019 bytes remain: the start and the end of the note, cut between characters.
  EXPECT_EQ(kube::StringAt(cut->body, {"note"}), note.substr(0, 509) + " ... " + note.substr(note.size() - 510));
  EXPECT_EQ(kube::StringAt(mended->body, {"note"}), "bytes \uFFFD\uFFFD");
}

TEST_F(EventBookTest, ClusterWideObjectsHaveTheirEventsInDefault) {
  kube::ObjectMeta node;
  node.key = {"", "node-1"};
  book.Record(kube::kNodes, node, {EventType::kNormal, "Seen", "See", ""}, At(), now);

  EXPECT_EQ(Next()->key.name_space, "default");
}

TEST_F(EventBookTest, LongNamesStayWithinTheLimit) {
  Record("Restarted", std::string(230, 'a') + "......" + std::string(17, 'b'));

  const std::string name = Next()->key.name;

  EXPECT_LE(name.size(), 253u);
  EXPECT_EQ(name.substr(0, 231), std::string(230, 'a') + ".");
}

}  // namespace
}  // namespace espalier::ctl::runtime
