// Finds the errors in a pasted text and shows the fix of each. The search is `find` in `spark_rtm/commands/errors.py`; the build
// generates its data and numbers.
"use strict";
(() => {
  const { errors, words, settings } = JSON.parse(document.getElementById("error-finder-data").textContent);
  const findings = document.getElementById("findings");
  const trace = document.getElementById("trace");
  const CONDITION = /\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]/g;

  function find(text) {
    const flat = text.trim().split(/\s+/).join(" ");
    const low = flat.toLowerCase();
    const matches = errors.map((error) => {
      const place = Math.max(-1, ...error.names.map((name) => last(flat, name)));
      const hasMessage = error.parts.some((parts) => contains(low, parts));
      return { error, place, points: error.points * (place >= 0) + settings.messagePoints * hasMessage };
    });
    const least = Math.max(1, Math.max(...matches.map((match) => match.points)) - settings.maxDistance);
    const near = matches.filter((match) => match.points >= least);
    near.forEach((match) => (match.shared = match.error.identifiers.filter((name) => flat.includes(name)).length));
    near.sort((a, b) => b.points - a.points || b.shared - a.shared || b.place - a.place);
    const isTrace = near.length || new RegExp(settings.trace).test(flat);
    return isTrace ? near.slice(0, settings.maxFound).map((match) => match.error) : findByWords(low);
  }

  function last(text, name) {
    const isInside = (character) => /[A-Za-z0-9_]/.test(character);
    let place = text.lastIndexOf(name);
    while (place >= 0 && (isInside(text.charAt(place - 1)) || isInside(text.charAt(place + name.length)))) {
      place = place ? text.lastIndexOf(name, place - 1) : -1;
    }
    return place;
  }

  function contains(text, [first, ...rest]) {
    for (let start = text.indexOf(first); start >= 0; start = text.indexOf(first, start + 1)) {
      let end = start + first.length;
      const follows = rest.every((part) => {
        const place = text.slice(end, end + settings.maxGap + part.length).indexOf(part);
        end += place + part.length;
        return place >= 0;
      });
      if (follows) return true;
    }
    return false;
  }

  const common = new Set(settings.common);
  const stem = (word) => word.replace(/(ing|ed|es|s|e)$/, "").replace(/(ied|ies|y)$/, "i");
  const stems = (text) => [...new Set((text.match(/[a-z0-9]{3,}/g) || []).filter((word) => !common.has(word)).map(stem))].sort();

  function findByWords(text) {
    const scores = new Map();
    let total = 0;
    for (const word of stems(text)) {
      const numbers = Object.hasOwn(words, word) ? words[word] : [];
      const weight = numbers.length ? Math.log(1 + errors.length / numbers.length) : settings.unknownWeight;
      total += weight;
      numbers.forEach((number) => scores.set(number, (scores.get(number) || 0) + weight));
    }
    const found = [...scores].filter(([, score]) => score >= settings.minShare * total);
    const ranked = found.sort(([a, one], [b, other]) => other - one || a - b);
    return ranked.slice(0, settings.maxFound).map(([number]) => errors[number]);
  }

  function element(name, text, attributes = {}) {
    const created = Object.assign(document.createElement(name), attributes);
    created.append(text);
    return created;
  }

  function card(entry) {
    const title = element("p", element("code", entry.condition), { className: "finding__condition" });
    const where = element("p", element("a", entry.title, { href: entry.link }), { className: "finding__where" });
    where.append(` · ${entry.engine}`);
    const finding = element("div", title, { className: "finding" });
    const fix = document.createElement("div");
    fix.innerHTML = entry.fix;
    finding.append(fix, where);
    return finding;
  }

  function unknown(text) {
    const named = [...text.matchAll(CONDITION)].map((match) => match[1]);
    const names = [...new Set(named)].filter((name) => !settings.wrappers.includes(name));
    const problem = names.length ? `No page explains ${names.join(", ")}.` : "This text contains no known error condition.";
    const advice = "Paste the whole stack trace, including the last “Caused by”, or see the";
    const paragraph = element("p", `${problem} ${advice} `);
    paragraph.append(element("a", "symptoms without an exception", { href: "debugging.html" }), ".");
    return element("div", paragraph, { className: "finding" });
  }

  function update() {
    const text = trace.value;
    const matches = text.trim() ? find(text) : [];
    findings.replaceChildren(...(matches.length ? matches.map(card) : text.trim() ? [unknown(text)] : []));
  }

  trace.addEventListener("input", update);
  trace.form.addEventListener("submit", (event) => event.preventDefault());
  update();
})();
