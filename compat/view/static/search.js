// Finds operators by name, uid, id, user hash, kind or state, the best match first, as a list that the keyboard walks.
"use strict";
((view) => {
  const { el } = view;
  const MOST = 12;
  const TELLING = 6;

  view.startSearch = (section, choose) => {
    const input = section.element.querySelector('input[type="search"]');
    const list = section.element.querySelector(".hits");
    const index = view.SIDES.filter((side) => section.sides[side]).flatMap((side) =>
      section.sides[side].operators.map((item, place) => ({ side, place, item, ...words(item) })));
    let current = -1;

    function show() {
      const query = input.value.toLowerCase().trim().replace(/\s+/g, " ");
      const hits = query ? best(index, query) : [];
      current = hits.length ? 0 : -1;
      list.replaceChildren(...hits.slice(0, MOST).map((hit, number) =>
        el("li", { role: "option", id: `${list.id}-${number}`, "aria-selected": String(number === current), "data-hit": `${hit.side}:${hit.place}` },
          section.kind === "check" ? el("b", {}, hit.side.toUpperCase()) : null, ` ${hit.item.name} `,
          el("span", { class: "dim" }, hit.item.uid === null ? hit.item.id.slice(0, 8) : `uid ${hit.item.uid}`))),
      ...(query && !hits.length ? [el("li", { role: "option", "aria-disabled": true, class: "dim" }, "No operator is called that.")] : []),
      ...(hits.length > MOST ? [el("li", { role: "option", "aria-disabled": true, class: "dim" }, `and ${hits.length - MOST} more`)] : []));
      open(query !== "");
    }

    function open(is) {
      list.hidden = !is;
      input.setAttribute("aria-expanded", String(is));
      mark();
    }

    function mark() {
      const hits = list.querySelectorAll("[data-hit]");
      hits.forEach((hit, number) => hit.setAttribute("aria-selected", String(number === current)));
      if (!list.hidden && hits[current]) input.setAttribute("aria-activedescendant", hits[current].id);
      else input.removeAttribute("aria-activedescendant");
    }

    function take(hit) {
      if (!hit) return;
      open(false);
      choose(hit.dataset.hit);
    }

    input.addEventListener("input", show);
    input.addEventListener("focus", () => {
      if (input.value) show();
    });
    input.addEventListener("blur", () => open(false));
    input.addEventListener("keydown", (event) => {
      const count = list.querySelectorAll("[data-hit]").length;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (!count) return;
        current = (current + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
        mark();
      } else if (event.key === "Enter") take(list.querySelectorAll("[data-hit]")[current]);
      else if (event.key === "Escape") {
        input.value = "";
        open(false);
        input.blur();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    // Before the field loses the focus, so that the list is still there.
    list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      take(event.target.closest("[data-hit]"));
    });
  };

  function words(item) {
    const lower = (text) => text.toLowerCase();
    return {
      name: lower(item.name),
      uid: lower(item.uid || ""),
      ids: [item.id, item.user_hash].filter(Boolean).map(lower),
      rest: [item.uid, item.kind, ...(item.states || []).map((state) => state.name)].filter(Boolean).map(lower),
    };
  }

  // What matches, in the order of the ranks; what has the same rank stays in the order of the program.
  function best(index, query) {
    const parts = query.split(" ");
    return index.map((entry) => ({ entry, rank: rank(entry, query, parts) })).filter(({ rank }) => rank !== null)
      .sort((one, other) => one.rank - other.rank).map(({ entry }) => entry);
  }

  // Exact names, names that begin so, uids and ids, whole and begun, names with all the words in them, then anything else.
  // Generated ids are found by their beginning, and a few digits of one say less than a name: they are somewhere in most of them.
  function rank({ name, uid, ids, rest }, query, parts) {
    const begun = (text, part) => text.startsWith(part);
    const ranks = [
      () => name === query,
      () => begun(name, query),
      () => uid === query || ids.includes(query),
      () => begun(uid, query) || (query.length >= TELLING && ids.some((id) => begun(id, query))),
      () => parts.every((part) => name.split(/[^\p{L}\p{N}]+/u).includes(part)),
      () => parts.every((part) => name.includes(part)),
      () => parts.every((part) => name.includes(part) || ids.some((id) => begun(id, part)) || rest.some((text) => text.includes(part))),
    ];
    const found = ranks.findIndex((is) => is());
    return found < 0 ? null : found;
  }
})(window.compatView);
