// Draws the charts that charts.py describes, as SVG, at the width that the page has for them.
"use strict";

const REACH = 28; // pixels between the pointer and what its tooltip is about
let clips = 0;

// Draws a picture; returns what the pointer can find, as [{ points, joined, tell, focus }].
function drawPicture(svg, picture, width, marks, whole) {
  const height = picture.height;
  const covered = marks.map((mark) => COVERED[mark.kind](mark));
  const view = (axis, values, padding) => (axis.view && !whole ? axis.view : ends(axis, values, padding));
  const dotted = marks.some((mark) => mark.kind === "dots" || mark.kind === "rug");
  const names = (axis) => axis.categories ? [-0.5, axis.categories.length - 0.5] : null;
  const xEnds = names(picture.x) ?? view(picture.x, covered.flatMap(([x]) => x), dotted ? 0.03 : 0);
  const yNames = picture.y.low === undefined ? names(picture.y) : null; // the first one on top
  const yEnds = yNames?.reverse() ?? view(picture.y, covered.flatMap(([, y]) => y), 0.05);
  const area = { left: 0, right: width - 14, top: 8, bottom: height - (picture.x.label ? 40 : 24) };

  let y = scaleOf(picture.y, yEnds, area.bottom, area.top);
  const bold = new Set(picture.y.bold);
  const most = picture.y.categories ? height / 12 : Math.max((area.bottom - area.top) / 42, 2);
  const yTicks = y.ticks(most).map((tick) => ({ ...tick, label: fitted(tick.label, 0.38 * width) }));
  const widest = Math.max(0, ...yTicks.map((tick) => textWidth(tick.label, bold.has(tick.value))));
  area.left = 10 + widest + (picture.y.label ? 20 : 0);

  const x = scaleOf(picture.x, xEnds, area.left, area.right);
  const room = picture.x.categories ? (area.right - area.left) / picture.x.categories.length : 0;
  const xTicks = x.ticks(picture.x.categories ? (area.right - area.left) / 14 : Math.max((area.right - area.left) / 68, 2))
    .map((tick) => ({ ...tick, label: room ? fitted(tick.label, 110) : tick.label }));
  const slant = room > 0 && Math.max(...xTicks.map((tick) => textWidth(tick.label))) > room - 6;
  if (slant) { area.bottom -= 0.5 * Math.max(...xTicks.map((tick) => textWidth(tick.label))); }
  y = scaleOf(picture.y, yEnds, area.bottom, area.top);

  drawAxes(svg, picture, area, x, y, xTicks, yTicks, { slant, bold });
  clips += 1;
  const clip = `clip-${clips}`;
  element(element(svg, "clipPath", { id: clip }), "rect",
    { x: area.left - 5, y: area.top - 5, width: area.right - area.left + 10, height: area.bottom - area.top + 9 });
  return marks.map((mark) => {
    const group = element(svg, "g", { class: `mark ${mark.kind}`, "clip-path": `url(#${clip})` });
    const points = DRAW[mark.kind](group, mark, x, y, area);
    return {
      points: points.map((point) => (inside(point, area) ? point : [NaN, NaN])),
      joined: mark.kind === "line",
      rows: mark.kind === "bars",
      tell: (i) => ({ title: mark.name, text: told(mark, i, x, y) }),
      focus: (i) => ({ circle: points[i] }),
    };
  });
}

const inside = ([x, y], area) =>
  x >= area.left - 5 && x <= area.right + 5 && y >= area.top - 5 && y <= area.bottom + 5;

