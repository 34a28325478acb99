// Finds the errors in a pasted text and shows the fix of each. The search is `find` in `spark_rtm/commands/errors.py` with the
// ranking of `spark_rtm/text/explanations.py`; the build generates its data, patterns and numbers.
"use strict";
(() => {
  const { errors, sections, synonyms, settings } = JSON.parse(document.getElementById("error-finder-data").textContent);
  const findings = document.getElementById("findings");
  const trace = document.getElementById("trace");
  const expression = (name, flags = "") => new RegExp(settings[name], flags);
  const whole = (name) => new RegExp(`^(?:${settings[name]})$`);
  const [isName, isToken, isLibraryClass] = [whole("name"), whole("token"), whole("libraryClass")];
  const [packages, isTrace] = [expression("packages"), expression("trace", "m")];
  const [common, weak, commonClasses] = ["common", "weak", "commonClasses"].map((name) => new Set(settings[name]));
  const largest = (numbers, least) => numbers.reduce((one, other) => Math.max(one, other), least);
  const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);

  const byName = new Map();
  for (const error of errors) {
    error.family = error.family && new RegExp(`^(?:${error.family})$`);
    error.stems = new Set(error.stems);
    error.names.forEach((name) => byName.set(name, [...(byName.get(name) || []), error]));
  }

  function find(text) {
    const flat = text.trim().split(/\s+/).join(" ");
    const [places, words] = [namesIn(flat), new Set(flat.toLowerCase().match(/[a-z0-9_]+/g) || [])];
    const matches = [...matchesOf(flat, places, words)].map(([error, [points, place]]) => ({ error, points, place }));
    if (!matches.length) {
      const isDescription = !places.size && words.size <= settings.maxWords && !isTrace.test(text);
      return isDescription ? findByWords(text) : [];
    }
    const causes = [...flat.matchAll(/Caused by:/g)].map((match) => match.index);
    const depths = new Map();
    for (const { error, place } of matches) {
      const depth = weak.has(error.condition) ? -1 : causes.filter((cause) => cause <= place).length;
      depths.set(error.page, Math.max(depth, depths.get(error.page) ?? -1));
    }
    for (const match of matches) {
      match.depth = depths.get(match.error.page);
      match.shared = match.error.identifiers.filter((name) => words.has(name)).length;
    }
    const order = (a, b) => b.depth - a.depth || b.points - a.points || b.shared - a.shared || b.place - a.place;
    const [best, ...others] = matches.sort(order);
    const isNear = (match) => match.depth === best.depth && match.points >= best.points - settings.maxDistance;
    return [best, ...others.filter(isNear)].slice(0, settings.maxFound).map((match) => match.error);
  }

  function namesIn(flat) {
    const found = new Map(flat.length <= settings.maxName && isToken.test(flat) && named(flat).length ? [[flat, 0]] : []);
    for (const word of flat.matchAll(/\S+/g)) {
      if (!settings.marks.some((mark) => word[0].includes(mark))) continue;
      for (const match of word[0].matchAll(expression("token", "g"))) {
        const name = match[0].replace(/^\.+|\.+$/g, "");
        if (name.length <= settings.maxName && (isName.test(name) || isLibraryClass.test(name))) {
          found.set(word[0].charAt(match.index - 1) === "[" ? `[${name}]` : name, word.index + match.index);
        }
      }
    }
    if (![...found.keys()].some((name) => name.startsWith("["))) {
      for (const match of flat.matchAll(expression("sqlstate", "gi"))) found.set(`SQLSTATE ${match[1]}`, match.index);
    }
    return found;
  }

  function named(name) {
    const bare = name.replace(/^[[\]]+|[[\]]+$/g, "");
    const isClass = /[a-z]/.test(bare);
    const withName = (key) => byName.get(key) || [];
    const full = isClass ? [] : [...withName(bare), ...withName(bare.split(".")[0])];
    const ofClass = isClass && packages.test(bare) ? withName(bare.split(".").pop()) : [];
    const own = [...ofClass, ...full.filter((error) => !name.startsWith("[") || bare.startsWith(error.condition))];
    if (own.length) return own.map((error) => [error, error.points]);
    const points = isClass ? settings.classPoints : settings.familyPoints;
    const family = errors.find((error) => error.family && [bare, `SQLSTATE ${bare}`].some((key) => error.family.test(key)));
    return family ? [[family, points]] : [];
  }

  function matchesOf(flat, places, words) {
    const [low, found] = [flat.toLowerCase(), new Map()];
    const at = (error) => found.get(error) || [0, -1];
    for (const [name, place] of places) {
      for (const [error, points] of named(name)) found.set(error, [points, Math.max(place, at(error)[1])]);
    }
    for (const error of errors) {
      const near = error.parts.filter(([, atoms]) => atoms.every((atom) => words.has(atom)));
      const place = largest(near.map(([parts]) => last(low, parts)), -1);
      if (place >= 0) found.set(error, [at(error)[0] + settings.messagePoints, Math.max(place, at(error)[1])]);
      else if (commonClasses.has(error.condition) && !places.has(flat)) found.delete(error);
    }
    return found;
  }

  function last(text, [first, ...rest]) {
    let start = text.length;
    for (let tries = 0; tries < settings.maxTries && start > 0; tries++) {
      start = text.lastIndexOf(first, start - 1);
      if (start < 0) break;
      let end = start + first.length;
      const follows = rest.every((part) => {
        const place = text.slice(end, end + settings.maxGap + part.length).indexOf(part);
        end += place + part.length;
        return place >= 0;
      });
      if (follows) return start;
    }
    return -1;
  }

  function stems(text) {
    const words = (text.match(expression("word", "g")) || []).map((word) => word.toLowerCase());
    const kept = words.filter((word) => word.length > 1 && !common.has(word));
    const endings = kept.map((word) => word.replace(/(?:ing|ed|es|s|e)$/, "").replace(/(?:ied|ies|y)$/, "i"));
    return [...new Set(endings.map((word) => word.replace(/(.)\1$/, "$1")))].sort();
  }

  const count = new Map();
  for (const { head, body } of sections) {
    for (const stem of Object.keys({ ...head, ...body })) count.set(stem, (count.get(stem) || 0) + 1);
  }
  const weightOf = (stem) => Math.log(1 + sections.length / count.get(stem));
  const has = (stemsOf, stem) => Object.hasOwn(stemsOf, stem);

  function termOf(stem) {
    const others = (has(synonyms, stem) ? synonyms[stem] : []).filter((other) => count.has(other));
    const own = count.has(stem) ? [[stem, weightOf(stem)]] : [];
    return [...own, ...others.map((other) => [other, weightOf(other) * settings.synonymWeight])];
  }

  function findByWords(text) {
    const terms = stems(text).map(termOf);
    const heaviest = (term, least) => largest(term.map(([, weight]) => weight), term.length ? 0 : least);
    const total = sum(terms.map((term) => heaviest(term, settings.unknownWeight)));
    const sizes = sections.map(({ body }) => sum(Object.values(body)));
    const mean = sum(sizes) / Math.max(1, sections.length);
    const ranked = sections.map((section, number) => {
      const { head, phrases, body, page } = section;
      const length = settings.saturation * (1 - settings.lengthWeight + (settings.lengthWeight * sizes[number]) / mean);
      const covered = (stem) => (has(head, stem) ? 1 : has(body, stem) ? settings.bodyWeight : 0);
      const times = (stem) => (has(head, stem) ? head[stem] : 0) + (has(body, stem) ? body[stem] : 0);
      const gain = (weight, times) => (weight * times) / (times + length);
      const share = sum(terms.map((term) => largest(term.map(([stem, weight]) => weight * covered(stem)), 0)));
      const score = sum(terms.map((term) => largest(term.map(([stem, weight]) => gain(weight, times(stem))), 0)));
      const inPhrase = (phrase) => sum(terms.map((term) => largest(term.map(([stem, weight]) => (phrase.includes(stem) ? weight : 0)), 0)));
      const together = score * (0.1 + (0.9 * share) / total) + settings.phraseWeight * largest(phrases.map(inPhrase), 0);
      return { section, share, score: together * (page.includes("#") ? 1 : settings.pageWeight) };
    });
    const near = total ? ranked.filter(({ share }) => share >= settings.minShare * total) : [];
    near.sort((a, b) => b.score - a.score);
    return near.slice(0, settings.maxFound).map(({ section }) => answer(section, terms));
  }

  function answer(section, terms) {
    const shared = (stemsOf) => sum(terms.map((term) => largest(term.map(([stem, weight]) => (stemsOf(stem) ? weight : 0)), 0)));
    const rows = errors.filter((error) => error.page === section.page && !error.family);
    const points = rows.map((error) => shared((stem) => error.stems.has(stem)));
    const best = largest(points, -1);
    const isEnough = best >= settings.minShared * shared(() => true);
    return rows.length && isEnough ? rows[points.indexOf(best)] : section;
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
    const [last] = [...namesIn(text.trim().split(/\s+/).join(" "))].sort(([, one], [, other]) => other - one);
    const problem = last ? `No page explains ${last[0].replace(/[[\]]/g, "")}.` : "This text contains no known error.";
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
