// What a command line says to a word that is none of its commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace espalier::terminal {

// Where a subcommand of `app` (and of its subcommands, and so on) has to stand and another word does:
//   there is no command 'trian' (did you mean 'train'?): `espalier --help` lists them
// Empty for every other command line. `program` is the command's name for people. To be asked before app.parse, which
// would only say that a subcommand is missing.
std::string UnknownCommand(const CLI::App& app, const std::string& program, int argc, const char* const* argv);

}  // namespace espalier::terminal
