#include "runtime/network/layers/library/embedding.h"

#include <cmath>
#include <vector>

#include "runtime/network/layers/places.h"

namespace penstock {
namespace {

// Returns a table [time, width]. The first half of a row has sines of ever slower waves, the second
// half has the cosines of the same waves.
std::vector<float> sinusoids(int64_t time, int64_t width) {
  std::vector<float> waves(static_cast<size_t>(time * width));
  const int64_t half = (width + 1) / 2;
  for (int64_t t = 0; t < time; ++t) {
    for (int64_t i = 0; i < width; ++i) {
      const double exponent = static_cast<double>(i % half) / static_cast<double>(half);
      const double angle = static_cast<double>(t) * std::pow(10000.0, -exponent);
      waves[static_cast<size_t>(t * width + i)] =
          static_cast<float>(i < half ? std::sin(angle) : std::cos(angle));
    }
  }
  return waves;
}

}  // namespace

Embedding::Embedding(std::string name, const Options& options)
    : UnaryLayer(std::move(name)), options_(options) {
  if (options_.vocabulary < 1 || options_.width < 1 || options_.context < 1) {
    misfit("vocabulary, width and context must be at least 1");
  }
}

Initializer Embedding::table_initializer(const Options& options) {
  const bool scaled = options.positions == Positions::Sinusoidal;
  const double deviation = scaled ? 1.0 / std::sqrt(static_cast<double>(options.width)) : 0.02;
  return {Initializer::Kind::Normal, static_cast<float>(deviation)};
}

void Embedding::declare(ParameterSet& set) const {
  const Initializer init = table_initializer(options_);
  const Shape table = {options_.vocabulary, options_.width};
  Parameter& tokens = options_.shared.empty()
                          ? set.add(token_, name() + ".token.weight", table, init)
                          : set.share(token_, options_.shared, table, init);
  tokens.only_rounded = true;
  if (options_.positions == Positions::Learned) {
    set.add(position_, name() + ".position.weight", {options_.context, options_.width}, init);
  } else if (options_.positions == Positions::Sinusoidal) {
    set.add_constant(waves_);
  }
}

Shape Embedding::shape_of(const Shape& input) const {
  if (input.rank() != 2 || input[1] > options_.context) {
    misfit("expects token ids [batch, time <= " + std::to_string(options_.context) +
           "] but is given " + input.text());
  }
  return {input[0], input[1], options_.width};
}

Variable Embedding::run(Context& context, const Variable& x) const {
  Tape& tape = context.tape;
  Variable rows = embedding(tape, x.value, context.parameter(token_), context.dtype);
  float factor = options_.scale;
  if (options_.positions == Positions::Sinusoidal) {
    factor *= std::sqrt(static_cast<float>(options_.width));
  }
  if (factor != 1.0F) rows = scale(tape, rows, factor);
  if (context.one_position()) return add_position(context, rows);
  if (!options_.starts.empty() && options_.positions != Positions::None) {
    return add_places(context, rows);
  }
  const int64_t time = x.shape()[1];
  switch (options_.positions) {
    case Positions::Learned:
      return add_table(tape, rows, context.parameter(position_), time);
    case Positions::Sinusoidal:
      return add_constant(tape, rows, waves(context).view(0, {time, options_.width}));
    case Positions::None:
      break;
  }
  return rows;
}

// Adds positions to rows [b, 1, width]. Each row is at a position of its own; the field kPositions
// has these positions.
Variable Embedding::add_position(Context& context, const Variable& rows) const {
  if (options_.positions == Positions::None) return rows;
  Device& device = context.device();
  const Tensor& table = options_.positions == Positions::Learned
                            ? context.parameter(position_).weight.value()
                            : waves(context);
  Tensor positions = device.empty(rows.shape(), context.dtype, Purpose::Activations);
  device.token().embedding_forward(positions, context.field(kPositions), table);
  return add(context.tape, rows, {positions, -1});
}

// Adds positions to rows that pack several samples. Each sample counts its positions from 0.
Variable Embedding::add_places(Context& context, const Variable& rows) const {
  Tape& tape = context.tape;
  const Tensor places = packed_places(context, options_.starts);
  if (options_.positions == Positions::Learned) {
    return add(tape, rows, embedding(tape, places, context.parameter(position_), context.dtype));
  }
  Tensor positions = context.device().empty(rows.shape(), context.dtype, Purpose::Activations);
  context.device().token().embedding_forward(positions, places, waves(context));
  return add(tape, rows, {positions, -1});
}

std::vector<std::string> Embedding::reads() const {
  if (options_.starts.empty() || options_.positions == Positions::None) return {};
  return {options_.starts};
}

// Returns the waves of all positions of the context, even if the rows of this pass have fewer. So
// the table is made only once.
const Tensor& Embedding::waves(Context& context) const {
  Device& device = context.device();
  Tensor& waves = context.owned.constant(waves_);
  if (waves) return waves;
  waves = device.empty({options_.context, options_.width}, DType::F32, Purpose::Parameters);
  if (device.holds_values()) {
    const std::vector<float> host = sinusoids(options_.context, options_.width);
    device.copy_from_host(waves, host.data(), waves.size_bytes());
  }
  return waves;
}

}  // namespace penstock
