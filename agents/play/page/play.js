"use strict";
// Page of a seat: asks the server for the game, shows what happened, and sends the decisions of the person. No rules here.
(() => {
  const find = (name) => document.getElementById(name);
  const show = createPosition(find("position"));
  let version = -1, number = 0, shown = 0, told = 0, busy = true, cards = new Set();

  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

  function complain(text) {
    find("trouble").textContent = text || "";
    find("trouble").hidden = !text;
  }

  async function request(path, message) {
    const options = message && { method: "POST", body: JSON.stringify(message), headers: { "Content-Type": "application/json" } };
    const answer = await fetch(path, options);
    const value = await answer.json();
    if (!answer.ok) throw new Error(value.error);
    return value;
  }

  function tell(moves) {
    const news = moves.slice(told).map((move) => move.join("; ") + ".");
    if (news.length || moves.length < told) find("log").replaceChildren(...news.slice(-8).map((text) => element("div", text)));
    told = moves.length;
    find("moves").replaceChildren(...moves.map((move, index) => element("li", `${index + 1}. ${move.join("; ")}`)));
    const list = find("moves").parentElement;
    list.scrollTop = list.scrollHeight;
  }

  function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    return made;
  }

  // Shows all positions that are new, one after another at the chosen pace, and then what the person can do.
  async function display(game) {
    if (number && game.number !== number) return location.reload();  // the page holds the deal of another game
    number = game.number;
    const wait = Number(find("pace").value), known = game.positions.length > 1 ? 1 : 0;
    const steps = game.positions.slice(known);
    find("choices").replaceChildren();
    for (const [index, changes] of steps.entries()) {
      if (index && wait) await pause(wait);
      show([changes]);
      tell(game.moves.slice(0, game.first + known + index));
    }
    version = game.version;
    shown = game.first + game.positions.length - 1;
    offer(game);
  }

  function offer(game) {
    const form = find("choices"), choices = game.choices;
    find("take-back").disabled = !game.can_take_back;
    find("review").hidden = find("save").hidden = find("new-game").hidden = !game.over;
    find("hint").disabled = !choices;
    cards = new Set(choices && choices.cards ? choices.cards.map(([action]) => action) : []);
    if (game.over) form.replaceChildren(element("strong", `The game is over. ${game.turn}`));
    else if (!choices) form.replaceChildren(element("span", `Seat ${game.acting} is to act.`));
    else if (choices.cards) form.replaceChildren(...choices.cards.map(([action, text]) => choose(text, action)));
    else { form.dataset.pass = choices.pass; form.replaceChildren(...bids(choices)); }
    if (choices) (form.querySelector("input") || form.querySelector("button")).focus({ preventScroll: true });
  }

  function choose(text, action) {
    const button = element("button", text, { type: "button", "data-action": action });
    button.addEventListener("click", () => act(action));
    return button;
  }

  function bids({ pass, pays, lowest, highest }) {
    const parts = [choose(pays ? `Pass for ${pays} (p)` : "Pass (p)", pass)];
    if (!lowest) return parts;
    const input = element("input", "", { type: "number", min: lowest, max: highest, value: lowest, id: "bid", required: "" });
    const label = element("label", "Bid ");
    label.append(input, ` of ${lowest} to ${highest} `);
    parts.unshift(label, element("button", "Bid (Enter)", { type: "submit" }));
    return parts;
  }

  async function change(work) {
    if (busy) return;
    busy = true;
    complain("");
    find("help").textContent = "";
    for (const button of find("choices").querySelectorAll("button")) button.disabled = true;
    try {
      await display(await work());
    } catch (error) {
      complain(error.message);
      try { await display(await request(`table?since=${shown}`)); } catch { complain("The table does not answer; is the command still running?"); }
    }
    busy = false;
  }

  const act = (action) => change(() => request("act", { version, action, since: shown }));
  const beginAgain = () => change(() => request("new-game", { version, since: 0 }));
  const takeBack = () => change(() => request("take-back", { version, since: shown }));

  async function listen() {
    for (;;) {
      try {
        const game = await request(`table?since=${shown}&version=${busy ? -1 : version}`);
        if (!busy && game.version > version) { busy = true; await display(game); busy = false; }
        if (find("trouble").dataset.lost) { delete find("trouble").dataset.lost; complain(""); }
      } catch (error) {
        find("trouble").dataset.lost = "yes";
        complain("The table does not answer; is the command still running? This page goes on when it does.");
        await pause(2000);
      }
      await pause(50);
    }
  }

  async function review() {
    try {
      let state = await request("review", {});
      while (!state.ready) {
        find("help").textContent = `The review is at decision ${state.done} of ${state.total}.`;
        await pause(1000);
        state = await request("review");
      }
      const link = element("a", "Open the review", { href: "review?page", target: "_blank" });
      find("help").replaceChildren(link);
      link.focus();
    } catch (error) { complain(error.message); }
  }

  find("choices").addEventListener("submit", (event) => {
    event.preventDefault();
    const form = find("choices"), bid = find("bid");
    if (bid && bid.reportValidity()) act(Number(form.dataset.pass) + Number(bid.value));
  });
  find("take-back").addEventListener("click", takeBack);
  find("review").addEventListener("click", review);
  find("new-game").addEventListener("click", beginAgain);
  find("hint").addEventListener("click", async () => {
    try { find("help").textContent = (await request("hint")).hint; } catch (error) { find("help").textContent = error.message; }
  });
  find("position").addEventListener("click", (event) => {  // a card of the hand, which is in the last group of the picture
    const card = event.target.closest("svg > g:last-child > use");
    const action = card && Number(card.getAttribute("href").split("-card-")[1]);
    if (card && cards.has(action)) act(action);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("select")) return;
    if (event.key === "p") { const pass = document.querySelector(`[data-action="${find("choices").dataset.pass}"]`); if (pass) { event.preventDefault(); pass.click(); } }
    if (event.key === "u") { event.preventDefault(); takeBack(); }
  });
  (async () => {
    try { await display(await request("table?since=1000000")); } catch (error) { complain(error.message); }
    busy = false;
    listen();
  })();
})();
