// Tests what users see: standard output is a pseudo-terminal, and its output is interpreted by a simulated screen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/testing/plugin_world.h"
#include "operator/kubectl/text/printable.h"

namespace espalier::ctl::kubectl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::PluginWorld;
using ::testing::StartsWith;

constexpr std::string_view kEndOfShow = "<end>";

// Replaces this process's standard output until Taken() or destruction. Nothing reads in the meantime; the kernel
// buffers a few kilobytes.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) {
    winsize size{};
    size.ws_row = 50;
    size.ws_col = columns;
    if (openpty(&reader_, &writer_, nullptr, nullptr, &size) != 0) return;
    std::fflush(stdout);
    before_ = dup(STDOUT_FILENO);
    dup2(writer_, STDOUT_FILENO);
  }
  ~Terminal() {
    GiveBack();
    for (const int file : {reader_, writer_}) {
      if (file >= 0) close(file);
    }
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool works() const { return reader_ >= 0; }

  // Restores standard output and returns everything that was written.
  std::string Taken() {
    GiveBack();
    EXPECT_EQ(write(writer_, kEndOfShow.data(), kEndOfShow.size()), static_cast<ssize_t>(kEndOfShow.size()));
    std::string taken;
    std::array<char, 4096> buffer{};
    while (!taken.ends_with(kEndOfShow)) {
      const ssize_t num_read = read(reader_, buffer.data(), buffer.size());
      if (num_read <= 0) break;
      taken.append(buffer.data(), static_cast<size_t>(num_read));
    }
    EXPECT_THAT(taken, EndsWith(std::string(kEndOfShow)));
    return taken.substr(0, taken.rfind(kEndOfShow));
  }

 private:
  void GiveBack() {
    if (before_ < 0) return;
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
    before_ = -1;
  }

  int reader_ = -1, writer_ = -1;  // the terminal's two ends
  int before_ = -1;                // the original standard output; -1: it is restored
};

// Interprets output as a terminal does: characters, \r, \n, and the escape sequences for up (A), clear to the end of
// the row (K) and of the screen (J).
class Screen {
 public:
  Screen(const std::string& output, size_t columns) : columns_(columns) {
    for (std::string_view rest = output; !rest.empty();) {
      rest.remove_prefix(rest.starts_with("\033[") ? Obey(rest) : Show(text::FirstCharacters(rest, 1)));
    }
  }

  bool has_wrapped() const { return has_wrapped_; }
  // Returns the rows except the one with the cursor.
  std::vector<std::string> rows() const {
    std::vector<std::string> texts;
    for (size_t i = 0; i + 1 < rows_.size(); ++i) {
      texts.emplace_back();
      for (const std::string& cell : rows_[i]) texts.back() += cell;
    }
    return texts;
  }

 private:
  // Carries out an escape sequence and returns its length in bytes.
  size_t Obey(std::string_view text) {
    const size_t end = text.find_first_of("AJK", 2);
    if (end == std::string_view::npos) {
      ADD_FAILURE() << "unknown terminal command: " << text::Printable(text);
      return text.size();
    }
    const auto number = static_cast<size_t>(std::atoi(std::string(text.substr(2, end - 2)).c_str()));
    if (text[end] == 'A') {
      row_ -= std::min(row_, number);
    } else {
      rows_[row_].resize(std::min(rows_[row_].size(), column_));
      if (text[end] == 'J') rows_.resize(row_ + 1);
    }
    return end + 1;
  }

  size_t Show(std::string_view character) {
    if (character == "\r") {
      column_ = 0;
    } else if (character == "\n") {
      GoDown();
    } else {
      if (column_ == columns_) {
        has_wrapped_ = true;
        column_ = 0;
        GoDown();
      }
      rows_[row_].resize(std::max(rows_[row_].size(), column_ + 1), " ");
      rows_[row_][column_++] = character;
    }
    return character.size();
  }

  void GoDown() {
    if (++row_ == rows_.size()) rows_.emplace_back();
  }

  const size_t columns_;
  std::vector<std::vector<std::string>> rows_{1};  // of characters
  size_t row_ = 0, column_ = 0;                    // the cursor
  bool has_wrapped_ = false;
};

TEST(TerminalTest, WatchRedrawsInPlace) {
  Terminal terminal(40);
  ASSERT_TRUE(terminal.works()) << "no pseudo terminal: is devpts mounted?";
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.on_pause = [&world] {
    world.Put(kube::kDistTrainings, view::testing::SucceededJobJson());
    return true;
  };
  CommandContext context = world.Context();
  context.out = text::StandardOutput("xterm");
  const Result<int> watched = WatchStatus("cora", context);
  const std::string output = terminal.Taken();
  ASSERT_TRUE(watched.ok()) << watched.status().ToString();
  EXPECT_EQ(*watched, 0);
  EXPECT_THAT(output, HasSubstr("ml/cora  Training"));
  const Screen screen(output, 40);
  EXPECT_FALSE(screen.has_wrapped()) << output;
  EXPECT_THAT(screen.rows(), ElementsAre("ml/cora  Succeeded", AllOf(HasSubstr("] 100.0 %"), EndsWith("…")),
                                         "loss 0.5213  validationAccuracy 0.79", "server 2/2  trainer 2/2",
                                         AllOf(StartsWith("Completed: all trainers have ended"), EndsWith("…"))));
}

TEST(TerminalTest, DumbTerminalGetsLinePerChange) {
  Terminal terminal(40);
  ASSERT_TRUE(terminal.works()) << "no pseudo terminal: is devpts mounted?";
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::SucceededJobJson());
  CommandContext context = world.Context();
  context.out = text::StandardOutput("dumb");
  const Result<int> watched = WatchStatus("cora", context);
  const std::string output = terminal.Taken();
  ASSERT_TRUE(watched.ok()) << watched.status().ToString();
  EXPECT_TRUE(context.out.is_terminal);
  EXPECT_THAT(output, AllOf(StartsWith("2026-01-02T03:10:00Z  Succeeded"), ::testing::Not(HasSubstr("\033"))));
}

TEST(TerminalTest, DescribeFitsScreen) {
  Terminal terminal(80);
  ASSERT_TRUE(terminal.works()) << "no pseudo terminal: is devpts mounted?";
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::FailedJobJson());
  world.Put(kube::kPods, view::testing::OomKilledPodJson());
  for (int i = 1; i <= 20; ++i) {
    world.transport.Write("cora-trainer-4-1-x7k2p", i, "line " + std::to_string(i) + " " + std::string(500, 'x'));
  }
  CommandContext context = world.Context();
  context.out = text::StandardOutput("xterm");
  const Result<int> described = Describe("cora", context);
  const std::string output = terminal.Taken();
  ASSERT_TRUE(described.ok()) << described.status().ToString();
  const Screen screen(output, 80);
  EXPECT_FALSE(screen.has_wrapped()) << output;
  EXPECT_LE(screen.rows().size(), 50u);
  EXPECT_THAT(screen.rows(), Contains(StartsWith("  | line 20 xxx")));
  EXPECT_THAT(output, ::testing::Not(HasSubstr("line 6 ")));

  // A file gets all fifteen lines that were read, in full.
  EXPECT_EQ(*Describe("cora", world.Context()), 0);
  EXPECT_THAT(world.output, HasSubstr("  | line 6 " + std::string(500, 'x') + "\n"));
}

}  // namespace
}  // namespace espalier::ctl::kubectl
