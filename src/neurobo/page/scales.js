// Numbers, ticks and scales of the charts.
"use strict";

const power = (exponent) =>
  "10" + String(exponent).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

function formatted(value, digits) {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-4 && size < 1e6)) {
    return String(Number(value.toPrecision(digits))).replace("-", "−");
  }
  const [factor, exponent] = value.toExponential(digits - 1).split("e");
  const short = String(Number(factor)).replace("-", "−");
  return (/^−?1$/.test(short) ? short.slice(0, -1) : short + "·") + power(Number(exponent));
}

// Significant digits that tell numbers of this size apart if they differ by `step`.
function digitsFor(size, step) {
  const digits = 1 + Math.ceil(Math.log10(size / step) - 1e-9);
  return Math.min(Math.max(Number.isFinite(digits) ? digits : 1, 1), 15);
}

function linearTicks(low, high, count, whole) {
  const rough = high / count - low / count;
  const base = 10 ** Math.floor(Math.log10(rough));
  let step = base * [1, 2, 5, 10].find((factor) => factor * base >= 0.999 * rough);
  if (whole) { step = Math.max(Math.round(step), 1); }
  const first = Math.ceil(low / step - 1e-9);
  const ticks = [];
  for (let i = 0; i <= 2 * count && (first + i) * step <= high + 1e-9 * step; i += 1) {
    ticks.push((first + i) * step);
  }
  const digits = digitsFor(Math.max(Math.abs(low), Math.abs(high)), step);
  return ticks.map((value) => ({ value, label: formatted(value, digits) }));
}

// Powers of ten; where there is room, also numbers between them.
function logTicks(low, high, count) {
  const decades = Math.log10(high) - Math.log10(low);
  if (decades < 0.8) { return linearTicks(low, high, count, false); }
  const factors = 3 * decades <= count ? [1, 2, 5] : 2 * decades <= count ? [1, 3] : [1];
  const every = Math.max(Math.ceil(decades / count), 1);
  const ticks = [];
  for (let e = Math.floor(Math.log10(low) / every) * every; e <= Math.log10(high) + 1e-9; e += every) {
    for (const factor of factors) {
      const value = Number(`${factor}e${e}`);
      const inside = value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
      if (inside) { ticks.push({ value, label: formatted(value, 1) }); }
    }
  }
  return ticks;
}

// Scales: from values to pixels

const usable = (axis, value) => Number.isFinite(value) && (!axis.log || value > 0);

// Where an axis begins and ends; `padding` is a share of its length.
function ends(axis, values, padding) {
  const bend = axis.log ? Math.log10 : (value) => value;
  const back = axis.log ? (value) => 10 ** value : (value) => value;
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (usable(axis, value)) { low = Math.min(low, bend(value)); high = Math.max(high, bend(value)); }
  }
  if (axis.zero) { low = Math.min(low, 0); high = Math.max(high, 0); }
  if (low > high) { [low, high] = [0, 1]; }
  if (low === high) { // one value only
    const room = Math.abs(low) * 0.1 || 0.5;
    [low, high] = [low - room, high + room];
  }
  const room = padding * (high - low);
  const first = axis.zero && low === 0 ? low : low - room;
  return [axis.low ?? back(first), axis.high ?? back(high + room)];
}

// `from` and `to` are the pixels of both ends.
function scaleOf(axis, [low, high], from, to) {
  const bend = axis.log ? Math.log10 : (value) => value;
  const a = bend(low), b = bend(high);
  const at = (value) => (usable(axis, value)
    ? from + ((bend(value) / 2 - a / 2) / (b / 2 - a / 2)) * (to - from) : NaN);
  const least = Math.min(low, high), most = Math.max(low, high);
  const half = most / 2 - least / 2;
  return {
    at,
    // A value in words, within a share of the axis; by default as a tooltip says it.
    told(value, share = 1e-4) {
      if (axis.categories) { return axis.categories[value]; }
      const digits = axis.log ? 4 : digitsFor(Math.abs(value), 2 * share * half);
      return formatted(value, axis.whole ? 15 : digits);
    },
    ticks(count) {
      if (axis.categories) {
        const every = Math.max(Math.ceil(axis.categories.length / count), 1);
        return axis.categories.map((label, value) => ({ value, label }))
          .filter((tick) => tick.value % every === 0);
      }
      return axis.log ? logTicks(least, most, count) : linearTicks(least, most, count, axis.whole);
    },
  };
}
