#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <string_view>
#include <utility>

#include "arrays.hpp"
#include "netloom/text_scan.hpp"
#include "register.hpp"

namespace netloom::bindings {

namespace {

using Found = nb::typed<nb::dict, nb::str, nb::object>;

void add_unread(Found& found, UnreadLines unread) {
  found["unread_line"] = give(std::move(unread.line));
  found["unread_begin"] = give(std::move(unread.begin));
  found["unread_end"] = give(std::move(unread.end));
  found["unread_position"] = give(std::move(unread.position));
}

Found connections(std::string_view text) {
  ScannedConnections scanned = scan_connections(text);
  Found found;
  found["is_plain"] = scanned.is_plain;
  found["line"] = give(std::move(scanned.line));
  found["source"] = give(std::move(scanned.source));
  found["target"] = give(std::move(scanned.target));
  found["size_bytes"] = give(std::move(scanned.size_bytes));
  found["start_ps"] = give(std::move(scanned.start_ps));
  found["num_prio"] = scanned.num_prio;
  found["tied"] = give(std::move(scanned.tied));
  found["trigger"] = give(std::move(scanned.trigger));
  found["send_done"] = give(std::move(scanned.send_done));
  found["recv_done"] = give(std::move(scanned.recv_done));
  add_unread(found, std::move(scanned.unread));
  return found;
}

Found rows(std::string_view text,
           std::string_view kinds,
           std::string_view separator,
           std::uint32_t first_line) {
  ScannedRows scanned =
      scan_rows(text, kinds, separator.empty() ? ' ' : separator.front(), first_line);
  Found found;
  found["is_plain"] = scanned.is_plain;
  found["line"] = give(std::move(scanned.line));
  nb::list columns;
  for (auto& column : scanned.columns) {
    columns.append(give(std::move(column)));
  }
  found["columns"] = columns;
  add_unread(found, std::move(scanned.unread));
  return found;
}

}  // namespace

void register_text(nb::module_& m) {
  m.def("scan_connections",
        &connections,
        nb::arg("text"),
        "Flows of a connection matrix, and the lines that are not plain flows.");
  m.def("scan_rows",
        &rows,
        nb::arg("text"),
        nb::arg("kinds"),
        nb::arg("separator"),
        nb::arg("first_line"),
        "Rows of numbers in columns, and the lines that are none.");
}

}  // namespace netloom::bindings
