// Finds the conditions that a pasted text names and shows the fix of each; the data is made from the pages at build.
"use strict";
(() => {
  const entries = JSON.parse(document.getElementById("error-finder-data").textContent);
  const findings = document.getElementById("findings");
  const trace = document.getElementById("trace");
  const CONDITION = /\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]/g;
  // These stand around every failure of a query.
  const WRAPPERS = ["STREAM_FAILED", "StreamingQueryException"];
  const isClass = (name) => /[a-z]/.test(name);

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const plain = (text) => text.replace(/\s+/g, " ");

  // A message of the engine has words of the query where ours has `<className>`.
  function says(text, message) {
    const words = plain(message).split(/<\w+>/).map(escaped).join(".{0,300}?");
    return new RegExp(words, "s").test(text);
  }

  function position(text, name) {
    const names = [name, name.split(".").pop()].filter((part) => isClass(part) || part.includes("_"));
    const places = names.map((part) => text.search(new RegExp(`(?<![A-Za-z0-9_])${escaped(part)}(?![A-Za-z0-9_])`)));
    return Math.max(...places);
  }

  // The class or setting that a fix speaks of decides between sections about the same condition.
  function likeness(text, entry) {
    const box = document.createElement("template");
    box.innerHTML = entry.fix;
    const words = [...box.content.querySelectorAll("code")].map((code) => code.textContent);
    return words.filter((word) => word.length > 6 && text.includes(word)).length;
  }

  function find(text) {
    const found = [];
    for (const entry of entries) {
      const at = WRAPPERS.includes(entry.condition) ? -1 : position(text, entry.condition);
      const isSaid = entry.messages.some((message) => says(text, message));
      if (at >= 0 || isSaid) found.push({ entry, at, isSaid, isVague: isClass(entry.condition) && !isSaid });
    }
    // A class such as TimeoutException means little beside a condition or a known message.
    const clear = found.filter((one) => !one.isVague);
    const score = (one) => 10 * (one.at >= 0) + 2 * one.isSaid + likeness(text, one.entry);
    const ranked = (clear.length ? clear : found).sort((a, b) => score(b) - score(a) || b.at - a.at);
    const isNamed = ranked.some((one) => one.at >= 0 && !isClass(one.entry.condition));
    return ranked.filter((one) => !isNamed || one.at >= 0).map((one) => one.entry);
  }

  function element(name, text, attributes = {}) {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(text);
    return made;
  }

  function card(entry) {
    const title = element("p", element("code", entry.condition), { className: "finding__condition" });
    const where = element("p", element("a", entry.title, { href: entry.link }), { className: "finding__where" });
    where.append(` · ${entry.engine}`);
    const made = element("div", title, { className: "finding" });
    const fix = document.createElement("div");
    fix.innerHTML = entry.fix;
    made.append(fix, where);
    return made;
  }

  function unknown(text) {
    const names = [...new Set([...text.matchAll(CONDITION)].map((match) => match[1]))].filter((name) => !WRAPPERS.includes(name));
    const what = names.length ? `No page provokes ${names.join(", ")}.` : "No condition found in this text.";
    const made = element("div", element("p", `${what} Paste the lines down to the last “Caused by”, or look at `), { className: "finding" });
    made.firstChild.append(element("a", "symptoms without an exception", { href: "errors.html#symptoms-without-an-exception" }), ".");
    return made;
  }

  function answer() {
    const text = plain(trace.value);
    const found = text.trim() ? find(text) : [];
    findings.replaceChildren(...(found.length ? found.map(card) : text.trim() ? [unknown(trace.value)] : []));
  }

  trace.addEventListener("input", answer);
  trace.form.addEventListener("submit", (event) => event.preventDefault());
  answer();
})();
