// What the module registers of the packet simulator.
#pragma once

#include <nanobind/nanobind.h>

void register_packet(nanobind::module_& m);
