// The graphs: boxes placed once for both sides, so that what belongs together is on one line, and state drawn across.
"use strict";
((view) => {
  const { el, svg, BOX, GUTTER } = view;
  const TITLE = 34;
  const NARROW = 600;
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
      const sizes = chosen.boxes.map((place) => view.size(section, chosen, place));
      canvas.setAttribute("aria-busy", "true");
      let layout;
      try {
        layout = await view.place(sizes, chosen.edges.map((edge) => ({
          from: places.get(edge.from), to: places.get(edge.to), label: label(edge).length * 6.2,
        })));
      } catch (error) {
        say(picture, `The picture cannot be drawn here (${error.message}); the table tells the same.`);
        canvas.removeAttribute("aria-busy");
        return;
      }
      if (mine !== turn) return;
      draw(section, canvas, chosen, sizes, layout);
      canvas.removeAttribute("aria-busy");
      canvas.dataset.drawing = drawing;
    }
    select(section, canvas, state);
  };

  function say(picture, text) {
    const reason = picture.querySelector(".reason");
    reason.textContent = text;
    reason.hidden = !text;
  }

  function label(edge) {
    const longest = [edge.old || "", edge.new || ""].sort((one, other) => other.length - one.length)[0];
    return clip(longest);
  }

  function clip(text) {
    return text.length > 32 ? `${text.slice(0, 31)}…` : text;
  }

  function draw(section, canvas, chosen, sizes, layout) {
    const sides = view.SIDES.filter((side) => section.sides[side]);
    const panel = Math.max(layout.width, BOX.WIDTH + 36);
    const shift = (panel - layout.width) / 2;
    const left = { old: 0, new: sides.length > 1 ? panel + GUTTER : 0 };
    const width = left.new + panel;
    const height = layout.height + TITLE;
    const sheet = el("div", { class: "sheet" });
    const ground = svg("svg", { width, height, "aria-hidden": "true", class: "ground" }, arrowHeads());
    const anchors = { old: new Map(), new: new Map() };
    const boxes = { old: [], new: [] };
    sheet.append(ground);
    for (const side of sides) {
      ground.append(svg("rect", { x: left[side] + 0.5, y: 0.5, width: panel - 1, height: height - 1, rx: 10, class: "panel" }));
      sheet.append(at(el("div", { class: "panel-title" },
        sides.length > 1 ? el("b", {}, side.toUpperCase()) : null,
        el("span", { title: section.sides[side].name }, el("bdi", { dir: "ltr" }, section.sides[side].name))), left[side], 0, panel, TITLE));
      if (!section.sides[side].operators.length) {
        sheet.append(at(el("div", { class: "panel-empty" }, "No graph: the program was refused."), left[side], TITLE, panel, 60));
      }
    }
    chosen.edges.forEach((edge, index) => {
      for (const side of sides) {
        if (edge[side] !== null) drawEdge(ground, layout.edges[index], left[side] + shift, edge[side], edge.bridge);
      }
    });
    chosen.boxes.forEach((place, index) => {
      for (const side of sides) {
        const box = section.layers[chosen.layer].boxes[place];
        if (box[side] === null) continue;
        const { width: w, height: h } = sizes[index];
        const x = left[side] + shift + layout.boxes[index].x - w / 2;
        const y = TITLE + layout.boxes[index].y - h / 2;
        sheet.append(at(view.box(section, chosen, place, side), x, y, w, h));
        boxes[side].push({ x, y, w, h });
        anchor(section, chosen, place, side, { x, y, w, h, top: y }, anchors[side]);
      }
    });
    if (sides.length > 1) view.drawLinks(ground, section, anchors, boxes, { left: panel, right: left.new, top: 0, bottom: height });
    canvas.replaceChildren(el("div", { class: "room" }, sheet));
    section.layout = { width, height, scale: section.layout.scale };
    view.zoom(section, section.layout.scale);
    const first = canvas.querySelector(".node");
    if (first) first.tabIndex = 0;
    const start = starting(section, canvas) || first;
    if (start) reveal(canvas, start);
  }

  // The box that a reader begins at: that of the first finding which has one in sight.
  function starting(section, canvas) {
    for (const finding of section.findings) {
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
    return svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z", class: "arrow" })));
  }

  function drawEdge(ground, points, shift, text, bridge) {
    const moved = points.map(({ x, y }) => [x + shift, y + TITLE]);
    const [first, ...rest] = moved;
    let path = `M${first}`;
    rest.forEach((point, index) => {
      const next = rest[index + 1];
      path += next ? `Q${point} ${[(point[0] + next[0]) / 2, (point[1] + next[1]) / 2]}` : `L${point}`;
    });
    ground.append(svg("path", { d: path, class: bridge ? "edge bridge" : "edge", "marker-end": "url(#arrow)" }));
    const middle = moved[Math.floor(moved.length / 2)];
    if (text) ground.append(svg("text", { x: middle[0], y: middle[1] + 3, class: "edge-label" }, clip(text)));
  }

  // Where links of an operator start: its row, or its share of the closed box.
  function anchor(section, chosen, place, side, box, anchors) {
    const { [side]: own, slots } = section.layers[chosen.layer].boxes[place];
    if (chosen.layer === "stream") {
      anchors.set(own, { ...box, y: box.y + box.h / 2 });
      return;
    }
    const members = section.sides[side].vertices[own].operators;
    if (chosen.open.has(place)) {
      slots.forEach((slot, index) => {
        const member = slot[side === "old" ? 0 : 1];
        if (member !== null) anchors.set(member, { ...box, y: box.y + BOX.HEAD + (index + 0.5) * BOX.ROW });
      });
      return;
    }
    const stateful = members.filter((member) => section.rows[side].has(member));
    stateful.forEach((member, index) => {
      anchors.set(member, { ...box, y: box.y + (box.h * (index + 1)) / (stateful.length + 1) });
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

  function reveal(canvas, node) {
    const [frame, box] = [canvas.getBoundingClientRect(), node.getBoundingClientRect()];
    const inside = box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
    if (!inside) {
      canvas.scrollBy(box.left + box.width / 2 - frame.left - frame.width / 2, box.top + box.height / 2 - frame.top - frame.height / 2);
    }
  }

  // Draws the sheet at a scale. "fit" is the one at which both sides are seen, "start" that one unless nobody could read it.
  view.zoom = (section, scale) => {
    const canvas = section.element.querySelector(".canvas");
    const sheet = canvas.querySelector(".sheet");
    section.layout.scale = scale; // what is not drawn yet is drawn so
    if (!sheet) return;
    const { width, height } = section.layout;
    const fitting = Math.min(1, (canvas.clientWidth - 34) / width);
    const used = { fit: fitting, start: Math.max(canvas.clientWidth < NARROW ? 0.85 : 0.5, fitting) }[scale] ?? Math.max(0.05, Math.min(2.5, scale));
    section.layout.used = used;
    Object.assign(sheet.style, { width: `${width}px`, height: `${height}px`, transform: `scale(${used})` });
    Object.assign(sheet.parentElement.style, { width: `${width * used}px`, height: `${height * used}px` });
  };
})(window.compatView);
