// Runs the linter in Python. The first message names the folder of Python, each other one a text, its name and an engine.
const CHECK = `
import sys
sys.path.insert(0, "/linter")
from dataclasses import asdict
from spark_rtm.lint.engine import lint_text

def check(text, name, engine):
    return [asdict(finding) for finding in lint_text(text, name, engine or None)]
`;
let check = null;

async function load(base) {
  const { loadPyodide } = await import(`${base}pyodide.mjs`);
  const [python, response] = await Promise.all([loadPyodide({ indexURL: base }), fetch(`${base}linter.zip`)]);
  python.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: "/linter" });
  python.runPython(CHECK);
  const run = python.globals.get("check");
  return (text, name, engine) => {
    const found = run(text, name, engine);
    const findings = found.toJs({ dict_converter: Object.fromEntries });
    found.destroy();
    return findings;
  };
}

onmessage = async ({ data }) => {
  if (data.base) {
    check = load(data.base);
    return;
  }
  try {
    postMessage({ findings: (await check)(data.text, data.name, data.engine) });
  } catch (error) {
    postMessage({ problem: `The linter failed: ${error.message}` });
  }
};
