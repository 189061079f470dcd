#include "../routing.h"

#include <limits>
#include <map>

#include "types.h"

namespace adtc {
namespace {

/// Count rows by tree, label given to them, and group.
NumpyArray<Index> route(const BoundTable& table, Array<const Index, 1> starts, Array<const Index, 1> codes,
                        Index labels, const Control& control) {
    const ForestView forest{span_of(starts), span_of(codes)};
    const Index trees = static_cast<Index>(forest.starts.size()) - 1, groups = table.groups();
    std::vector<Index> counts;
    {
        nb::gil_scoped_release release;
        if (!is_forest(forest, table.features(), labels)) throw nb::value_error("the codes do not make up trees");
        counts.assign(static_cast<std::size_t>(trees * labels * groups), 0);
        route_rows(table, forest, {counts.data(), trees, labels, groups}, control);
    }
    return to_numpy(std::move(counts), {static_cast<std::size_t>(trees), static_cast<std::size_t>(labels),
                                        static_cast<std::size_t>(groups)});
}

/// Makes splits of Python's type. Frozen dataclasses take most of their time to set their own fields:
/// here these are set as `object.__setattr__` would.
class SplitMaker {
public:
    explicit SplitMaker(nb::handle type) : type_(reinterpret_cast<PyTypeObject*>(type.ptr())) {}

    nb::object make(Index feature, nb::handle t1, nb::handle t0) const {
        nb::object made = nb::steal(PyType_GenericAlloc(type_, 0));
        if (!made.is_valid()) nb::raise_python_error();
        set(made, feature_, nb::int_(feature));
        set(made, t1_, t1);
        set(made, t0_, t0);
        return made;
    }

private:
    static void set(nb::handle object, nb::handle name, nb::handle value) {
        if (PyObject_GenericSetAttr(object.ptr(), name.ptr(), value.ptr()) != 0) nb::raise_python_error();
    }
    static nb::object interned(const char* name) { return nb::steal(PyUnicode_InternFromString(name)); }

    PyTypeObject* type_;
    nb::object feature_ = interned("feature"), t1_ = interned("t1"), t0_ = interned("t0");
};

/// Make trees of Python's types; they share leaves, which are given by label, and stumps.
nb::typed<nb::list, nb::object> build(Array<const Index, 1> starts, Array<const Index, 1> codes,
                                      nb::typed<nb::list, nb::object> leaves, nb::handle split) {
    const ForestView forest{span_of(starts), span_of(codes)};
    if (!is_forest(forest, std::numeric_limits<Index>::max(), static_cast<Index>(leaves.size())))
        throw nb::value_error("the codes do not make up trees");
    const SplitMaker maker(split);
    std::map<std::tuple<Index, Index, Index>, nb::object> stumps;
    std::vector<nb::object> stack;
    nb::typed<nb::list, nb::object> found;
    for (std::size_t t = 0; t + 1 < forest.starts.size(); ++t) {
        // from behind: both children of a split come before it, child 1 last
        for (Index at = forest.starts[t + 1] - 1; at >= forest.starts[t]; --at) {
            const Index code = forest.codes[at];
            if (code < 0) {
                stack.emplace_back(nb::borrow(leaves[static_cast<std::size_t>(-1 - code)]));
                continue;
            }
            const nb::object t1 = std::move(stack.back()), t0 = std::move(*(stack.end() - 2));
            stack.resize(stack.size() - 2);
            const Index one = forest.codes[at + 1], zero = forest.codes[at + 2];
            if (one >= 0 || zero >= 0) {
                stack.push_back(maker.make(code, t1, t0));
                continue;
            }
            nb::object& stump = stumps[{code, one, zero}];
            if (!stump.is_valid()) stump = maker.make(code, t1, t0);
            stack.push_back(stump);
        }
        found.append(stack.back());
        stack.clear();
    }
    return found;
}

}  // namespace

void bind_routing(nb::module_& module) {
    module.def("route_rows", &route, nb::arg("table"), nb::arg("starts"), nb::arg("codes"), nb::arg("labels"),
               nb::arg("control"));
    module.def("build_trees", &build, nb::arg("starts"), nb::arg("codes"), nb::arg("leaves"), nb::arg("split"));
}

}  // namespace adtc
