// The Python module of one instruction-set level; `adtc._core` chooses among them.
#include <nanobind/stl/string_view.h>

#include "../isa.h"
#include "types.h"

namespace adtc {
void bind_adjoint(nb::module_& module);
void bind_bayes(nb::module_& module);
void bind_costs(nb::module_& module);
void bind_inside(nb::module_& module);
void bind_forecast(nb::module_& module);
void bind_pairs(nb::module_& module);
void bind_partial(nb::module_& module);
void bind_paths(nb::module_& module);
void bind_semiring(nb::module_& module);
void bind_tensors(nb::module_& module);
void bind_ranks(nb::module_& module);
void bind_reliance(nb::module_& module);
void bind_routing(nb::module_& module);
void bind_variables(nb::module_& module);
}  // namespace adtc

NB_MODULE(ADTC_MODULE, module) {
    // a program that ends while a thread is still at work leaves what that holds, on purpose
    nanobind::set_leak_warnings(false);
    module.attr("LEVEL") = adtc::kLevel;
    module.def("supports", &adtc::supports, nanobind::arg("level"),
               "Tell whether this machine has the instructions of a level.");
    adtc::bind_types(module);
    adtc::bind_bayes(module);
    adtc::bind_costs(module);
    adtc::bind_inside(module);
    adtc::bind_forecast(module);
    adtc::bind_pairs(module);
    adtc::bind_paths(module);
    adtc::bind_semiring(module);
    adtc::bind_tensors(module);
    adtc::bind_ranks(module);
    adtc::bind_routing(module);
    adtc::bind_variables(module);
    adtc::bind_reliance(module);
    adtc::bind_partial(module);
    adtc::bind_adjoint(module);
}
