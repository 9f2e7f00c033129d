"use strict";
// Plays a recorded game: the page holds the first position and, for each view, the changes to every later position.
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("game").textContent), (letter) => letter.charCodeAt(0));
  const data = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  const find = (name) => document.getElementById(name);
  const show = createPosition(find("position"));
  const last = data.views[0].changes.length - 1;
  let now = 0, view = 0, timer = null;

  const clamp = (number) => Math.max(0, Math.min(last, number));
  const roundOf = (number) => data.rounds.filter((start) => start <= number).length - 1;

  function draw() {
    const { changes, moves } = data.views[view];
    show(changes.slice(0, now + 1));
    find("now").textContent = now ? `${now}: ${moves[now - 1].join("; ")}.` : "The game begins.";
    find("decision").value = now;
    find("count").textContent = `of ${last}`;
    find("round").value = roundOf(now);
    for (const [number, link] of [...document.querySelectorAll(".moves a")].entries()) {
      const move = link.parentElement, isNow = number + 1 === now;
      link.textContent = `${number + 1}: ${moves[number].join("; ")}`;
      move.hidden = find("hide").checked && number + 1 > now;
      if (isNow) link.setAttribute("aria-current", "step"); else link.removeAttribute("aria-current");
      if (isNow) reveal(link);
    }
    for (const heading of document.querySelectorAll(".moves h3"))
      heading.hidden = find("hide").checked && data.rounds[heading.dataset.round] >= now;
  }

  // Scrolls the list of moves, and not the page, until a move is seen.
  function reveal(link) {
    const list = document.querySelector(".moves"), top = link.offsetTop - list.offsetTop;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + link.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top + link.offsetHeight - list.clientHeight;
  }

  function go(number) {
    now = clamp(Math.trunc(number) || 0);
    const seat = data.views.length > 1 ? `&view=${view}` : "";
    history.replaceState(null, "", `#d=${now}${seat}`);
    draw();
  }

  function readAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    view = Math.max(0, Math.min(data.views.length - 1, Number(wanted.get("view")) || 0));
    if (find("view")) find("view").value = view;
    now = clamp(wanted.has("d") ? Math.trunc(Number(wanted.get("d"))) || 0 : data.start);
    draw();
  }

  function goRounds(step) {
    const round = roundOf(now), start = data.rounds[round];
    const target = step < 0 && now > start ? start : data.rounds[round + step];
    go(target === undefined ? (step > 0 ? last : 0) : target);
  }

  function play(start) {
    clearInterval(timer);
    timer = start && now < last ? setInterval(() => { go(now + 1); if (now === last) play(false); }, Number(find("speed").value)) : null;
    find("play").textContent = timer ? "Pause" : "Play";
  }

  function chooseView(number) {
    view = number;
    if (find("view")) find("view").value = view;
    go(now);
  }

  const actions = {
    first: () => go(0), back: () => go(now - 1), next: () => go(now + 1), last: () => go(last),
    "round-back": () => goRounds(-1), "round-next": () => goRounds(1), play: () => play(!timer),
    copy: async () => {
      const area = find("notation");
      area.hidden = false;
      area.select();
      try { await navigator.clipboard.writeText(area.value); } catch { document.execCommand("copy"); }
      find("copied").textContent = "The game is copied as text.";
    },
  };
  const keys = {
    ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", PageUp: "round-back", PageDown: "round-next", p: "play",
  };

  for (const name in actions) if (find(name)) find(name).addEventListener("click", actions[name]);
  find("decision").addEventListener("change", (event) => go(event.target.value));
  find("round").addEventListener("change", (event) => go(data.rounds[event.target.value]));
  find("hide").addEventListener("change", draw);
  find("speed").addEventListener("change", () => { if (timer) play(true); });
  if (find("view")) find("view").addEventListener("change", (event) => chooseView(Number(event.target.value)));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input:not([type=checkbox]), select, textarea")) return;
    if (event.key === "h") { find("hide").checked = !find("hide").checked; draw(); }
    else if (event.key === "v") chooseView((view + 1) % data.views.length);
    else if (keys[event.key]) { event.preventDefault(); actions[keys[event.key]](); }
  });
  addEventListener("hashchange", readAddress);
  readAddress();
})();
