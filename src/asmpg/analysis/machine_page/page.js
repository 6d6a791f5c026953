"use strict";
const { views, pictures } = JSON.parse(document.getElementById("content").textContent);
const at = (id) => document.getElementById(id);
let view = 0, episode = 0, time = 0, timer = null;

const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const number = (value) => String(Number(value.toFixed(4))).replace("-", "−");
const share = (value) => `${(100 * value).toFixed(value > 0.995 || value < 0.005 ? 0 : 1)} %`;
const frames = () => views[view].episodes[episode]?.frames ?? [];

function meters(body, names, values, chosen) {
  body.replaceChildren(...names.map((name, i) => {
    const row = element("tr", undefined, i === chosen ? { class: "chosen" } : {});
    const meter = element("div", undefined, { class: "meter", "aria-hidden": "true" });
    const fill = element("span");
    fill.style.width = `${100 * values[i]}%`;
    meter.append(fill);
    const middle = element("td");
    middle.append(meter);
    row.append(element("td", name), middle, element("td", share(values[i])));
    return row;
  }));
}

function sentence(frame, before, ending) {
  const seen = time ? `Sees ${frame.observation}` : `The episode starts: it sees ${frame.observation}`;
  if (frame.state === undefined) return `${seen}. The episode is over: ${ending}.`;
  const moved = before === undefined ? `enters s${frame.state}`
    : before === frame.state ? `stays in s${frame.state}` : `goes from s${before} to s${frame.state}`;
  return `${seen}, ${moved}, plays ${views[view].actions[frame.action]}.`;
}

function show() {
  const list = frames(), frame = list[time];
  for (const lit of document.querySelectorAll("#left .now")) lit.classList.remove("now");
  at("stage").classList.toggle("playing", frame?.state !== undefined);
  if (!frame) return;
  const { ending } = views[view].episodes[episode];
  const before = time ? list[time - 1].state : undefined;
  if (frame.state !== undefined) {
    at("left").querySelector(`.state[data-state="${frame.state}"]`)?.classList.add("now");
    const from = before === undefined ? "start" : before;
    const edge = at("left").querySelector(`.edge[data-from="${from}"][data-to="${frame.state}"]`);
    edge?.classList.add("now");
  }
  at("image").src = pictures[frame.picture];
  at("image").alt = `The environment after ${time} steps`;
  at("now").textContent = sentence(frame, before, ending);
  const facts = { step: `${time} of ${list.length - 1}`,
    reward: frame.reward === null ? "none yet" : number(frame.reward), return: number(frame.total) };
  at("numbers").replaceChildren(...Object.entries(facts).map(([name, value]) => {
    const pair = element("div");
    pair.append(element("dt", name), element("dd", value));
    return pair;
  }));
  const acting = frame.state !== undefined;
  at("chances").hidden = at("beliefs").hidden = !acting;
  if (acting) {
    meters(at("chances").tBodies[0], views[view].actions, frame.chances, frame.action);
    const states = frame.belief.map((_, state) => `s${state}`);
    meters(at("beliefs").querySelector("tbody"), states, frame.belief, frame.state);
  }
  at("scrub").max = list.length - 1;
  at("scrub").value = time;
  at("scrub").setAttribute("aria-valuetext", `step ${time} of ${list.length - 1}`);
}

function pause() {
  clearInterval(timer);
  timer = null;
  at("play").textContent = "Play";
}
function go(to) {
  time = Math.max(0, Math.min(frames().length - 1, to));
  show();
}
function play() {
  if (timer !== null) return pause();
  if (time >= frames().length - 1) go(0);
  at("play").textContent = "Pause";
  timer = setInterval(() => {
    go(time + 1);
    if (time >= frames().length - 1) pause();
  }, Number(at("speed").value));
}
function chooseEpisode(to) {
  pause();
  const count = views[view].episodes.length;
  episode = (to + count) % count;
  at("episode").value = episode;
  go(0);
}
function chooseView(to) {
  pause();
  view = to;
  const { title, facts, svg, table, words, episodes } = views[view];
  at("left").innerHTML = svg;
  at("facts").textContent = facts;
  at("table").textContent = table;
  at("words").replaceChildren(...words.map((line) => element("li", line)));
  at("right").hidden = episodes.length === 0;
  at("episode").replaceChildren(...episodes.map(({ frames }, i) =>
    element("option", `${i + 1} (${frames.length - 1} steps)`, { value: i })));
  for (const [i, tab] of [...at("views").children].entries()) tab.setAttribute("aria-selected", i === view);
  document.title = `${title}: ${document.querySelector("h1").textContent}`;
  if (episodes.length) chooseEpisode(0);
}

for (const [i, { title }] of views.entries()) {
  const tab = element("button", title, { type: "button", role: "tab" });
  tab.addEventListener("click", () => chooseView(i));
  at("views").append(tab);
}
at("strip-section").hidden = views.length < 2;
if (views.length > 1) {
  for (const [i, { title, svg }] of views.entries()) {
    const card = element("button", undefined, { type: "button" });
    card.innerHTML = svg.replaceAll(`m${i}"`, `strip${i}"`).replaceAll(`m${i})`, `strip${i})`);
    card.prepend(element("span", title));
    card.addEventListener("click", () => { chooseView(i); scrollTo(0, 0); });
    at("strip").append(card);
  }
}
at("first").addEventListener("click", () => { pause(); go(0); });
at("last").addEventListener("click", () => { pause(); go(Infinity); });
at("back").addEventListener("click", () => { pause(); go(time - 1); });
at("next").addEventListener("click", () => { pause(); go(time + 1); });
at("play").addEventListener("click", play);
at("scrub").addEventListener("input", (event) => { pause(); go(Number(event.target.value)); });
at("episode").addEventListener("change", (event) => chooseEpisode(Number(event.target.value)));
at("speed").addEventListener("change", () => { if (timer !== null) { pause(); play(); } });
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("select, summary, pre")) return;
  const pressed = event.target.closest("button, input");
  const keys = { ArrowLeft: () => { pause(); go(time - 1); }, ArrowRight: () => { pause(); go(time + 1); },
    Home: () => { pause(); go(0); }, End: () => { pause(); go(Infinity); },
    "[": () => chooseEpisode(episode - 1), "]": () => chooseEpisode(episode + 1) };
  if (!pressed) keys[" "] = play;
  if (frames().length && keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
chooseView(0);
