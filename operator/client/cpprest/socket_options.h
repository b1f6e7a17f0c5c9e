// What the kernel shall do with a connection to the API server.
#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace espalier::ctl::client {

// Finds out within half a minute that the other side is gone (keep-alive probes for an idle connection,
// TCP_USER_TIMEOUT for one that sends), and keeps the descriptor from programs that are run. The socket is not open
// yet when the library shows it: it is opened here, for which `address_family` must be known; AF_UNSPEC leaves a closed
// one alone. Failures are left to connecting, which finds them again.
void SetSocketOptions(boost::asio::ip::tcp::socket& socket, int address_family);

}  // namespace espalier::ctl::client
