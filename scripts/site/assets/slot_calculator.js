// Counts the task slots of real-time queries. `slots_needed` in spark_rtm/realtime/slots.py counts slots from a query plan.
// Tests check both counts against the cases in tests/pages/slot_cases.json.
"use strict";
(() => {
  const form = document.getElementById("slot-form");
  const field = (name) => form.elements[name];
  const show = (id, text) => { document.getElementById(id).textContent = text; };

  function read() {
    const maxPartitions = field("max_partitions").value ? Number(field("max_partitions").value) : Infinity;
    const partitions = Number(field("source_partitions").value);
    const isOss = field("engine").value === "oss";
    return {
      isOss,
      ignoresMaxPartitions: isOss && maxPartitions < partitions,
      source: isOss ? partitions : Math.min(partitions, maxPartitions),
      repartitions: field("repartitions").value.split(",").map(Number).reduce((sum, count) => sum + count, 0),
      state: Number(field("shuffle_partitions").value) * Number(field("stateful_stages").value),
      queries: Number(field("queries").value),
      available: Number(field("slots_available").value),
      cores: Number(field("cores_per_worker").value),
    };
  }

  function outcome(input, needed) {
    const missing = needed - input.available;
    if (missing <= 0) return `Enough: ${needed} of ${input.available} available slots are used, ${-missing} are left for batch jobs in the same session.`;
    const isStateless = input.repartitions + input.state === 0;
    if (!input.isOss) return `Too few: ${needed} slots needed, ${input.available} available. Databricks does not schedule a query that lacks slots.`;
    if (isStateless) {
      const partitions = input.source * input.queries;
      return `Too few: ${missing} of ${partitions} source partitions are never read, and Spark reports no error.`;
    }
    if (input.available >= input.source + input.repartitions + input.state) {
      const fitting = Math.floor(input.available / (needed / input.queries));
      return `Too few: ${fitting} of ${input.queries} queries fit. The next one fails with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT.`;
    }
    const slots = missing === 1 ? "slot is" : "slots are";
    return `Too few: ${missing} ${slots} missing. After start(), the query fails with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT.`;
  }

  function cluster(input, needed) {
    const workers = Math.ceil(needed / input.cores);
    const fixedSize = workers === 1 ? `1 worker with ${input.cores} cores` : `${workers} workers with ${input.cores} cores each`;
    const size = input.isOss ? `local[${needed}] on one machine, or ${fixedSize}` : `${fixedSize}, fixed size, no autoscaling, no spot instances`;
    const note = input.ignoresMaxPartitions ? " maxPartitions has no effect on OSS 4.3.0." : "";
    return `Cluster: ${size}.${note}`;
  }

  function update() {
    if (!form.checkValidity()) {
      show("slots_needed", "?");
      show("slots_sum", "Enter a valid number in each field.");
      show("slots_outcome", "");
      show("slots_cluster", "");
      return;
    }
    const input = read();
    const needed = input.queries * (input.source + input.repartitions + input.state);
    const factor = input.queries === 1 ? "" : `${input.queries} × `;
    show("slots_needed", String(needed));
    show("slots_sum", `${factor}(${input.source} source + ${input.repartitions} repartition + ${input.state} state)`);
    show("slots_outcome", outcome(input, needed));
    show("slots_cluster", cluster(input, needed));
  }

  window.rtmForms.share(form, update);
})();
