// State drawn across, from the operators of OLD to those of NEW, in the space between the graphs.
//
// Every line has a lane of its own there: boxes that stand in a row share a height, and what is said of one must not be read
// as said of its neighbour. Lines of one fate at one height are one bundle, with one word.
"use strict";
((view) => {
  const { svg } = view;
  const WIDTH = 176;
  const LANE = 22;
  const BEND = 46;
  const STEP = 14;

  view.GUTTER = WIDTH;

  // Draws the rows of the mapping, which lists the worst fates first, whose ends are in sight. ``anchors`` tell where the lines
  // end, by side and operator, ``boxes`` what they have to go around, and ``frame`` is the space between: {left, right, top, bottom}.
  view.drawLinks = (ground, section, anchors, boxes, frame) => {
    const links = section.mapping.map((row, index) => ({ row, index, from: anchors.old.get(row.old), to: anchors.new.get(row.new) }))
      .filter(({ row, from, to }) => (from || row.old === null) && (to || row.new === null) && (from || to))
      .map((link) => ({ ...link, y: link.from && link.to ? (link.from.y + link.to.y) / 2 : (link.from || link.to).y }));
    const bundles = lanes(links, frame);
    for (const { links: members, lane } of bundles) for (const link of members) ground.append(line(link, lane, boxes, frame));
    for (const bundle of bundles) ground.append(tag(bundle, frame));
  };

  // The links in bundles, each with the height of its lane, no two nearer than words are high while there is room.
  function lanes(links, frame) {
    const room = Math.max(1, Math.floor((frame.bottom - frame.top) / LANE));
    let height = LANE;
    let bundles = gather(links, height);
    while (bundles.length > room && height < frame.bottom - frame.top) bundles = gather(links, height *= 2);
    bundles.sort((one, other) => one.y - other.y || one.links[0].index - other.links[0].index);
    const gap = Math.min(LANE, (frame.bottom - frame.top) / Math.max(1, bundles.length));
    let next = frame.top + gap / 2;
    for (const bundle of bundles) {
      bundle.lane = Math.max(bundle.y, next);
      next = bundle.lane + gap;
    }
    let last = frame.bottom - gap / 2;
    for (const bundle of [...bundles].reverse()) {
      bundle.lane = Math.min(bundle.lane, last);
      last = bundle.lane - gap;
    }
    return bundles;
  }

  function gather(links, height) {
    const found = new Map();
    for (const link of links) {
      const ends = link.from ? (link.to ? "across" : "from") : "to";
      const key = `${link.row.fate}/${ends}/${Math.round(link.y / height)}`;
      if (!found.has(key)) found.set(key, { fate: link.row.fate, ends, links: [] });
      found.get(key).links.push(link);
    }
    const bundles = [...found.values()];
    for (const bundle of bundles) bundle.y = bundle.links.reduce((sum, link) => sum + link.y, 0) / bundle.links.length;
    return bundles;
  }

  function line({ row, index, from, to }, lane, boxes, { left, right }) {
    const group = svg("g", { class: `link ${row.fate}`, "data-link": index });
    const [start, end] = [left + BEND, right - BEND];
    const out = from && clear(from, boxes.old, from.x + from.w, left);
    const into = to && clear(to, boxes.new, right, to.x);
    const leave = from && `M${from.x + from.w} ${from.y}${step(from.x + from.w, from.y, out)}H${left}` +
      `C${left + BEND / 2} ${out} ${start - BEND / 2} ${lane} ${start} ${lane}`;
    const arrive = to && `C${end + BEND / 2} ${lane} ${right - BEND / 2} ${into} ${right} ${into}H${to.x - STEP}${step(to.x - STEP, into, to.y)}H${to.x}`;
    if (from && to) group.append(svg("path", { d: `${leave}H${end}${arrive}` }));
    else if (from) group.append(svg("path", { d: leave }), svg("path", { d: `M${start + 3} ${lane - 5}l10 10m0 -10l-10 10`, class: "end" }));
    else group.append(svg("circle", { cx: end - 5, cy: lane, r: 5 }), svg("path", { d: `M${end} ${lane}${arrive}` }));
    return group;
  }

  // A height at which a line from or to a box meets no other box: its own, or one below or above the box. Behind a neighbour it
  // would look like the neighbour's.
  function clear(box, boxes, from, to) {
    const ahead = boxes.filter((other) => other.x + other.w > from && other.x < to);
    const free = (y) => !ahead.some((other) => y > other.y - 2 && y < other.y + other.h + 2);
    const aside = 6 + 4 * (ahead.filter((other) => other.y < box.y && other.y + other.h > box.y).length % 3);
    return [box.y, box.top + box.h + aside, box.top - aside].find(free) ?? box.y;
  }

  function step(x, y, height) {
    return y === height ? "" : `C${x + STEP * 0.8} ${y} ${x + STEP * 0.2} ${height} ${x + STEP} ${height}`;
  }

  // The word on a lane: in the middle of a line that goes across, behind the end of one that does not.
  function tag({ fate, ends, links, lane }, { left, right }) {
    const words = view.shortFate(links[0].row) + (links.length > 1 ? ` ×${links.length}` : "");
    const width = words.length * 6.6 + 14;
    const x = { across: (left + right) / 2, from: left + BEND + 18 + width / 2, to: right - BEND - 14 - width / 2 }[ends];
    return svg("g", { class: `tag ${fate}` },
      svg("rect", { x: x - width / 2, y: lane - 9, width, height: 18, rx: 9, class: "pill" }),
      svg("text", { x, y: lane + 4, class: "pill-text" }, words));
  }
})(window.compatView);