function drawAxes(svg, picture, area, x, y, xTicks, yTicks, { slant, bold }) {
  const lines = element(svg, "g", { class: "axis" });
  for (const { value, label } of yTicks) {
    const at = y.at(value);
    if (!picture.y.categories) { element(lines, "path", { class: "rule", d: `M${area.left},${at}H${area.right}` }); }
    element(lines, "path", { d: `M${area.left - 4},${at}h4` });
    const words = element(lines, "text", { class: "tick", x: area.left - 7, y: at, dy: "0.35em", "text-anchor": "end" }, label);
    if (bold.has(value)) { words.classList.add("bold"); }
  }
  for (const { value, label } of xTicks) {
    const at = x.at(value);
    if (!picture.x.categories) { element(lines, "path", { class: "rule", d: `M${at},${area.top}V${area.bottom}` }); }
    element(lines, "path", { d: `M${at},${area.bottom}v4` });
    const below = area.bottom + 16;
    element(lines, "text", slant
      ? { class: "tick", "text-anchor": "end", transform: `translate(${at + 4},${below - 4}) rotate(-32)` }
      : { class: "tick", "text-anchor": "middle", x: at, y: below }, label);
  }
  element(lines, "path", { d: `M${area.left},${area.top}V${area.bottom}H${area.right}` });
  const middle = (area.top + area.bottom) / 2;
  if (picture.x.label) {
    element(lines, "text", { class: "label", x: (area.left + area.right) / 2, y: picture.height - 6, "text-anchor": "middle" }, picture.x.label);
  }
  if (picture.y.label) {
    element(lines, "text", { class: "label", transform: `translate(12,${middle}) rotate(-90)`, "text-anchor": "middle" }, picture.y.label);
  }
}

// Parallel coordinates: both ends of every axis have a label, and a few values between them.
function drawParallel(svg, picture, width) {
  const { axes, height } = picture;
  const top = 34, bottom = height - 12, left = 12;
  const scales = axes.map((axis) => scaleOf(axis,
    axis.categories ? [Math.max(axis.categories.length - 1, 1), 0] : ends(axis, [], 0), bottom, top));
  const ticks = axes.map((axis, i) => endTicks(axis, scales[i]));
  const right = Math.min(14 + Math.max(...ticks.at(-1).map((tick) => textWidth(tick.label))), 110);
  const gap = (width - left - right) / (axes.length - 1);
  const at = (i) => left + i * gap;
  const focusable = picture.bundles.map((bundle) => {
    const group = element(svg, "g", { class: "mark lines" });
    const rows = bundle.rows.map((row) =>
      row.map((value, i) => [at(i), value === null ? NaN : scales[i].at(value)]));
    element(group, "path", { d: rows.map(pathOf).join(""), fill: "none", stroke: bundle.colour,
      "stroke-opacity": bundle.opacity, "stroke-width": 1.5, "stroke-linejoin": "round" });
    return { bundle, rows };
  });
  axes.forEach((axis, i) => {
    const lines = element(svg, "g", { class: "axis" });
    element(lines, "path", { d: `M${at(i)},${top}V${bottom}` });
    const wide = (i + 1 < axes.length ? gap : right) - 8;
    const name = element(lines, "text", { class: "label", x: Math.max(at(i) - 6, 4), y: 16 }, fitted(axis.label, 0.9 * wide));
    element(name, "title", {}, axis.label);
    for (const { value, label } of ticks[i]) {
      element(lines, "path", { d: `M${at(i) - 3},${scales[i].at(value)}h6` });
      element(lines, "text", { class: "tick halo", x: at(i) + 6, y: scales[i].at(value), dy: "0.35em" }, fitted(label, wide));
    }
  });
  return focusable.flatMap(({ bundle, rows }) => rows.map((points, i) => ({
    points, joined: true, tell: () => ({ text: bundle.tip[i] }), focus: () => ({ path: pathOf(points) }),
  })));
}

function endTicks(axis, scale) {
  const ticks = scale.ticks(axis.categories ? 24 : 5);
  if (axis.categories) { return ticks; }
  const both = [axis.low, axis.high].map((value) => ({ value, label: scale.told(value, 0.002) }));
  const far = (tick) => both.every((end) => Math.abs(scale.at(end.value) - scale.at(tick.value)) > 16);
  return [...both, ...ticks.filter(far)];
}

