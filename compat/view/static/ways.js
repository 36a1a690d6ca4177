// Where a line can go without passing behind a box: between the ranks, and through a rank only where it has no box.
//
// Ranks are rows where the graph goes down, and columns where it goes across. A place is {along, aside}: how far it is in the
// direction in which the graph goes, and how far across it.
"use strict";
((view) => {
  const CLEAR = 9;
  const BESIDE = 12;
  const ROUND = 7;

  // The ways between frames, {x, y, w, h}, of a graph that goes down, or across.
  view.ways = (frames, down) => {
    const turned = ({ x, y }) => (down ? { along: y, aside: x } : { along: x, aside: y });
    const point = ({ along, aside }) => (down ? [aside, along] : [along, aside]);
    const spans = frames.map(({ x, y, w, h }) => (down ? { start: y, end: y + h, left: x, right: x + w } : { start: x, end: x + w, left: y, right: y + h }));
    const { ranks, rankOf } = gather(spans);

    // Beside a rank, before (-1) or behind (1) it, nearer to it than what is written on arrows.
    const space = (rank, side) => (side > 0 ? ranks[rank].end : ranks[rank].start) + side * BESIDE;

    // The path of an arrow from one frame to another by the points that the layout gave it.
    function arrow(from, to, points) {
      const [first, last] = [rankOf[from], rankOf[to]];
      if (first === last) return `M${points.map(({ x, y }) => [x, y]).join("L")}`;
      const side = last > first ? 1 : -1;
      const through = ({ start, end }, aside) => (side > 0 ? [start, end] : [end, start]).map((along) => ({ along, aside }));
      const [here, there] = [spans[from], spans[to]];
      const legs = [
        [{ along: side > 0 ? here.end : here.start, aside: (here.left + here.right) / 2 }, through(ranks[first], (here.left + here.right) / 2)[1]],
        ...points.slice(1, -1).map(turned).map(({ along, aside }) => {
          const rank = ranks.find(({ start, end }) => start <= along && along <= end);
          return rank ? through(rank, aside) : [{ along, aside }];
        }),
        [through(ranks[last], (there.left + there.right) / 2)[0], { along: side > 0 ? there.start : there.end, aside: (there.left + there.right) / 2 }],
      ];
      const [start, ...rest] = legs.flat();
      let before = start;
      let path = `M${point(start)}`;
      for (const place of rest) {
        if (place.along === before.along && place.aside === before.aside) continue;
        const middle = (before.along + place.along) / 2;
        path += before.aside === place.aside ? `L${point(place)}`
          : `C${point({ along: middle, aside: before.aside })} ${point({ along: middle, aside: place.aside })} ${point(place)}`;
        before = place;
      }
      return path;
    }

    // The corners of a line from a point inside one frame to a point inside another; ``shift`` keeps lines with one way apart.
    function route(from, to, start, end, shift) {
      return down ? routeDown(from, to, start, end, shift) : routeAcross(from, to, start, end, shift);
    }

    function routeDown(from, to, start, end, shift) {
      const [first, last] = [rankOf[from], rankOf[to]];
      const side = last < first ? -1 : 1;
      const corners = [[start[0], space(first, side) + shift]];
      let aside = end[0];
      for (let rank = first + side; first !== last && rank !== last; rank += side) {
        aside = free(ranks[rank], aside + shift);
        corners.push([aside, corners[corners.length - 1][1]], [aside, space(rank, side) + shift]);
      }
      return [start, ...corners, [end[0], corners[corners.length - 1][1]], end];
    }

    // Out of the frame above or below it, to the space beside its column, from one to the next, and in again.
    function routeAcross(from, to, start, end, shift) {
      const [first, last] = [rankOf[from], rankOf[to]];
      const below = spans[to].left >= spans[from].left;
      const out = below ? spans[from].right + CLEAR : spans[from].left - CLEAR;
      const into = spans[to].left > spans[from].left ? spans[to].left - CLEAR : spans[to].right + CLEAR;
      if (first === last && !ranks[first].spans.some(({ left, right }) => left > Math.min(out, into) && right < Math.max(out, into))) {
        return [start, [start[0], out], [end[0], out], end];
      }
      const side = last < first ? -1 : 1;
      const corners = [[start[0], out], [space(first, side) + shift, out]];
      for (let rank = first + side; first !== last && rank !== last; rank += side) {
        const aside = free(ranks[rank], into + shift);
        corners.push([corners[corners.length - 1][0], aside], [space(rank, side) + shift, aside]);
      }
      return [start, ...corners, [corners[corners.length - 1][0], into], [end[0], into], end];
    }

    return { arrow, route };
  };

  // The ranks in their order, each with its extent and those of its frames, and the rank of each frame.
  function gather(spans) {
    const found = new Map();
    spans.forEach((span, index) => {
      const middle = Math.round((span.start + span.end) / 2);
      if (!found.has(middle)) found.set(middle, []);
      found.get(middle).push(index);
    });
    const rankOf = [];
    const ranks = [...found.entries()].sort(([one], [other]) => one - other).map(([, members], rank) => {
      for (const index of members) rankOf[index] = rank;
      const own = members.map((index) => spans[index]);
      return { spans: own, start: Math.min(...own.map(({ start }) => start)), end: Math.max(...own.map(({ end }) => end)) };
    });
    return { ranks, rankOf };
  }

  // What is nearest to a place aside and not behind one of the frames of a rank.
  function free({ spans }, aside) {
    const clear = (place) => spans.every(({ left, right }) => place <= left - CLEAR || place >= right + CLEAR);
    const places = [aside, ...spans.flatMap(({ left, right }) => [left - CLEAR, right + CLEAR])];
    return places.sort((one, other) => Math.abs(one - aside) - Math.abs(other - aside)).find(clear);
  }

  // A path along corners, which are rounded.
  view.rounded = (corners) => {
    const [start, ...rest] = corners.filter((corner, index) => !index || String(corner) !== String(corners[index - 1]));
    let before = start;
    let path = "";
    rest.forEach((corner, index) => {
      const next = rest[index + 1];
      path += next ? `L${towards(corner, before)}Q${corner} ${towards(corner, next)}` : `L${corner}`;
      before = corner;
    });
    return path;
  };

  function towards([x, y], [toX, toY]) {
    const far = Math.hypot(toX - x, toY - y);
    const step = Math.min(ROUND, far / 2) / far;
    return [x + (toX - x) * step, y + (toY - y) * step];
  }
})(window.compatView);
