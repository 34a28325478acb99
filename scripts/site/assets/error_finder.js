// Finds the error conditions in a pasted text and shows the fix for each condition. The build generates the data from the pages.
"use strict";
(() => {
  const entries = JSON.parse(document.getElementById("error-finder-data").textContent);
  const findings = document.getElementById("findings");
  const trace = document.getElementById("trace");
  const CONDITION = /\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]/g;
  // Spark wraps every query failure in an error with these names, so they do not identify the cause.
  const WRAPPERS = ["STREAM_FAILED", "StreamingQueryException", "STREAMING_ASYNC_OPERATION_FAILED"];
  const isClass = (name) => /[a-z]/.test(name);

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const plain = (text) => text.replace(/\s+/g, " ");

  // A message on a page contains placeholders such as `<className>`. The engine's message contains real names instead.
  function containsMessage(text, message) {
    const parts = plain(message).split(/<\w+>/);
    // This check is fast. Most messages fail it, and a regular expression for each of them would make typing slow.
    return parts.every((part) => text.includes(part)) && new RegExp(parts.map(escaped).join(".{0,300}?"), "s").test(text);
  }

  function position(text, name) {
    const names = [name, name.split(".").pop()].filter((part) => isClass(part) || part.includes("_"));
    const positions = names.map((part) => text.search(new RegExp(`(?<![A-Za-z0-9_])${escaped(part)}(?![A-Za-z0-9_])`)));
    return Math.max(...positions);
  }

  // If several sections explain a condition, prefer the section whose fix shares more code names with the text.
  function countSharedNames(text, entry) {
    const template = document.createElement("template");
    template.innerHTML = entry.fix;
    const names = [...template.content.querySelectorAll("code")].map((code) => code.textContent);
    return names.filter((name) => name.length > 6 && text.includes(name)).length;
  }

  function find(text) {
    const matches = [];
    for (const entry of entries) {
      const index = WRAPPERS.includes(entry.condition) ? -1 : position(text, entry.condition);
      const hasMessage = entry.messages.some((message) => containsMessage(text, message));
      const isWeak = isClass(entry.condition) && !hasMessage;
      if (index >= 0 || hasMessage) matches.push({ entry, index, hasMessage, isWeak });
    }
    // A class name such as TimeoutException counts only if the text contains no condition and no known message.
    const strong = matches.filter((match) => !match.isWeak);
    const score = (match) => 10 * (match.index >= 0) + 2 * match.hasMessage + countSharedNames(text, match.entry);
    const ranked = (strong.length ? strong : matches).sort((a, b) => score(b) - score(a) || b.index - a.index);
    const hasCondition = ranked.some((match) => match.index >= 0 && !isClass(match.entry.condition));
    return ranked.filter((match) => !hasCondition || match.index >= 0).map((match) => match.entry);
  }

  // A description in words: the entries that share most of its words, weighed by how rare each word is.
  const COMMON = new Set("the and not with was are for from that this has have its can after before when into does what why how which may".split(" "));
  const stem = (word) => word.replace(/(ing|ed|es|s|e)$/, "").replace(/(ied|ies|y)$/, "i");
  const stems = (text) => new Set((text.toLowerCase().match(/[a-z0-9]{3,}/g) || []).filter((word) => !COMMON.has(word)).map(stem));
  const wordsOf = (entry) => (entry.words ??= stems([entry.condition.replaceAll("_", " "), entry.title, ...entry.messages, entry.fix.replace(/<[^>]*>/g, " ")].join(" ")));

  function findByWords(text) {
    const wanted = [...stems(text)];
    const weight = (word) => {
      const count = entries.filter((entry) => wordsOf(entry).has(word)).length;
      return count ? Math.log(1 + entries.length / count) : 2;
    };
    const weights = new Map(wanted.map((word) => [word, weight(word)]));
    const sum = (words) => words.reduce((total, word) => total + weights.get(word), 0);
    const scored = entries.map((entry) => ({ entry, score: sum(wanted.filter((word) => wordsOf(entry).has(word))) }));
    const good = scored.filter((match) => match.score > 0 && match.score >= sum(wanted) / 2);
    return good.sort((a, b) => b.score - a.score).slice(0, 4).map((match) => match.entry);
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
    const names = [...new Set([...text.matchAll(CONDITION)].map((match) => match[1]))].filter((name) => !WRAPPERS.includes(name));
    const problem = names.length ? `No page explains ${names.join(", ")}.` : "This text contains no known error condition.";
    const advice = "Paste the whole stack trace, including the last “Caused by”, or see the";
    const paragraph = element("p", `${problem} ${advice} `);
    paragraph.append(element("a", "symptoms without an exception", { href: "debugging.html" }), ".");
    return element("div", paragraph, { className: "finding" });
  }

  function update() {
    const text = plain(trace.value);
    const known = text.trim() ? find(text) : [];
    const isTrace = known.length || new RegExp(CONDITION.source).test(text) || /\w(Exception|Error)\b/.test(text);
    const matches = isTrace ? known : findByWords(text);
    findings.replaceChildren(...(matches.length ? matches.map(card) : text.trim() ? [unknown(trace.value)] : []));
  }

  trace.addEventListener("input", update);
  trace.form.addEventListener("submit", (event) => event.preventDefault());
  update();
})();
