// State drawn from the operators of OLD to those of NEW, in the gap between the two sides of a box; to another box it goes around
// whatever is on the way.
//
// Every line has a lane of its own in a gap, and lines of one fate at one height are one bundle, with one word.
"use strict";
((view) => {
  const { svg } = view;
  const LANE = 20;
  const BEND = 16;
  const APART = 3;
  const WAYS = 5;

  // Draws the rows of the mapping, which lists the worst fates first, whose ends are in sight. ``anchors`` tell where lines end, by side
  // and operator: {place, gap, y}, the index of the box, its gap {left, right, top, bottom}, and the height there.
  view.drawLinks = (ground, section, anchors, ways) => {
    const links = section.mapping.map((row, index) => ({ row, index, from: anchors.old.get(row.old), to: anchors.new.get(row.new), lanes: {} }))
      .filter(({ row, from, to }) => (from || row.old === null) && (to || row.new === null) && (from || to));
    const gaps = new Map();
    for (const end of links.flatMap(ends)) {
      if (!gaps.has(end.at.place)) gaps.set(end.at.place, []);
      gaps.get(end.at.place).push(end);
    }
    const tags = [];
    for (const found of gaps.values()) {
      const { gap } = found[0].at;
      for (const bundle of lanes(found, gap)) {
        for (const { link, kind } of bundle.ends) link.lanes[kind] = bundle.lane;
        tags.push(tag(bundle, gap));
      }
    }
    ground.append(...links.map((link) => line(link, ways)), ...tags);
  };

  // Where a link is in a gap: across it; where it stops or starts; where it goes out to another box, and where it comes in.
  function ends(link) {
    const { from, to } = link;
    if (!from || !to) return [{ link, kind: from ? "stop" : "start", at: from || to, y: (from || to).y }];
    if (from.place === to.place) return [{ link, kind: "across", at: from, y: (from.y + to.y) / 2 }];
    return [{ link, kind: "out", at: from, y: from.y }, { link, kind: "into", at: to, y: to.y }];
  }

  // The ends in a gap as bundles, each with the height of its lane, no two nearer than words are high while there is room.
  function lanes(found, { top, bottom }) {
    const room = Math.max(1, Math.floor((bottom - top) / LANE));
    let height = LANE;
    let bundles = bundled(found, height);
    while (bundles.length > room && height < bottom - top) bundles = bundled(found, height *= 2);
    bundles.sort((one, other) => one.y - other.y || one.ends[0].link.index - other.ends[0].link.index);
    const gap = Math.min(LANE, (bottom - top) / bundles.length);
    // Words that would stand one on the other are moved apart both ways, so that none is far from its line.
    for (let last = 0, first = 0; last < bundles.length; last = first) {
      for (first = last + 1; first < bundles.length && bundles[first].y - bundles[first - 1].y < gap;) first++;
      const group = bundles.slice(last, first);
      const middle = group.reduce((sum, { y }) => sum + y, 0) / group.length;
      group.forEach((bundle, index) => {
        bundle.lane = middle + (index - (group.length - 1) / 2) * gap;
      });
    }
    let next = top + gap / 2;
    for (const bundle of bundles) {
      bundle.lane = Math.max(bundle.lane, next);
      next = bundle.lane + gap;
    }
    let last = bottom - gap / 2;
    for (const bundle of [...bundles].reverse()) {
      bundle.lane = Math.min(bundle.lane, last);
      last = bundle.lane - gap;
    }
    return bundles;
  }

  function bundled(found, height) {
    const bundles = new Map();
    for (const end of found) {
      const key = `${end.link.row.fate}/${end.kind}/${Math.round(end.y / height)}`;
      if (!bundles.has(key)) bundles.set(key, { fate: end.link.row.fate, kind: end.kind, ends: [] });
      bundles.get(key).ends.push(end);
    }
    for (const bundle of bundles.values()) bundle.y = bundle.ends.reduce((sum, { y }) => sum + y, 0) / bundle.ends.length;
    return [...bundles.values()];
  }

  function line({ row, index, from, to, lanes: at }, ways) {
    const group = svg("g", { class: `link ${row.fate}`, "data-link": index });
    const leave = (lane) => `M${from.gap.left} ${from.y}${curve(from.gap.left, from.y, from.gap.left + BEND, lane)}`;
    const arrive = (lane) => curve(to.gap.right - BEND, lane, to.gap.right, to.y);
    if (at.stop !== undefined) {
      group.append(svg("path", { d: leave(at.stop) }),
        svg("path", { d: `M${from.gap.left + BEND + 3} ${at.stop - 5}l10 10m0 -10l-10 10`, class: "end" }));
    } else if (at.start !== undefined) {
      const end = to.gap.right - BEND;
      group.append(svg("circle", { cx: end - 5, cy: at.start, r: 5 }), svg("path", { d: `M${end} ${at.start}${arrive(at.start)}` }));
    } else if (at.across !== undefined) {
      group.append(svg("path", { d: `${leave(at.across)}H${to.gap.right - BEND}${arrive(at.across)}` }));
    } else {
      const shift = ((index % WAYS) - (WAYS - 1) / 2) * APART;
      const corners = ways.route(from.place, to.place, [from.gap.left + BEND, at.out], [to.gap.right - BEND, at.into], shift);
      group.append(svg("path", { d: `${leave(at.out)}${view.rounded(corners)}${arrive(at.into)}` }));
    }
    return group;
  }

  function curve(x, y, toX, toY) {
    const middle = (x + toX) / 2;
    return `C${middle} ${y} ${middle} ${toY} ${toX} ${toY}`;
  }

  // The word on a lane: in the middle of a line that goes across, else beside the end that the line has in this gap.
  function tag({ fate, kind, ends: members, lane }, { left, right }) {
    const words = view.shortFate(members[0].link.row) + (members.length > 1 ? ` ×${members.length}` : "");
    const width = words.length * 6.6 + 14;
    const x = {
      across: (left + right) / 2,
      stop: left + BEND + 17 + width / 2,
      out: left + BEND + 5 + width / 2,
      start: right - BEND - 14 - width / 2,
      into: right - BEND - 5 - width / 2,
    }[kind];
    return svg("g", { class: `tag ${fate}` },
      svg("rect", { x: x - width / 2, y: lane - 9, width, height: 18, rx: 9, class: "pill" }),
      svg("text", { x, y: lane + 4, class: "pill-text" }, words));
  }
})(window.compatView);
