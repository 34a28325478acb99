// Counts the task slots of real-time queries as `slots_needed` of examples/realtime/slots.py does from a plan;
// tests/pages/slot_cases.json is the table that both must agree with.
"use strict";
(() => {
  const form = document.getElementById("slot-form");
  const field = (name) => form.elements[name];
  const show = (id, text) => { document.getElementById(id).textContent = text; };

  function read() {
    const packed = field("max_partitions").value ? Number(field("max_partitions").value) : Infinity;
    const partitions = Number(field("source_partitions").value);
    const isOss = field("engine").value === "oss";
    return {
      isOss,
      isPackedInVain: isOss && packed < partitions,
      source: isOss ? partitions : Math.min(partitions, packed),
      repartitions: field("repartitions").value.split(",").map(Number).reduce((sum, count) => sum + count, 0),
      state: Number(field("shuffle_partitions").value) * Number(field("stateful_stages").value),
      queries: Number(field("queries").value),
      available: Number(field("slots_available").value),
      cores: Number(field("cores_per_worker").value),
    };
  }

  function verdict(asked, needed) {
    const missing = needed - asked.available;
    const have = `${asked.available} available`;
    if (missing <= 0) return `Enough: ${needed} of ${have}, ${-missing} left for batch jobs of the same session.`;
    const isStateless = asked.repartitions + asked.state === 0;
    if (!asked.isOss) return `Too few: ${needed} needed, ${have}. Databricks does not schedule a query that lacks slots.`;
    if (isStateless) {
      const partitions = asked.source * asked.queries;
      return `Too few: ${missing} of ${partitions} source partitions starve for ever, and Spark reports nothing.`;
    }
    if (asked.available >= asked.source + asked.repartitions + asked.state) {
      const fitting = Math.floor(asked.available / (needed / asked.queries));
      return `Too few: ${fitting} of ${asked.queries} queries fit; the next one ends with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT.`;
    }
    return `Too few: the query ends with CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT after start(); ${missing} slots are missing.`;
  }

  function cluster(asked, needed) {
    const workers = Math.ceil(needed / asked.cores);
    const fixed = `${workers} ${workers === 1 ? "worker" : "workers"} of ${asked.cores} cores`;
    const where = asked.isOss ? `local[${needed}] on one machine, or ${fixed}` : `${fixed}, a fixed number without autoscaling or spot instances`;
    const vain = asked.isPackedInVain ? " maxPartitions has no effect on OSS 4.3.0." : "";
    return `Cluster: ${where}.${vain}`;
  }

  function answer() {
    if (!form.checkValidity()) {
      show("slots_needed", "?");
      show("slots_sum", "A field has no usable number.");
      show("slots_verdict", "");
      show("slots_cluster", "");
      return;
    }
    const asked = read();
    const needed = asked.queries * (asked.source + asked.repartitions + asked.state);
    const times = asked.queries === 1 ? "" : `${asked.queries} × `;
    show("slots_needed", String(needed));
    show("slots_sum", `${times}(${asked.source} source + ${asked.repartitions} repartition + ${asked.state} state)`);
    show("slots_verdict", verdict(asked, needed));
    show("slots_cluster", cluster(asked, needed));
  }

  form.addEventListener("input", answer);
  form.addEventListener("submit", (event) => event.preventDefault());
  answer();
})();
