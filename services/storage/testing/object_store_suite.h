// Tests of the ObjectStore contract. Include it in one test file of a driver and instantiate:
//   INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreSuite, ::testing::Values(StoreCase{"Memory", [] { ... }}));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/failpoint.h"
#include "services/storage/object_store.h"
#include "services/storage/testing/put_text.h"

namespace espalier::storage {

// A driver under test. `make` returns an empty store; the pointer keeps alive what the store needs.
enum class PutIfAbsentRace { kOneWins, kLastWins };
struct StoreCase {
  std::string name;
  std::function<std::shared_ptr<ObjectStore>()> make;
  // kLastWins: the service checks the condition and then writes, so that concurrent writers may all succeed.
  PutIfAbsentRace put_if_absent_race = PutIfAbsentRace::kOneWins;
};
inline void PrintTo(const StoreCase& store_case, std::ostream* out) { *out << store_case.name; }

class ObjectStoreSuite : public ::testing::TestWithParam<StoreCase> {
 protected:
  void SetUp() override { store_ = GetParam().make(); }

  void Put(const std::string& key, const std::string& text) {
    const Status put = PutText(*store_, key, text);
    ASSERT_TRUE(put.ok()) << put.ToString();
  }
  std::string Get(const std::string& key) {
    const Result<std::string> text = store_->Get(key);
    return text.ok() ? *text : text.status().ToString();
  }
  std::vector<std::string> Keys(const std::string& prefix) {
    std::vector<std::string> keys;
    const Result<std::vector<ObjectInfo>> objects = store_->List(prefix);
    EXPECT_TRUE(objects.ok()) << objects.status().ToString();
    if (!objects.ok()) return keys;
    for (const ObjectInfo& object : *objects) keys.push_back(object.key);
    return keys;
  }

  std::shared_ptr<ObjectStore> store_;
};

TEST_P(ObjectStoreSuite, RoundTrips) {
  const std::string binary("a\0b\xff\n", 5);
  Put("runs/7/model.bin", binary);

  EXPECT_EQ(Get("runs/7/model.bin"), binary);
  const Result<ObjectInfo> info = store_->Head("runs/7/model.bin");
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->key, "runs/7/model.bin");
  EXPECT_EQ(info->size_bytes, 5u);
}

TEST_P(ObjectStoreSuite, JoinsThePiecesOfAnObject) {
  const Result<std::unique_ptr<ObjectWriter>> writer = store_->Put("pieces");
  ASSERT_TRUE(writer.ok());
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece = std::to_string(i) + ",";
    ASSERT_TRUE((*writer)->Write(BytesOf(piece)).ok());
    expected += piece;
  }
  ASSERT_TRUE((*writer)->Commit().ok());
  EXPECT_EQ(Get("pieces"), expected);
}

TEST_P(ObjectStoreSuite, KeepsAnEmptyObject) {
  Put("empty", "");
  EXPECT_EQ(Get("empty"), "");
  EXPECT_THAT(Keys(""), ::testing::ElementsAre("empty"));
}

TEST_P(ObjectStoreSuite, ShowsNothingBeforeCommit) {
  Put("old", "first");
  const Result<std::unique_ptr<ObjectWriter>> fresh = store_->Put("fresh");
  const Result<std::unique_ptr<ObjectWriter>> over = store_->Put("old");
  ASSERT_TRUE(fresh.ok() && over.ok());
  ASSERT_TRUE((*fresh)->Write(BytesOf("half")).ok());
  ASSERT_TRUE((*over)->Write(BytesOf("second")).ok());

  EXPECT_EQ(store_->Get("fresh").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->Head("fresh").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Get("old"), "first");
  EXPECT_THAT(Keys(""), ::testing::ElementsAre("old"));
}

TEST_P(ObjectStoreSuite, DropsUncommittedObject) {
  {
    const Result<std::unique_ptr<ObjectWriter>> writer = store_->Put("folder/half");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Write(BytesOf("half")).ok());
  }
  EXPECT_EQ(store_->Get("folder/half").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Keys(""), ::testing::IsEmpty());
}