// How far a place is from the line between two points, and whether the first one is nearer.
function fromSegment([px, py], [ax, ay], [bx, by]) {
  const dx = bx - ax, dy = by - ay;
  const along = Math.min(Math.max(((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return [Math.hypot(px - ax - along * dx, py - ay - along * dy), along < 0.5];
}

function nearest(targets, place) {
  let best = { distance: REACH };
  const consider = (distance, target, i) => {
    if (distance < best.distance) { best = { distance, target, i }; }
  };
  for (const target of targets) {
    target.points.forEach((point, i) => {
      const before = target.points[i - 1];
      if (target.rows) { consider(Math.abs(place[1] - point[1]), target, i); }
      else if (target.joined && i > 0) {
        const [distance, first] = fromSegment(place, before, point);
        consider(distance + 3, target, first ? i - 1 : i); // dots lie on top of lines
      } else { consider(Math.hypot(place[0] - point[0], place[1] - point[1]), target, i); }
    });
  }
  return best;
}

const tooltip = document.createElement("div");
tooltip.className = "tip";
tooltip.hidden = true;
document.body.append(tooltip);

function showTooltip({ title, text }, x, y) {
  const lines = text.split("\n").map((line) => {
    const made = document.createElement("div");
    made.textContent = line;
    return made;
  });
  const head = document.createElement("b");
  head.textContent = title ?? "";
  tooltip.replaceChildren(...(title ? [head] : []), ...lines);
  tooltip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tooltip;
  const left = x + 14 + width < innerWidth ? x + 14 : Math.max(x - 14 - width, 4);
  tooltip.style.left = `${left}px`;
  tooltip.style.top = `${Math.min(Math.max(y - height / 2, 4), Math.max(innerHeight - height - 4, 4))}px`;
}

class Chart {
  constructor(place, spec) {
    Object.assign(this, { place, spec, hidden: new Set(), whole: false, width: 0 });
    if (spec.x?.view || spec.y?.view) { this.addButton(); }
    new ResizeObserver(() => {
      if (Math.floor(place.clientWidth) !== this.width) { this.draw(); }
    }).observe(place);
    place.addEventListener("pointermove", (event) => this.point(event));
    place.addEventListener("pointerdown", (event) => this.point(event));
    for (const end of ["pointerleave", "pointercancel"]) { place.addEventListener(end, () => this.unpoint()); }
  }

  // Outside of the picture, whose parts a screen reader does not see.
  addButton() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "all";
    const name = () => { button.textContent = this.whole ? "Hide outliers" : "Show all values"; };
    button.addEventListener("click", () => { this.whole = !this.whole; name(); this.draw(); });
    name();
    this.place.before(button);
  }

  draw() {
    this.unpoint();
    this.width = Math.floor(this.place.clientWidth);
    if (!this.width) { return; } // folded away
    const { spec } = this;
    const wide = spec.kind === "parallel" ? Math.max(this.width, 84 * spec.axes.length) : this.width;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [key, value] of Object.entries({ width: wide, height: spec.height, viewBox: `0 0 ${wide} ${spec.height}` })) {
      svg.setAttribute(key, value);
    }
    if (spec.kind === "parallel") {
      this.targets = drawParallel(svg, spec, wide);
    } else {
      const marks = spec.marks.filter((mark) => !this.hidden.has(mark.method));
      this.targets = drawPicture(svg, spec, wide, marks, this.whole);
    }
    this.focus = element(svg, "g", { class: "focus" });
    this.place.replaceChildren(svg);
  }

  point(event) {
    const box = this.place.firstElementChild?.getBoundingClientRect();
    if (!box) { return; }
    const { target, i } = nearest(this.targets, [event.clientX - box.left, event.clientY - box.top]);
    this.unpoint();
    if (!target) { return; }
    const { circle, path } = target.focus(i);
    if (path) { element(this.focus, "path", { d: path }); }
    else { element(this.focus, "circle", { cx: circle[0], cy: circle[1], r: 6 }); }
    showTooltip(target.tell(i), event.clientX, event.clientY);
  }

  unpoint() {
    tooltip.hidden = true;
    this.focus?.replaceChildren();
  }
}
