// SPDX-License-Identifier: Apache-2.0
//
// What server.cpp asks of one of libmicrohttpd's connections and does to it. HTTP thread only.
#pragma once

#include <microhttpd.h>

#include <string>

#include "exporters/http/pages.h"

namespace collwatch::exporters {

int socket_of(MHD_Connection* connection);
/// The client's, numeric.
std::string address_of(MHD_Connection* connection);
bool is_loopback(const std::string& address);
/// "" where there is none.
std::string header_of(MHD_Connection* connection, const char* name);
/// What the head of the request says of its body's size; 0 where it does not.
unsigned long long announced_bytes(MHD_Connection* connection);

MHD_Result send(MHD_Connection* connection, const Reply& reply);
/// Past the library, which answers only before a body or after it: a reply to a client that is not
/// done sending, and the end of its connection.
void send_and_end(MHD_Connection* connection, const std::string& status, const Reply& reply);

}  // namespace collwatch::exporters
