// One function for each area of the core.
#pragma once

#include <nanobind/nanobind.h>

namespace netloom::bindings {

void register_flow(nanobind::module_& m);
void register_packet(nanobind::module_& m);
void register_schemes(nanobind::module_& m);
void register_text(nanobind::module_& m);

}  // namespace netloom::bindings
