// The graph: boxes placed once for both sides, OLD and NEW of each beside each other, and state drawn between them.
"use strict";
((view) => {
  const { el, svg, BOX } = view;
  const READABLE = 1;
  let turn = 0;

  view.showPicture = async (section, state) => {
    const mine = ++turn;
    const picture = section.element.querySelector(".picture");
    const canvas = picture.querySelector(".canvas");
    const chosen = view.choose(section, state);
    say(picture, chosen.reason);
    const drawing = JSON.stringify([chosen.layer, chosen.boxes, [...chosen.open]]);
    if (canvas.dataset.drawing !== drawing) {
      const places = new Map(chosen.boxes.map((place, index) => [place, index]));
      const sizes = chosen.boxes.map((place) => framed(section, view.size(section, chosen, place)));
      const labels = wording(section, chosen);
      busy(picture, `Laying out ${view.plural(chosen.boxes.length, "box", "boxes")}…`);
      await painted();
      if (mine !== turn) return;
      const layout = view.place(sizes, chosen.edges.map((edge, index) => ({
        from: places.get(edge.from), to: places.get(edge.to), label: labels[index].text.length * 6.2,
      })));
      draw(section, canvas, chosen, { sizes, places, labels, layout }, state);
      busy(picture, "");
      canvas.dataset.drawing = drawing;
    }
    select(section, canvas, state);
  };

  // A promise of the moment when what was said is on the screen.
  function painted() {
    return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  }

  // Says that the picture is being laid out, or no longer.
  function busy(picture, text) {
    const note = picture.querySelector(".laying");
    note.querySelector("span").textContent = text;
    note.hidden = !text;
    picture.querySelector(".canvas").toggleAttribute("aria-busy", Boolean(text));
  }

  function say(picture, text) {
    const reason = picture.querySelector(".reason");
    reason.textContent = text;
    reason.hidden = !text;
  }

  const two = (section) => section.kind === "check";

  // The size of a box with both sides: side by side, with the gap in which state is drawn, in one frame.
  function framed(section, { width, height }) {
    return two(section) ? { width: 2 * (width + BOX.PAD) + BOX.GAP, height: height + 2 * BOX.PAD } : { width, height };
  }

  // What is written on each arrow, and which kind of arrow it is: of both sides, or of one where the other has arrows, but not this.
  function wording(section, { layer, edges }) {
    const drawn = view.SIDES.filter((side) => section.layers[layer].edges.some((edge) => edge[side] !== null));
    return edges.map((edge) => {
      const { old, new: now } = edge;
      const kind = edge.bridge ? "bridge" : drawn.length < 2 ? "" : now === null ? "gone" : old === null ? "come" : "";
      if (drawn.length < 2 || old === now) return { kind, text: clip(old ?? now) };
      if (now === null || old === null) return { kind, text: clip(`${now === null ? "OLD" : "NEW"}: ${old ?? now}`) };
      return { kind, text: clip(`${old || "–"} → ${now || "–"}`) };
    });
  }

  function clip(text) {
    return text.length > 32 ? `${text.slice(0, 31)}…` : text;
  }

  function draw(section, canvas, chosen, { sizes, places, labels, layout }, state) {
    const { width, height } = layout;
    const sheet = el("div", { class: "sheet" });
    const ground = svg("svg", { width, height, "aria-hidden": "true", class: "ground" }, arrowHeads());
    const frames = sizes.map(({ width: w, height: h }, index) => ({ x: layout.boxes[index].x - w / 2, y: layout.boxes[index].y - h / 2, w, h }));
    const ways = view.ways(frames, layout.down);
    const anchors = { old: new Map(), new: new Map() };
    sheet.append(ground);
    chosen.edges.forEach((edge, index) => {
      drawEdge(ground, labels[index], ways.arrow(places.get(edge.from), places.get(edge.to), layout.edges[index].points), layout.edges[index].label);
    });
    chosen.boxes.forEach((place, index) => {
      const { x, y, w, h } = frames[index];
      const box = section.layers[chosen.layer].boxes[place];
      if (!two(section)) {
        sheet.append(at(view.box(section, chosen, place, "new"), x, y, w, h));
        return;
      }
      const inner = { top: y + BOX.PAD, height: h - 2 * BOX.PAD };
      const gap = { left: x + BOX.PAD + BOX.WIDTH, right: x + w - BOX.PAD - BOX.WIDTH, top: y, bottom: y + h };
      sheet.insertBefore(at(el("div", { class: "pair", "data-place": place }), x, y, w, h), ground);
      for (const side of view.SIDES) {
        const left = side === "old" ? x + BOX.PAD : gap.right;
        sheet.append(at(box[side] === null ? el("div", { class: "absent" }) : view.box(section, chosen, place, side), left, inner.top, BOX.WIDTH, inner.height));
        if (box[side] !== null) anchor(section, chosen, place, side, { place: index, gap, top: inner.top, h: inner.height }, anchors[side]);
      }
    });
    if (two(section)) view.drawLinks(ground, section, anchors, ways);
    canvas.replaceChildren(el("div", { class: "room" }, sheet));
    section.layout = { width, height, scale: section.layout.scale };
    view.zoom(section, section.layout.scale);
    view.drawMap(section, frames, chosen);
    const first = canvas.querySelector(".node");
    if (first) first.tabIndex = 0;
    const start = starting(section, canvas, state) || first;
    if (start) reveal(canvas, start);
  }

  // The box that a reader begins at: that of the finding that was chosen, or else of the first, which has one in sight.
  function starting(section, canvas, state) {
    const first = state.finding === null ? [] : [section.findings[state.finding]];
    for (const finding of [...first, ...section.findings]) {
      for (const side of ["new", "old"]) {
        for (const index of finding.concerned[side]) {
          const { vertex } = section.operator(side, index);
          const node = canvas.querySelector(`[data-at="${side}:${index}"]`) || canvas.querySelector(`[data-at="${side}:v${vertex}"]`);
          if (node) return node;
        }
      }
    }
    return null;
  }

  function at(element, x, y, width, height) {
    Object.assign(element.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
    return element;
  }

  function arrowHeads() {
    return svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z", class: "arrow" })));
  }

  function drawEdge(ground, { kind, text }, path, label) {
    ground.append(svg("path", { d: path, class: `edge ${kind}`.trim(), "marker-end": "url(#arrow)" }));
    if (!text || !label) return;
    ground.append(svg("rect", { x: label.x - text.length * 3.1, y: label.y - 7, width: text.length * 6.2, height: 14, class: "edge-ground" }),
      svg("text", { x: label.x, y: label.y + 4, class: `edge-label ${kind}`.trim() }, text));
  }

  // Where links of an operator start: its row, or its share of the closed box.
  function anchor(section, chosen, place, side, { top, h, ...box }, anchors) {
    const { [side]: own, slots } = section.layers[chosen.layer].boxes[place];
    if (chosen.layer === "stream") {
      anchors.set(own, { ...box, y: top + h / 2 });
      return;
    }
    const members = section.sides[side].vertices[own].operators;
    if (chosen.open.has(place)) {
      slots.forEach((slot, index) => {
        const member = slot[side === "old" ? 0 : 1];
        if (member !== null) anchors.set(member, { ...box, y: top + BOX.HEAD + (index + 0.5) * BOX.ROW });
      });
      return;
    }
    const stateful = members.filter((member) => section.rows[side].has(member));
    stateful.forEach((member, index) => {
      anchors.set(member, { ...box, y: top + (h * (index + 1)) / (stateful.length + 1) });
    });
  }

  // Shows what is selected: its box, its partner, its links.
  function select(section, canvas, state) {
    const chosen = state.at ? view.atText(state.at) : null;
    const partner = state.at && !state.at.vertex ? section.partner[state.at.side].get(state.at.index) : undefined;
    const across = state.at && partner !== undefined ? `${state.at.side === "old" ? "new" : "old"}:${partner}` : null;
    let current = null;
    for (const node of canvas.querySelectorAll(".node")) {
      const is = node.dataset.at === chosen;
      node.classList.toggle("selected", is);
      node.classList.toggle("partner", node.dataset.at === across);
      if (is) {
        node.setAttribute("aria-current", "true");
        current = node;
      } else node.removeAttribute("aria-current");
    }
    if (state.at && !state.at.vertex && !current) current = holder(section, canvas, state.at);
    for (const link of canvas.querySelectorAll("[data-link]")) {
      const row = section.mapping[Number(link.dataset.link)];
      const mine = state.at && !state.at.vertex && row[state.at.side] === state.at.index;
      link.classList.toggle("strong", Boolean(mine));
      link.classList.toggle("faint", Boolean(state.at && !state.at.vertex && section.rows[state.at.side].has(state.at.index) && !mine));
    }
    if (current) {
      for (const node of canvas.querySelectorAll('.node[tabindex="0"]')) node.tabIndex = -1;
      current.tabIndex = 0;
      if (canvas.dataset.shown !== chosen) {
        reveal(canvas, current);
        current.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    }
    canvas.dataset.shown = chosen || "";
  }

  // The closed box that an operator is in.
  function holder(section, canvas, place) {
    const vertex = section.sides[place.side].operators[place.index].vertex;
    const node = vertex === null ? null : canvas.querySelector(`[data-at="${place.side}:v${vertex}"]`);
    if (node) node.classList.add("selected");
    return node;
  }

  // Brings a box into sight, with its other side where there is room for both.
  function reveal(canvas, node) {
    const frame = canvas.getBoundingClientRect();
    const own = node.getBoundingClientRect();
    const pair = canvas.querySelector(`.pair[data-place="${node.closest(".box").dataset.place}"]`);
    const both = pair && pair.getBoundingClientRect();
    const box = both && both.width <= frame.width ? { left: both.left, right: both.right, top: own.top, bottom: own.bottom } : own;
    const inside = box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
    if (!inside) canvas.scrollBy((box.left + box.right - frame.left - frame.right) / 2, (box.top + box.bottom - frame.top - frame.bottom) / 2);
  }

  // Draws the sheet at a scale. "fit" is the one at which all columns are seen, "start" the one at which everybody can read.
  view.zoom = (section, scale) => {
    const canvas = section.element.querySelector(".canvas");
    const sheet = canvas.querySelector(".sheet");
    section.layout.scale = scale; // what is not drawn yet is drawn so
    if (!sheet) return;
    const { width, height, used: before } = section.layout;
    const fitting = Math.min(1, (canvas.clientWidth - 34) / width);
    const used = { fit: fitting, start: READABLE }[scale] ?? Math.max(0.05, Math.min(2.5, scale));
    const middle = [canvas.scrollLeft + canvas.clientWidth / 2, canvas.scrollTop + canvas.clientHeight / 2];
    section.layout.used = used;
    Object.assign(sheet.style, { width: `${width}px`, height: `${height}px`, transform: `scale(${used})` });
    Object.assign(sheet.parentElement.style, { width: `${width * used}px`, height: `${height * used}px` });
    // What was in the middle stays there.
    if (before) canvas.scrollTo(middle[0] * (used / before) - canvas.clientWidth / 2, middle[1] * (used / before) - canvas.clientHeight / 2);
    view.showSeen(section);
  };
})(window.compatView);
