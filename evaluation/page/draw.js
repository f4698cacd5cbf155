"use strict";
// Small helpers to build elements and plots. Text is only ever set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
// Plots are drawn as wide as there is room, so that their text stays readable on a phone.
const WIDTH = Math.max(300, Math.min(640, document.documentElement.clientWidth - 56));

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function label(text, x, y, anchor, cls) {
  return svg("text", { x, y, "text-anchor": anchor || "start", "dominant-baseline": "middle", class: cls || "" }, text);
}

function picture(width, height, title, ...children) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title }, ...children);
}

function shorten(text, longest) {
  return text.length > longest ? text.slice(0, longest - 1) + "…" : text;
}

function linear(from, to, low, high) {
  const span = to - from || 1;
  return (value) => low + ((value - from) / span) * (high - low);
}

// About `count` round numbers between two ends.
function ticks(from, to, count) {
  const rough = (to - from || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((s) => s * power).find((s) => s >= rough);
  const found = [];
  for (let value = Math.ceil(from / step) * step; value <= to + step * 1e-9; value += step) {
    found.push(Number(value.toPrecision(6)));
  }
  return found;
}

function axisBelow(scale, marks, left, right, y, text) {
  const parts = [svg("line", { x1: left, x2: right, y1: y, y2: y, class: "axis" })];
  for (const mark of marks) {
    parts.push(svg("line", { x1: scale(mark), x2: scale(mark), y1: y, y2: y + 4, class: "axis" }));
    parts.push(label(text(mark), scale(mark), y + 14, "middle", "soft"));
  }
  return parts;
}

// Rows of a dot with its interval, as for entries of a board and for groups of an entry.
function intervalPlot(title, rows, verticals) {
  const width = WIDTH, left = Math.min(190, 0.52 * WIDTH), right = WIDTH - 24, step = 24, top = 8 + (verticals.length ? 14 : 0);
  const bottom = top + rows.length * step;
  const ends = rows.flatMap((row) => [row.low, row.high, row.score]).concat(verticals.map((v) => v.score));
  const low = Math.min(...ends), high = Math.max(...ends), room = (high - low) * 0.05 || 0.01;
  const x = linear(low - room, high + room, left, right);
  const parts = axisBelow(x, ticks(low, high, Math.round(WIDTH / 110)), left, right, bottom, String);
  for (const mark of verticals) {
    parts.push(svg("line", { x1: x(mark.score), x2: x(mark.score), y1: top - 6, y2: bottom, class: "landmark" },
      svg("title", {}, `${mark.entry}: ${mark.score}`)));
  }
  rows.forEach((row, i) => {
    const y = top + (i + 0.5) * step;
    parts.push(label(shorten(row.name, Math.floor(left / 6.6)), left - 10, y, "end"));
    parts.push(svg("line", { x1: x(row.low), x2: x(row.high), y1: y, y2: y, class: "range" },
      svg("title", {}, `${row.name}: ${row.score.toFixed(4)}, 95 % ${row.low.toFixed(4)} to ${row.high.toFixed(4)}`)));
    parts.push(svg("circle", { cx: x(row.score), cy: y, r: 5, class: "dot" }));
  });
  return picture(width, bottom + 28, title, ...parts);
}

// Points or a curve over two axes; `logarithmic` says whether the horizontal one is.
function scatterPlot(title, points, options) {
  const width = WIDTH, height = 300, left = 64, right = WIDTH - 20, top = 12, bottom = 250;
  const place = options.logarithmic ? (value) => Math.log10(value) : (value) => value;
  const xs = points.map((p) => place(p[0])), ys = points.map((p) => p[1]);
  const x = linear(Math.min(...xs), Math.max(...xs), left, right);
  const y = linear(Math.min(0, ...ys), Math.max(...ys) || 1, bottom, top);
  const marks = options.logarithmic
    ? [1, 10, 100, 1000, 10000, 100000].filter((k) => place(k) >= Math.min(...xs) && place(k) <= Math.max(...xs))
    : ticks(Math.min(...xs), Math.max(...xs), Math.round(WIDTH / 110));
  const parts = axisBelow((v) => x(place(v)), marks, left, right, bottom, String);
  for (const mark of ticks(Math.min(0, ...ys), Math.max(...ys) || 1, 5)) {
    parts.push(svg("line", { x1: left, x2: right, y1: y(mark), y2: y(mark), class: "axis" }));
    parts.push(label(mark + (options.unit || ""), left - 6, y(mark), "end", "soft"));
  }
  if (options.curve) {
    parts.push(svg("polyline", { class: "curve", points: points.map((p) => `${x(place(p[0]))},${y(p[1])}`).join(" ") }));
  }
  for (const p of options.curve ? options.marked || [] : points) {
    parts.push(svg("circle", { cx: x(place(p[0])), cy: y(p[1]), r: options.curve ? 6 : 3, class: "dot" }));
  }
  parts.push(label(options.below, (left + right) / 2, height - 12, "middle", "soft"));
  return picture(width, height, title, ...parts);
}
