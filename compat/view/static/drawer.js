// All that is known of one operator or vertex, beside the picture.
"use strict";
((view) => {
  const { el } = view;

  view.showDrawer = (section, state) => {
    const drawer = section.element.querySelector(".drawer");
    const key = state.at ? view.atText(state.at) : "";
    if (drawer.dataset.at === key) return;
    drawer.dataset.at = key;
    drawer.hidden = !state.at;
    section.element.classList.toggle("with-drawer", Boolean(state.at));
    if (!state.at) {
      drawer.replaceChildren();
      return;
    }
    drawer.replaceChildren(...(state.at.vertex ? vertex : operator)(section, state.at).flat().filter(Boolean));
    drawer.scrollTop = 0;
  };

  function head(section, side, kind, name) {
    return el("div", { class: "drawer-head" },
      el("p", { class: "dim" }, [section.kind === "check" ? side.toUpperCase() : null, kind].filter(Boolean).join(" · ")),
      el("h2", {}, name),
      el("button", { type: "button", class: "quiet close", "data-close": true, "aria-label": "Close details" }, "✕"));
  }

  function go(side, index, text) {
    return el("a", { href: "#", "data-go": `${side}:${index}` }, text);
  }

  function facts(rows) {
    return el("dl", { class: "facts" }, rows.filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  }

  function code(text) {
    return text === null ? null : el("code", {}, text);
  }

  function operator(section, { side, index }) {
    const item = section.operator(side, index);
    const home = item.vertex === null ? null : section.sides[side].vertices[item.vertex];
    return [
      head(section, side, item.kind, item.name),
      fates(section, side, index),
      partner(section, side, index),
      found(section, side, index),
      el("h3", {}, "Identity"),
      facts([
        ["uid", item.uid === null ? "none: the id follows from the graph and moves with it" : item.uid],
        ["operator id", code(item.id)],
        ["user hash", code(item.user_hash)],
        ["uids lost in merging", item.merged.join(", ")],
      ]),
      el("h3", {}, "States"),
      states(section, side, index, item),
      el("h3", {}, "Runs"),
      facts([
        ["parallelism", `${item.parallelism}${item.parallelism_configured ? " (set)" : ""}`],
        ["max parallelism", `${item.max_parallelism}${item.max_parallelism_configured ? " (set)" : " (derived)"}`],
        ["in the chain", home ? el("a", { href: "#", "data-go": `${side}:v${item.vertex}` }, home.name) : null],
        ["fed by", neighbours(section, side, index, "to", "from")],
        ["feeds", neighbours(section, side, index, "from", "to")],
      ]),
      item.source || item.code.length ? el("h3", {}, "Source") : null,
      view.source(item.source),
      facts(item.code.map(([title, text]) => [title, code(text)])),
      item.description && item.description !== item.name ? [el("h3", {}, "What it does, in Flink's words"), el("p", {}, code(item.description))] : null,
      item.detail.length ? el("h3", {}, "More") : null,
      item.detail.length ? facts(item.detail) : null,
    ];
  }

  function fates(section, side, index) {
    const rows = section.rows[side].get(index) || [];
    return rows.length ? el("div", { class: "fates" }, rows.map((row) => {
      const other = side === "old" ? "new" : "old";
      return el("p", {}, el("span", { class: `fate ${row.fate}` }, row.words),
        row[other] === null ? null : [side === "old" ? " by " : " from ", go(other, row[other], section.operator(other, row[other]).name)],
        row.by ? el("span", { class: "dim" }, ` matched by ${row.by}`) : null);
    })) : null;
  }

  function partner(section, side, index) {
    const other = section.partner[side].get(index);
    if (other === undefined) return null;
    const there = side === "old" ? "new" : "old";
    return el("p", {}, `In ${there.toUpperCase()}: `, go(there, other, section.operator(there, other).name));
  }

  function found(section, side, index) {
    const places = section.found[side].get(index) || [];
    return places.length ? el("ul", { class: "plain found" }, places.map((place) => {
      const finding = section.findings[place];
      return el("li", { class: finding.level },
        el("a", { href: "#", "data-go-finding": place }, el("span", { class: "rule" }, finding.rule), ` ${finding.title}`));
    })) : null;
  }

  function states(section, side, index, item) {
    if (item.states === null) return el("p", { class: "unknown-states" }, `Not known: ${item.states_unknown || "they could not be found out"}.`);
    if (!item.states.length) return el("p", { class: "dim" }, item.has_state ? "Only what the framework keeps." : "None.");
    return el("ul", { class: "plain states" }, item.states.map((state) => el("li", {},
      el("b", {}, state.name), el("span", { class: "dim" }, ` ${state.scope} ${state.kind}${state.built_in ? ", kept by the framework" : ""}`),
      facts([
        ["type", code(state.type)],
        ["key", code(state.key_type)],
        ["namespace", code(state.namespace_type)],
        ["time to live", state.ttl === null ? null : `${state.ttl.toLocaleString("en")} ms`],
        ["keys", state.keys === null ? null : state.keys.toLocaleString("en")],
        ["size", state.bytes === null ? null : `${state.bytes.toLocaleString("en")} bytes`],
        ["name", state.unstable ? "drawn anew at every start" : null],
      ]))));
  }

  function neighbours(section, side, index, here, there) {
    const { boxes, edges } = section.layers.stream;
    const place = section.boxOf("stream", side, index);
    const links = edges.filter((edge) => edge[here] === place && edge[side] !== null).flatMap((edge, count) => {
      const other = boxes[edge[there]][side];
      return [count ? ", " : "", go(side, other, section.operator(side, other).name), edge[side] ? ` (${edge[side]})` : ""];
    });
    return links.length ? el("span", {}, links) : null;
  }

  function vertex(section, { side, index }) {
    const item = section.sides[side].vertices[index];
    const groups = item.key_groups;
    return [
      head(section, side, "job vertex", item.name),
      facts([
        ["vertex id", code(item.id)],
        ["parallelism", String(item.parallelism)],
        ["max parallelism", String(item.max_parallelism)],
        ["slot sharing group", item.slot_sharing_group],
      ]),
      el("h3", {}, "Chain"),
      el("ol", { class: "chain" }, item.operators.map((member) => el("li", {}, go(side, member, section.operator(side, member).name)))),
      groups ? el("h3", {}, "Key groups of the subtasks") : null,
      groups ? el("ol", { class: "key-groups", start: 0 }, groups.map(([first, last]) => el("li", {}, `${first} to ${last}`))) : null,
    ];
  }
})(window.compatView);
