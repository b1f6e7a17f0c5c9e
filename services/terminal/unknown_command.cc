#include "services/terminal/unknown_command.h"

#include <algorithm>
#include <vector>

#include "services/job/text/suggestion.h"

namespace espalier::terminal {
namespace {

// Returns the names of the commands that users may call. Commands with an empty group are internal and hidden from
// help.
std::vector<std::string> ListPublicNames(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

}  // namespace

std::string UnknownCommand(const CLI::App& app, const std::string& program, int argc, const char* const* argv) {
  const CLI::App* at = &app;
  std::string command = program;
  for (int i = 1; i < argc && at->get_require_subcommand_min() > 0; ++i) {
    const std::string word = argv[i];
    if (word.empty() || word[0] == '-') return "";  // the parser handles flags
    const std::vector<const CLI::App*> below = at->get_subcommands([](const CLI::App*) { return true; });
    const auto found = std::find_if(below.begin(), below.end(), [&](auto* one) { return one->get_name() == word; });
    if (found == below.end()) {
      return "there is no command '" + word + "'" + job::DidYouMean(word, ListPublicNames(below)) + ": `" + command +
             " --help` lists the commands";
    }
    at = *found;
    command += " " + word;
  }
  return "";
}

}  // namespace espalier::terminal
