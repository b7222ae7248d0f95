// Filters of what has items.
#include <algorithm>
#include <functional>

#include "runtime/data/templates/functions/filters.h"
#include "runtime/data/templates/functions/methods.h"
#include "runtime/data/templates/functions/operators.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

class ListFilter {
 public:
  ListFilter(Budget& budget, const std::string& name, const Value& of, const Arguments& with)
      : budget_(budget), name_(name), of_(of), with_(with) {}

  std::optional<Value> call() {
    if (name_ == "first" || name_ == "last") return end(name_ == "last");
    if (name_ == "list") return only(Row::Type::List);
    if (name_ == "join") return joined();
    if (name_ == "map") return mapped();
    if (name_ == "select" || name_ == "reject") return selected(false, name_ == "select");
    if (name_ == "selectattr" || name_ == "rejectattr")
      return selected(true, name_ == "selectattr");
    if (name_ == "items") return pairs();
    if (name_ == "dictsort") return sorted_pairs();
    if (name_ == "sort") return sorted_items();
    if (name_ == "unique") return unique();
    if (name_ == "reverse") return reversed();
    if (name_ == "min" || name_ == "max") return extreme(name_ == "max");
    if (name_ == "sum") return sum();
    if (name_ == "batch") return batches();
    if (name_ == "groupby") return groups();
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string called() const { return "the filter " + penstock::quoted(name_); }
  [[nodiscard]] std::vector<const Value*> arguments(
      std::initializer_list<const char*> parameters) const {
    return bound(with_, parameters, called());
  }
  // Returns the items of the value as a row, and counts the work of a filter that goes through all
  // items.
  [[nodiscard]] Value items() const {
    Value held = items_of(budget_, of_);
    budget_.work(2 * Budget::kStep * held.row()->items.size());
    return held;
  }
  [[nodiscard]] Value only(Row::Type type) const {
    (void)arguments({});
    const Value held = items();
    return list_value(budget_, held.row()->items, type);
  }

  [[nodiscard]] Value end(bool last) const {
    (void)arguments({});
    const bool once = of_.row() != nullptr && of_.row()->type == Row::Type::Once;
    if (last && once) fail_template("asks for the last of what is gone through once");
    const Value held = items();
    const Values& all = held.row()->items;
    if (all.empty()) return {};
    return last ? all.back() : all.front();
  }

  [[nodiscard]] Value joined() const {
    const auto given = arguments({"d", "attribute"});
    const Value between = given[0] == nullptr ? Value() : *given[0];
    const Value held = items();
    Writer all(budget_);
    bool first = true;
    for (const Value& item : held.row()->items) {
      if (!std::exchange(first, false)) write_shown(all, between);
      write_shown(all, given[1] == nullptr ? item : attribute_of(budget_, item, *given[1]));
    }
    return all.value();
  }

  // Returns the arguments from place `first` on. They are passed on to the filter or test that an
  // earlier argument names.
  [[nodiscard]] Arguments rest_from(size_t first) const {
    Arguments rest;
    for (size_t i = first; i < with_.values.size(); ++i) rest.values.push_back(with_.values[i]);
    rest.named = with_.named;
    return rest;
  }

  // Applies the filter map. If the value is empty, wrong arguments are not noticed, as in Jinja.
  [[nodiscard]] Value mapped() const {
    Lister all(budget_);
    if (!of_.truth()) return all.value(Row::Type::Once);
    if (with_.values.empty()) {
      const auto given = arguments({"attribute", "default"});
      if (given[0] == nullptr) fail_template("gives " + called() + " nothing to do");
      const Value held = items();
      for (const Value& item : held.row()->items) {
        const Value found = attribute_of(budget_, item, *given[0]);
        const bool replaces = found.undefined() && given[1] != nullptr && !given[1]->none();
        all.add(replaces ? *given[1] : found);
      }
      return all.value(Row::Type::Once);
    }
    const std::string& filter = text_of(with_.values.data(), called());
    const Arguments rest = rest_from(1);
    const Value held = items();
    for (const Value& item : held.row()->items) all.add(apply_filter(budget_, filter, item, rest));
    return all.value(Row::Type::Once);
  }

  [[nodiscard]] Value selected(bool by_attribute, bool wanted) const {
    if (!of_.truth()) return list_value(budget_, {}, Row::Type::Once);
    const size_t at = by_attribute ? 1 : 0;  // the place of the test among the arguments
    if (with_.values.size() < at) fail_template("gives " + called() + " no attribute");
    const std::string* const test =
        with_.values.size() > at ? &text_of(&with_.values[at], called()) : nullptr;
    const Arguments rest = rest_from(at + 1);
    const Value held = items();
    Lister kept(budget_);
    for (const Value& item : held.row()->items) {
      budget_.work(Budget::kStep);
      const Value looked = by_attribute ? attribute_of(budget_, item, with_.values[0]) : item;
      const bool passes =
          test == nullptr ? looked.truth() : passes_test(budget_, *test, looked, rest);
      if (passes == wanted) kept.add(item);
    }
    return kept.value(Row::Type::Once);
  }

  [[nodiscard]] const Table& table() const {
    if (of_.table() == nullptr) fail_template("gives " + called() + " " + kind_of(of_));
    return *of_.table();
  }

  [[nodiscard]] Value pairs() const {
    (void)arguments({});
    Lister all(budget_);
    if (!of_.undefined()) {
      for (const auto& [key, value] : table().pairs) {
        all.add(list_value(budget_, {key, value}, Row::Type::Tuple));
      }
    }
    return all.value(Row::Type::Once);
  }

  // Returns the key by which a value is compared. The key of a text is the text in lower case,
  // unless `with_case`; any other value is its own key.
  [[nodiscard]] Value key_of(const Value& value, bool with_case) const {
    if (with_case || value.text() == nullptr) return value;
    return call_method(budget_, value, "lower", {});
  }
  [[nodiscard]] Value key_of(const Value& item, const Value* attribute, bool with_case) const {
    const bool of_item = attribute == nullptr || attribute->none();
    return key_of(of_item ? item : attribute_of(budget_, item, *attribute), with_case);
  }

  struct Keyed {
    Value key, item;
  };
  // Charges the memory that sorting `items` items takes: the items, and as much again for the
  // sort's own copy.
  [[nodiscard]] Charge room_for(size_t items) const { return {budget_, 2 * items * sizeof(Keyed)}; }
  // Returns the items in ascending order of keys, or in descending order if `turned`. Items with
  // equal keys keep their order.
  [[nodiscard]] Value in_order(std::vector<Keyed> all, bool turned) const {
    std::ranges::stable_sort(all, [&](const Keyed& a, const Keyed& b) {
      return turned ? less(budget_, b.key, a.key) : less(budget_, a.key, b.key);
    });
    Lister sorted(budget_);
    for (Keyed& one : all) sorted.add(std::move(one.item));
    return sorted.value();
  }
  static bool truth_of(const Value* value) { return value != nullptr && value->truth(); }

  [[nodiscard]] Value sorted_pairs() const {
    const auto given = arguments({"case_sensitive", "by", "reverse"});
    const std::string by = given[1] == nullptr ? "key" : text_of(given[1], called());
    if (by != "key" && by != "value") fail_template("sorts a mapping by " + penstock::quoted(by));
    const Charge room = room_for(table().pairs.size());
    std::vector<Keyed> all;
    all.reserve(table().pairs.size());
    for (const auto& [key, value] : table().pairs) {
      all.push_back({key_of(by == "key" ? key : value, truth_of(given[0])),
                     list_value(budget_, {key, value}, Row::Type::Tuple)});
    }
    return in_order(std::move(all), truth_of(given[2]));
  }

  [[nodiscard]] Value sorted_items() const {
    const auto given = arguments({"reverse", "case_sensitive", "attribute"});
    const bool several = given[2] != nullptr && given[2]->text() != nullptr &&
                         given[2]->text()->find(',') != std::string::npos;
    if (several) fail_template("sorts by several attributes, which is not supported");
    const Value held = items();
    const Charge room = room_for(held.row()->items.size());
    std::vector<Keyed> all;
    all.reserve(held.row()->items.size());
    for (const Value& item : held.row()->items) {
      all.push_back({key_of(item, given[2], truth_of(given[1])), item});
    }
    return in_order(std::move(all), truth_of(given[0]));
  }

  [[nodiscard]] Value unique() const {
    const auto given = arguments({"case_sensitive", "attribute"});
    const Value held = items();
    Lister seen(budget_);
    Lister kept(budget_);
    for (const Value& item : held.row()->items) {
      const Value key = key_of(item, given[1], truth_of(given[0]));
      if (std::ranges::any_of(seen.items(),
                              [&](const Value& one) { return equal(budget_, one, key); })) {
        continue;
      }
      seen.add(key);
      kept.add(item);
    }
    return kept.value(Row::Type::Once);
  }

  [[nodiscard]] Value reversed() const {
    (void)arguments({});
    const Cut backwards{std::nullopt, std::nullopt, -1};
    if (of_.text() != nullptr) return cut_of(budget_, of_, backwards);
    const Value list = only(Row::Type::List);
    const Value turned = cut_of(budget_, list, backwards);
    return list_value(budget_, turned.row()->items, Row::Type::Once);
  }

  [[nodiscard]] Value extreme(bool largest) const {
    const auto given = arguments({"case_sensitive", "attribute"});
    const Value held = items();
    Value best;
    Value best_key;
    bool first = true;
    for (const Value& item : held.row()->items) {
      const Value key = key_of(item, given[1], truth_of(given[0]));
      const bool better = std::exchange(first, false) ||
                          (largest ? less(budget_, best_key, key) : less(budget_, key, best_key));
      if (!better) continue;
      best = item;
      best_key = key;
    }
    return best;
  }

  [[nodiscard]] Value sum() const {
    const auto given = arguments({"attribute", "start"});
    const Value held = items();
    Value total = given[1] == nullptr ? Value(int64_t{0}) : *given[1];
    for (const Value& item : held.row()->items) {
      const bool of_item = given[0] == nullptr || given[0]->none();
      total =
          combined(budget_, "+", total, of_item ? item : attribute_of(budget_, item, *given[0]));
    }
    return total;
  }

  [[nodiscard]] Value batches() const {
    const auto given = arguments({"linecount", "fill_with"});
    const int64_t size = given[0] == nullptr ? 0 : whole_number(*given[0]);
    if (size < 1) fail_template("makes batches of such a size");
    const Value held = items();
    Lister all(budget_);
    Lister part(budget_);
    for (const Value& item : held.row()->items) {
      if (std::ssize(part.items()) == size) all.add(part.value());
      part.add(item);
    }
    const bool fills = given[1] != nullptr && !given[1]->none();
    if (part.items().empty()) return all.value(Row::Type::Once);
    while (fills && std::ssize(part.items()) < size) part.add(*given[1]);
    all.add(part.value());
    return all.value(Row::Type::Once);
  }

  // Applies the filter groupby. Returns pairs (grouper, list), in the order of the groupers.
  [[nodiscard]] Value groups() const {
    const auto given = arguments({"attribute", "default", "case_sensitive"});
    if (given[0] == nullptr || truth_of(given[1]))
      fail_template("calls " + called() + " in such a way");
    const Value held = items();
    const Charge room = room_for(held.row()->items.size());
    std::vector<Keyed> all;
    all.reserve(held.row()->items.size());
    for (const Value& item : held.row()->items) {
      all.push_back({key_of(item, given[0], truth_of(given[2])), item});
    }
    const Value sorted = in_order(std::move(all), false);
    Lister made(budget_);
    Lister group(budget_);
    Value key;
    const auto end_group = [&] {
      if (group.items().empty()) return;
      const Value grouper = attribute_of(budget_, group.items().front(), *given[0]);
      made.add(list_value(budget_, {grouper, group.value()}, Row::Type::Group));
    };
    for (const Value& item : sorted.row()->items) {
      const Value own = key_of(item, given[0], truth_of(given[2]));
      if (!group.items().empty() && !equal(budget_, own, key)) end_group();
      key = own;
      group.add(item);
    }
    end_group();
    return made.value();
  }

  Budget& budget_;
  const std::string& name_;
  const Value& of_;
  const Arguments& with_;
};

}  // namespace

std::optional<Value> apply_list_filter(Budget& budget, const std::string& name, const Value& of,
                                       const Arguments& with) {
  return ListFilter(budget, name, of, with).call();
}

}  // namespace penstock::jinja
