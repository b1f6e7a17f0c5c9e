// Error message for a word on the command line that is not a subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace espalier::terminal {

// Returns an error message if the command line has an unknown word where `app` or one of its subcommands requires a
// subcommand:
//   there is no command 'trian' (did you mean 'train'?): `espalier --help` lists the commands
// Otherwise returns an empty string. `program` is the program's name in the message. Call this before app.parse, which
// would only report that a subcommand is missing.
std::string UnknownCommand(const CLI::App& app, const std::string& program, int argc, const char* const* argv);

}  // namespace espalier::terminal
