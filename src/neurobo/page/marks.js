// Marks of the charts as SVG. Names come from records: they become text nodes, never markup.
"use strict";

const FONT = "11px system-ui, sans-serif";
const DASHES = { dash: "6 4", dot: "2 3" };
const canvas = document.createElement("canvas").getContext("2d");

function element(parent, name, attributes = {}, text = undefined) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) { made.setAttribute(key, value); }
  if (text !== undefined) { made.textContent = text; }
  parent.append(made);
  return made;
}

const paint = (colour) => (colour === "ink" ? "var(--ink)" : colour);

function textWidth(text, bold = false) {
  canvas.font = (bold ? "600 " : "") + FONT;
  return canvas.measureText(text).width;
}

// A text that is too long ends with an ellipsis.
function fitted(text, width) {
  if (textWidth(text) <= width) { return text; }
  const letters = [...text];
  while (letters.length > 1 && textWidth(letters.join("") + "…") > width) { letters.pop(); }
  return letters.join("") + "…";
}

// The values that an axis must cover.
const COVERED = {
  line: (mark) => [mark.x, mark.y],
  band: (mark) => [mark.x, [...mark.low, ...mark.high]],
  dots: (mark) => [mark.x, mark.y],
  segments: (mark) => [mark.ends.flatMap((s) => [s[0], s[2]]), mark.ends.flatMap((s) => [s[1], s[3]])],
  rug: (mark) => [mark.x, []],
  bars: (mark) => [[0, ...mark.x], []],
  caption: () => [[], []],
};

function pathOf(points) {
  let path = "", joined = false;
  for (const [x, y] of points) {
    const here = Number.isFinite(x) && Number.isFinite(y);
    if (here) { path += `${joined ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`; }
    joined = here;
  }
  return path;
}

// Each draws a mark and returns the points that tooltips are about: [x, y] by index.
const DRAW = {
  line(group, mark, x, y) {
    const points = mark.x.map((value, i) => [x.at(value), y.at(mark.y[i])]);
    stroke(group, mark, pathOf(points));
    return points;
  },
  band(group, mark, x, y, area) {
    const floor = (value) => (Number.isFinite(y.at(value)) ? y.at(value) : area.bottom);
    const there = [...mark.x.keys()].filter((i) => mark.low[i] !== null && mark.high[i] !== null);
    const upper = there.map((i) => [x.at(mark.x[i]), floor(mark.high[i])]);
    const lower = there.map((i) => [x.at(mark.x[i]), floor(mark.low[i])]).reverse();
    const path = pathOf([...upper, ...lower]) + "Z";
    if (there.length) { element(group, "path", { d: path, fill: mark.colour, opacity: 0.15 }); }
    return [];
  },
  dots(group, mark, x, y) {
    const points = mark.x.map((value, i) => [x.at(value), y.at(mark.y[i])]);
    const r = mark.radius;
    const one = mark.shape === "diamond" ? `m0,${-r}l${r},${r}l${-r},${r}l${-r},${-r}z`
      : `m${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`;
    const d = points.filter(([px, py]) => Number.isFinite(px) && Number.isFinite(py))
      .map((point) => pathOf([point]) + one).join("");
    const look = mark.shape === "hollow" ? { fill: "none", stroke: mark.colour, "stroke-width": 1.3 }
      : { fill: mark.colour, "fill-opacity": mark.shape === "filled" ? 0.75 : 1 };
    element(group, "path", { d, ...look });
    return points;
  },
  segments(group, mark, x, y, area) {
    const lines = mark.ends.map(([x0, y0, x1, y1]) => pathOf([
      [x0 === null ? area.left : x.at(x0), y0 === null ? area.bottom : y.at(y0)],
      [x1 === null ? area.right : x.at(x1), y1 === null ? area.top : y.at(y1)],
    ]));
    stroke(group, mark, lines.join(""));
    return [];
  },
  rug(group, mark, x, y, area) {
    const points = mark.x.map((value) => [x.at(value), area.bottom - 5]);
    const d = points.map((point) => pathOf([point]) + "m0,-4v8").join("");
    element(group, "path", { d, stroke: mark.colour, "stroke-width": 1.5 });
    return points;
  },
  bars(group, mark, x, y) {
    const thickness = 0.62 * Math.abs(y.at(1) - y.at(0));
    return mark.x.map((value, i) => {
      const place = { x: Math.min(x.at(0), x.at(value)), width: Math.abs(x.at(value) - x.at(0)) };
      element(group, "rect", { ...place, y: y.at(i) - thickness / 2, height: thickness,
        fill: mark.colour, opacity: mark.opacity });
      return [x.at(value), y.at(i)];
    });
  },
  caption(group, mark, x, y) {
    element(group, "text", { x: x.at(mark.x), y: y.at(mark.y) }, mark.text);
    return [];
  },
};

function stroke(group, mark, d) {
  const line = element(group, "path", { d, fill: "none", "stroke-width": mark.width, "stroke-linejoin": "round" });
  line.style.stroke = paint(mark.colour);
  if (DASHES[mark.dash]) { line.setAttribute("stroke-dasharray", DASHES[mark.dash]); }
}

// The template of a mark's tooltip, or its own text for each point.
function told(mark, i, x, y) {
  if (Array.isArray(mark.tip)) { return mark.tip[i]; }
  const bar = mark.kind === "bars";
  return mark.tip.replace(/\{([xy])\}/g, (_, which) =>
    (which === "x" ? x.told(mark.x[i]) : y.told(bar ? i : mark.y[i])));
}
