#include "runtime/network/layers/container.h"

#include "runtime/network/layers/library/image.h"
#include "runtime/network/layers/undeclared.h"

namespace penstock {

Shapes Group::infer(const Shapes& inputs) const {
  Shapes shapes = inputs;
  for (const auto& layer : layers_) {
    if (!layer->stashes().empty() || !layer->pops().empty()) {
      misfit("holds '" + layer->name() +
             "', but a skip joins layers of the network itself, not those inside another");
    }
    shapes = layer->infer(shapes);
  }
  return shapes;
}

void Group::declare(ParameterSet& set) const {
  for (const auto& layer : layers_) layer->declare(set);
}

Variables Group::forward(Context& context, const Variables& inputs) const {
  Variables x = inputs;
  for (const auto& layer : layers_) {
    x = naming_layer(*layer, [&] { return layer->forward(context, x); });
  }
  return x;
}

std::vector<std::string> Group::reads() const {
  std::vector<std::string> all;
  for (const auto& layer : layers_) {
    const auto fields = layer->reads();
    all.insert(all.end(), fields.begin(), fields.end());
  }
  return all;
}

std::string Group::targets() const {
  for (const auto& layer : layers_) {
    if (!layer->targets().empty()) return layer->targets();
  }
  return {};
}

void Group::end_step(const StepEnd& end) const {
  for (const auto& layer : layers_) naming_layer(*layer, [&] { layer->end_step(end); });
}

int64_t Group::past_width() const {
  int64_t width = 0;
  for (const auto& layer : layers_) width += layer->past_width();
  return width;
}

Residual::Residual(const std::string& name, Layers branch, Layers shortcut,
                   std::optional<Activation> f)
    : Layer(name),
      branch_(name + ".branch", "branch", std::move(branch)),
      shortcut_(name + ".shortcut", "shortcut", std::move(shortcut)),
      f_(f) {}

Shapes Residual::infer(const Shapes& inputs) const {
  Shapes a = shortcut_.infer(inputs);
  const Shapes b = branch_.infer(inputs);
  if (a.size() != 1 || b.size() != 1 || !(a[0] == b[0])) {
    const auto text = [](const Shapes& shapes) {
      return shapes.empty() ? std::string("nothing") : image_text(shapes[0]);
    };
    misfit("its branch gives " + text(b) + " and its shortcut " + text(a) +
           ", which cannot be added");
  }
  return a;
}

void Residual::declare(ParameterSet& set) const {
  branch_.declare(set);
  shortcut_.declare(set);
}

Variables Residual::forward(Context& context, const Variables& inputs) const {
  // These are two statements, since a compiler can evaluate the arguments of one call in any order,
  // and the order on the tape must be fixed.
  const Variable straight = shortcut_.forward(context, inputs)[0];
  const Variable branched = branch_.forward(context, inputs)[0];
  const Variable sum = add(context.tape, straight, branched);
  return {f_ ? activation(context.tape, sum, *f_) : sum};
}

std::vector<std::string> Residual::reads() const {
  std::vector<std::string> all = branch_.reads();
  const auto more = shortcut_.reads();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

void Residual::end_step(const StepEnd& end) const {
  branch_.end_step(end);
  shortcut_.end_step(end);
}

}  // namespace penstock