TEST_P(ObjectStoreSuite, RefusesToWriteAfterCommit) {
  const Result<std::unique_ptr<ObjectWriter>> writer = store_->Put("done");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write(BytesOf("all")).ok());
  ASSERT_TRUE((*writer)->Commit().ok());

  EXPECT_EQ((*writer)->Write(BytesOf("more")).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ((*writer)->Commit().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Get("done"), "all");
}

TEST_P(ObjectStoreSuite, ReplacesAnObject) {
  Put("key", "a longer first text");
  Put("key", "second");
  EXPECT_EQ(Get("key"), "second");
}

TEST_P(ObjectStoreSuite, NamesMissingKey) {
  Put("folder/file", "x");
  for (const char* key : {"nowhere", "folder", "folder/file/below"}) {
    const Status status = store_->Get(key).status();
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << key;
    EXPECT_THAT(status.message(), ::testing::HasSubstr(key));
    EXPECT_EQ(store_->Head(key).status().code(), StatusCode::kNotFound) << key;
    EXPECT_EQ(store_->GetRange(key, {0, 0}).status().code(), StatusCode::kNotFound) << key;
    EXPECT_EQ(store_->LocalPath(key), std::nullopt) << key;
  }
}

TEST_P(ObjectStoreSuite, ReadsExactlyTheRange) {
  Put("digits", "0123456789");
  const auto range = [&](uint64_t offset, uint64_t length) { return store_->GetRange("digits", {offset, length}); };

  EXPECT_EQ(*range(0, 10), "0123456789");
  EXPECT_EQ(*range(3, 4), "3456");
  EXPECT_EQ(*range(9, 1), "9");
  EXPECT_EQ(*range(10, 0), "");
  EXPECT_EQ(range(9, 2).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(range(11, 0).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(range(5, ~uint64_t{0}).status().code(), StatusCode::kOutOfRange);  // offset + length wraps
  EXPECT_EQ(range(~uint64_t{0}, 5).status().code(), StatusCode::kOutOfRange);
}

TEST_P(ObjectStoreSuite, ReadsRangeIntoBuffer) {
  Put("digits", "0123456789");
  std::string out = "----------";
  const auto read = [&](ByteRange range, size_t at) {
    return store_->ReadRange("digits", range, std::as_writable_bytes(std::span(out).subspan(at, range.length)));
  };
  EXPECT_TRUE(read({3, 4}, 1).ok());
  EXPECT_EQ(out, "-3456-----");
  EXPECT_TRUE(read({10, 0}, 0).ok());
  EXPECT_EQ(read({8, 4}, 0).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(read({10, 1}, 0).code(), StatusCode::kOutOfRange);
  std::byte one;
  EXPECT_EQ(store_->ReadRange("nowhere", {0, 1}, {&one, 1}).code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->ReadRange("../x", {0, 1}, {&one, 1}).code(), StatusCode::kInvalidArgument);
}

TEST_P(ObjectStoreSuite, ReadsOnlyRequestedVersion) {
  Put("digits", "0123456789");
  const std::string etag = store_->Head("digits")->etag;
  if (etag.empty()) GTEST_SKIP() << "this driver has no ETags";
  std::string out(4, '-');
  const auto read = [&](const std::string& wanted) {
    return store_->ReadRangeOfVersion("digits", wanted, {3, 4}, std::as_writable_bytes(std::span(out)));
  };
  EXPECT_TRUE(read(etag).ok());
  EXPECT_EQ(out, "3456");
  if (etag.starts_with('"')) {
    EXPECT_TRUE(read(etag.substr(1, etag.size() - 2)).ok());
  }
  Put("digits", "9876543210");
  EXPECT_EQ(read(etag).code(), StatusCode::kAborted);
  EXPECT_TRUE(read("").ok());
  EXPECT_EQ(out, "6543");
}

TEST_P(ObjectStoreSuite, KeepsAnObjectOfManyMegabytes) {
  std::string text((size_t{17} << 20) + 5, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 13);
  Put("large", text);
  EXPECT_TRUE(Get("large") == text);
  const uint64_t middle = text.size() / 2;
  EXPECT_TRUE(*store_->GetRange("large", {middle, middle}) == text.substr(middle, middle));
}

TEST_P(ObjectStoreSuite, TakesKeysWithCharactersThatUrlsAndXmlEscape) {
  const std::vector<std::string> keys = {" a b ",       "'\"`",       "(1)*!~", "a&b<c>",
                                         "dt=2024/x=y", "k:1;2,3?@$", "p%41+q", "\xc3\xa4/\xe2\x82\xac"};
  for (const std::string& key : keys) Put("x/" + key, key);
  for (const std::string& key : keys) EXPECT_EQ(Get("x/" + key), key);
  EXPECT_THAT(Keys("x/p%41+"), ::testing::ElementsAre("x/p%41+q"));
  EXPECT_THAT(Keys("x/"), ::testing::SizeIs(keys.size()));
  std::vector<std::string> all = Keys("x/");
  EXPECT_TRUE(store_->DeleteMany(all).ok());
  EXPECT_THAT(Keys(""), ::testing::IsEmpty());
}

TEST_P(ObjectStoreSuite, DeletesMany) {
  for (const char* key : {"a/1", "a/2", "b"}) Put(key, key);
  EXPECT_TRUE(store_->DeleteMany(std::vector<std::string>{"a/1", "never/was", "b"}).ok());
  EXPECT_THAT(Keys(""), ::testing::ElementsAre("a/2"));
  EXPECT_TRUE(store_->DeleteMany({}).ok());
  EXPECT_EQ(store_->DeleteMany(std::vector<std::string>{"../x"}).code(), StatusCode::kInvalidArgument);
}

TEST_P(ObjectStoreSuite, PutIfAbsentWritesOnce) {
  EXPECT_TRUE(store_->PutIfAbsent("a/manifest.json", BytesOf("first")).ok());
  EXPECT_EQ(store_->PutIfAbsent("a/manifest.json", BytesOf("second")).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Get("a/manifest.json"), "first");
  EXPECT_THAT(Keys(""), ::testing::ElementsAre("a/manifest.json"));
}

TEST_P(ObjectStoreSuite, OneOfManyPutIfAbsentSucceeds) {
  std::vector<Status> statuses(8);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < statuses.size(); ++i) {
      threads.emplace_back([&, i] { statuses[i] = store_->PutIfAbsent("winner", BytesOf(std::to_string(i))); });
    }
  }
  std::vector<std::string> winners;
  for (size_t i = 0; i < statuses.size(); ++i) {
    if (statuses[i].ok()) {
      winners.push_back(std::to_string(i));
    } else {
      EXPECT_EQ(statuses[i].code(), StatusCode::kAlreadyExists) << statuses[i].ToString();
    }
  }
  EXPECT_THAT(winners, ::testing::Contains(Get("winner")));
  if (GetParam().put_if_absent_race == PutIfAbsentRace::kOneWins) {
    EXPECT_THAT(winners, ::testing::SizeIs(1));
  }
}

TEST_P(ObjectStoreSuite, ListsByPrefixInOrderOfKeys) {
  for (const char* key : {"b/2", "a", "b/10", "b.txt", "b/1/x", "c/d/e"}) Put(key, key);

  EXPECT_THAT(Keys(""), ::testing::ElementsAre("a", "b.txt", "b/1/x", "b/10", "b/2", "c/d/e"));
  EXPECT_THAT(Keys("b"), ::testing::ElementsAre("b.txt", "b/1/x", "b/10", "b/2"));
  EXPECT_THAT(Keys("b/"), ::testing::ElementsAre("b/1/x", "b/10", "b/2"));
  EXPECT_THAT(Keys("b/1"), ::testing::ElementsAre("b/1/x", "b/10"));
  EXPECT_THAT(Keys("c/d/e"), ::testing::ElementsAre("c/d/e"));
  EXPECT_THAT(Keys("c/d/e/"), ::testing::IsEmpty());
  EXPECT_THAT(Keys("nowhere/"), ::testing::IsEmpty());
  EXPECT_EQ(store_->List("b/2").status().code(), StatusCode::kOk);
  EXPECT_EQ((*store_->List("b/2"))[0].size_bytes, 3u);
}

TEST_P(ObjectStoreSuite, DeletesExistingAndMissingKeys) {
  Put("a/b", "x");
  Put("a/c", "y");
  EXPECT_TRUE(store_->Delete("a/b").ok());
  EXPECT_TRUE(store_->Delete("a/b").ok());
  EXPECT_TRUE(store_->Delete("never/was").ok());
  EXPECT_TRUE(store_->Delete("a").ok());  // no object: only the prefix of one
  EXPECT_THAT(Keys(""), ::testing::ElementsAre("a/c"));
}

TEST_P(ObjectStoreSuite, RefusesKeysOutsideStore) {
  for (const std::string& key :
       {std::string(""), std::string("/etc/passwd"), std::string(".."), std::string("../x"), std::string("a/../b"),
        std::string("a//b"), std::string("a/"), std::string("./a"), std::string("a/."), std::string("a\0b", 3),
        std::string(".espalier-x"), std::string("a/.espalier-x/b"), std::string(1025, 'k')}) {
    EXPECT_EQ(store_->Get(key).status().code(), StatusCode::kInvalidArgument) << key;
    EXPECT_EQ(store_->Head(key).status().code(), StatusCode::kInvalidArgument) << key;
    EXPECT_EQ(store_->GetRange(key, {0, 0}).status().code(), StatusCode::kInvalidArgument) << key;
    EXPECT_EQ(store_->Put(key).status().code(), StatusCode::kInvalidArgument) << key;
    EXPECT_EQ(store_->PutIfAbsent(key, BytesOf("x")).code(), StatusCode::kInvalidArgument) << key;
    EXPECT_EQ(store_->Delete(key).code(), StatusCode::kInvalidArgument) << key;
    EXPECT_EQ(store_->LocalPath(key), std::nullopt) << key;
  }
  for (const char* prefix : {"/", "../", "a/../", "a//"}) {
    EXPECT_EQ(store_->List(prefix).status().code(), StatusCode::kInvalidArgument) << prefix;
  }
}

TEST_P(ObjectStoreSuite, PassesFailpoints) {
  Put("k", "x");
  ASSERT_TRUE(
      ArmFailpoints("store.head=error:DATA_LOSS;store.get=error:DATA_LOSS;store.commit=error:DATA_LOSS;"
                    "store.put_if_absent=error:DATA_LOSS;store.list=error:DATA_LOSS;store.delete=error:DATA_LOSS")
          .ok());
  const std::vector<StatusCode> codes = {store_->Head("k").status().code(),
                                         store_->Get("k").status().code(),
                                         store_->GetRange("k", {0, 1}).status().code(),
                                         PutText(*store_, "k", "y").code(),
                                         store_->PutIfAbsent("l", BytesOf("y")).code(),
                                         store_->List("").status().code(),
                                         store_->Delete("k").code()};
  ASSERT_TRUE(ArmFailpoints("").ok());
  EXPECT_THAT(codes, ::testing::Each(StatusCode::kDataLoss));
  EXPECT_EQ(Get("k"), "x");
  EXPECT_THAT(Keys(""), ::testing::ElementsAre("k"));
}

TEST_P(ObjectStoreSuite, ServesManyThreads) {
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) {
          const std::string key = "t" + std::to_string(t) + "/" + std::to_string(i);
          EXPECT_TRUE(PutText(*store_, key, key).ok());
          EXPECT_TRUE(PutText(*store_, "shared", key).ok());
          EXPECT_EQ(*store_->Get(key), key);
          EXPECT_TRUE(store_->Get("shared").ok());
          EXPECT_TRUE(store_->Delete(key).ok());
        }
      });
    }
  }
  EXPECT_THAT(Keys(""), ::testing::ElementsAre("shared"));
}

}  // namespace espalier::storage
