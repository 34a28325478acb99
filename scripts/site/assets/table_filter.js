// Filters the rows of all tables of a page by words and by engine. A section without a matching row is hidden.
"use strict";
(() => {
  const form = document.getElementById("table-filter");
  const text = document.getElementById("filter-text");
  const engine = document.getElementById("filter-engine");
  const count = document.getElementById("filter-count");
  const isHeading = (element) => /^H[2-6]$/.test(element.tagName);
  const names = (cells) => [...cells].map((cell) => cell.textContent.trim());

  // A table with a column for each engine, or with a column that names the engine of each row.
  function describe(table) {
    const header = names(table.tHead.rows[0].cells);
    const columns = ["OSS", "Databricks"].map((name) => header.findIndex((title) => title.split(/\W/).includes(name)));
    const hasBoth = columns.every((column) => column >= 0) && columns[0] !== columns[1];
    return {
      table,
      rows: [...table.tBodies[0].rows],
      columns: hasBoth ? { OSS: [columns[0], header.indexOf("since")], Databricks: [columns[1]] } : {},
      engineColumn: header.indexOf("engine"),
      sections: sectionsOf(table),
    };
  }

  // The headings above a table with all that follows them, from the section of the table up to its chapter.
  function sectionsOf(table) {
    let block = table;
    while (block.parentElement && block.parentElement.tagName !== "ARTICLE") block = block.parentElement;
    let heading = block;
    while (heading && heading.tagName !== "H2") heading = heading.previousElementSibling;
    return heading;
  }

  const article = form.closest("article");
  const tables = [...article.querySelectorAll("table")].filter((table) => table.tHead && table.tBodies.length).map(describe);

  function matches(row, words, chosen, { engineColumn }) {
    if (chosen && engineColumn >= 0) {
      const named = row.cells[engineColumn].textContent;
      if (/OSS|Databricks/.test(named) && !named.includes(chosen)) return false;
    }
    const content = row.textContent.toLowerCase();
    return words.every((word) => content.includes(word));
  }

  function showColumns({ table, columns }, chosen) {
    for (const [name, indexes] of Object.entries(columns)) {
      for (const index of indexes.filter((each) => each >= 0)) {
        for (const row of table.rows) row.cells[index].hidden = chosen !== "" && chosen !== name;
      }
    }
  }

  function showSections(words, found) {
    const withRows = new Set(tables.filter((table) => found.get(table) > 0).map((table) => table.sections));
    let heading = null;
    for (const block of [...article.children]) {
      if (block.tagName === "H2") heading = block;
      if (heading) block.hidden = words.length > 0 && !withRows.has(heading);
    }
    for (const table of tables) {
      const wrap = table.table.closest(".md-typeset__scrollwrap") ?? table.table;
      wrap.hidden = words.length > 0 && found.get(table) === 0;
    }
  }

  function update() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = engine ? engine.value : "";
    const found = new Map();
    for (const table of tables) {
      showColumns(table, chosen);
      let shown = 0;
      for (const row of table.rows) {
        row.hidden = !matches(row, words, chosen, table);
        if (!row.hidden) shown += 1;
      }
      found.set(table, shown);
    }
    showSections(words, found);
    const total = tables.reduce((sum, { rows }) => sum + rows.length, 0);
    const shown = [...found.values()].reduce((sum, number) => sum + number, 0);
    count.textContent = words.length ? `${shown} of ${total} rows; sections without a match are hidden` : `${shown} of ${total} rows`;
  }

  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  // A link to a section must reach it, so it clears the filter that hides the section.
  addEventListener("hashchange", () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest("[hidden]")) return;
    text.value = "";
    update();
    target.scrollIntoView();
  });
  update();
})();
