#include "services/terminal/unknown_command.h"

#include <gtest/gtest.h>

#include <vector>

namespace espalier::terminal {
namespace {

// Commands: run; checkpoint ls|inspect; host, which is hidden.
std::string Said(std::vector<const char*> words) {
  CLI::App app{"", "espalier"};
  app.require_subcommand(1);
  app.add_subcommand("run", "");
  app.add_subcommand("host", "")->group("");
  CLI::App* checkpoint = app.add_subcommand("checkpoint", "");
  checkpoint->require_subcommand(1);
  checkpoint->add_subcommand("ls", "");
  checkpoint->add_subcommand("inspect", "");
  words.insert(words.begin(), "espalier");
  return UnknownCommand(app, "espalier", static_cast<int>(words.size()), words.data());
}

TEST(UnknownCommandTest, NamesArgumentAndNearestCommand) {
  EXPECT_EQ(Said({"rnu"}), "there is no command 'rnu' (did you mean 'run'?): `espalier --help` lists the commands");
  EXPECT_EQ(Said({"frobnicate", "--help"}), "there is no command 'frobnicate': `espalier --help` lists the commands");
  EXPECT_EQ(Said({"hots"}), "there is no command 'hots': `espalier --help` lists the commands");
  EXPECT_EQ(Said({"checkpoint", "inspekt", "out"}),
            "there is no command 'inspekt' (did you mean 'inspect'?): `espalier checkpoint --help` lists the commands");
}

TEST(UnknownCommandTest, OtherErrorsComeFromParser) {
  EXPECT_EQ(Said({}), "");
  EXPECT_EQ(Said({"run", "frobnicate"}), "");
  EXPECT_EQ(Said({"host"}), "");
  EXPECT_EQ(Said({"--version"}), "");
  EXPECT_EQ(Said({"checkpoint"}), "");
  EXPECT_EQ(Said({"checkpoint", "--help"}), "");
  EXPECT_EQ(Said({"checkpoint", "ls", "out"}), "");
}

}  // namespace
}  // namespace espalier::terminal
