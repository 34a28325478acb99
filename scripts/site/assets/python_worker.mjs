// Runs the modules of this repository in Python. The first message contains the address of Python's folder. Each later
// message contains either a text to lint, with its name and an engine, or the arguments of a command.
const FUNCTIONS = `
import contextlib, io, sys
sys.path.insert(0, "/rtm")
from spark_rtm.cli import main
from spark_rtm.lint.engine import lint_text

def lint(text, name, engine):
    return {"findings": [finding.content for finding in lint_text(text, name, engine or None)]}

def run(arguments):
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(arguments.to_py())
        except SystemExit:
            pass
    return {"output": output.getvalue()}
`;
let functions = null;

async function load(base) {
  const { loadPyodide } = await import(`${base}pyodide.mjs`);
  const [python, response] = await Promise.all([loadPyodide({ indexURL: base }), fetch(`${base}spark_rtm.zip`)]);
  python.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: "/rtm" });
  python.runPython(FUNCTIONS);
  return python.globals;
}

function call(globals, { text, name, engine, command }) {
  const answer = command ? globals.get("run")(command) : globals.get("lint")(text, name, engine);
  const plain = answer.toJs({ dict_converter: Object.fromEntries });
  answer.destroy();
  return plain;
}

onmessage = async ({ data }) => {
  if (data.base) {
    functions = load(data.base);
    return;
  }
  try {
    postMessage(call(await functions, data));
  } catch (error) {
    postMessage({ problem: `Python failed: ${error.message}` });
  }
};
