// What stands behind one entry: its collections, graphs, ranks, search view and card.

const DATA = JSON.parse(document.getElementById("data").textContent);

function percent(value) {
  return `${(100 * value).toFixed(value < 0.1 ? 2 : 1)} %`;
}

function hours(seconds) {
  const value = seconds / 3600;
  return `${value.toLocaleString("en", { maximumSignificantDigits: 3 })} h`;
}

function choice(text, options, changed) {
  const select = el("select", {}, ...options.map((name, i) => el("option", { value: i }, name)));
  select.addEventListener("change", changed);
  return { select, node: el("div", {}, el("label", {}, text, el("br"), select)) };
}

function groupsPart(entry) {
  const rows = Object.entries(entry.groups).map(([name, group]) => ({ ...group, name: `${name} (${group.graphs})` }));
  if (!rows.length) return null;
  return el("figure", {}, el("figcaption", {}, "Mean score of each group (graphs), with its 95 % interval"),
    intervalPlot("Scores of the groups", rows, []));
}

function graphsPart(board, entry) {
  const rows = board.ids.map((id, i) => [id, entry.scores[i]]).sort((a, b) => a[1] - b[1]);
  const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "graph, worst first"),
    el("th", { scope: "col" }, "score"))), el("tbody", {}, ...rows.map(([id, score]) =>
    el("tr", {}, el("th", { scope: "row" }, id), el("td", {}, score.toFixed(4))))));
  const plot = scatterPlot("Scores of the graphs", rows.map((row, i) => [i + 1, row[1]]),
    { below: "graphs of the public half, worst first" });
  return el("figure", {}, el("figcaption", {}, "Score of each graph"), plot,
    el("details", {}, el("summary", {}, `All ${rows.length} graphs`), el("div", { class: "scroll" }, table)));
}

function ranksPart(entry) {
  const ids = Object.keys(entry.details.ranks || {});
  if (!ids.length) return null;
  const holder = el("div", {});
  const show = () => holder.replaceChildren(scatterPlot("Submitted against true rank",
    entry.details.ranks[ids[picker.select.value]],
    { below: "true rank; upwards: submitted rank" }));
  const picker = choice("Graph", ids, show);
  show();
  return el("figure", {}, el("figcaption", {}, "Submitted against true rank, a sample of the largest graphs; a perfect ranking is the diagonal"),
    picker.node, holder);
}

function searchText(search, at, evaluate, predict) {
  const total = search.tried[search.tried.length - 1], tried = search.tried[at];
  const rank = predict * total, cost = tried * evaluate;
  return `Compiling and running the first ${search.k[at].toLocaleString("en")} of each ranking ` +
    `(${tried.toLocaleString("en")} of ${total.toLocaleString("en")} configurations) ends ` +
    `${percent(search.excess[at])} above the fastest on average. It takes ${hours(cost)}, ranking first ` +
    `${hours(rank)}; trying everything takes ${hours(total * evaluate)}. ` +
    (total * evaluate - cost - rank >= 0 ? `Saved: ${hours(total * evaluate - cost - rank)}.` : "Nothing is saved.");
}

function searchPart(entry) {
  const names = Object.keys(entry.details.search || {});
  if (!names.length) return null;
  const text = el("p", { class: "search-text" }), holder = el("div", {});
  const slider = el("input", { type: "range", min: 0, "aria-label": "K, how many of each ranking to try" });
  const seconds = el("input", { type: "number", min: 0, step: "any", "aria-label": "seconds to compile and run one" });
  const show = () => {
    const search = entry.details.search[names[group.select.value]], at = Number(slider.value);
    text.textContent = searchText(search, at, Number(seconds.value), DATA.times[program.select.value].predict);
    holder.replaceChildren(scatterPlot("Excess over the fastest by K", search.k.map((k, i) => [k, 100 * search.excess[i]]),
      { logarithmic: true, curve: true, unit: " %", marked: [[search.k[at], 100 * search.excess[at]]],
        below: "K, how many are compiled and run" }));
  };
  const regroup = () => {
    slider.max = entry.details.search[names[group.select.value]].k.length - 1;
    slider.value = Math.min(8, slider.max);
    show();
  };
  const preset = () => { seconds.value = DATA.times[program.select.value].evaluate.toFixed(1); show(); };
  const group = choice("Collection", names, regroup);
  const program = choice("Times of", DATA.times.map((time) => time.program), preset);
  slider.addEventListener("input", show);
  seconds.addEventListener("input", show);
  seconds.value = DATA.times[0].evaluate.toFixed(1);
  regroup();
  return el("figure", { class: "search" }, el("figcaption", {}, "Search view: what the ranking saves"),
    el("div", { class: "controls" }, group.node, program.node,
      el("div", {}, el("label", {}, "Seconds for one", el("br"), seconds))), slider, text, holder,
    el("p", {}, el("small", {}, `Presets: ${DATA.times[0].source}; compile and execute on a TPU, prediction on a CPU. ` +
      "They are times of whole programs; a tile kernel takes less. Configurations that a row does not list are tried " +
      "last, by index.")));
}

function cardPart(entry) {
  const fields = Object.entries(entry.card).flatMap(([name, value]) => [el("dt", {}, name),
    el("dd", {}, typeof value === "string" ? value : JSON.stringify(value, null, 1))]);
  return el("div", {}, el("h4", {}, "Command"), el("pre", {}, el("code", {}, String(entry.card.command))),
    el("h4", {}, "Card"), el("dl", {}, ...fields, el("dt", {}, "scored"),
      el("dd", {}, `${entry.scored}, line ${entry.line} of results.jsonl`)));
}

function openPanel(board, entry, panel) {
  const remarks = entry.remarks.length ? el("ul", {}, ...entry.remarks.map((text) => el("li", {}, text))) : null;
  panel.replaceChildren(el("h3", { tabindex: -1 }, entry.entry), el("p", {}, `Place ${entry.place}, score ` +
    `${entry.score.toFixed(4)}, 95 % interval ${entry.low.toFixed(4)} to ${entry.high.toFixed(4)}`));
  panel.append(...[remarks, groupsPart(entry), graphsPart(board, entry), ranksPart(entry), searchPart(entry),
    cardPart(entry)].filter(Boolean));
  panel.querySelector("h3").focus();
}

document.querySelectorAll("section.board").forEach((section) => {
  const board = DATA.boards[Number(section.dataset.board)];
  const rows = board.standings.map((entry) => ({ ...entry, name: entry.entry }));
  section.querySelector(".intervals").append(el("figcaption", {}, "Score with its 95 % interval"),
    intervalPlot("Scores of the entries", rows, board.landmarks));
  makeSortable(section.querySelector("table"));
  section.querySelectorAll("button.open").forEach((button) => button.addEventListener("click", () =>
    openPanel(board, board.standings[Number(button.dataset.entry)], section.querySelector(".panel"))));
});
