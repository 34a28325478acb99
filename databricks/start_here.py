# Databricks notebook source
# MAGIC %md
# MAGIC # Real-time mode: the first hour
# MAGIC
# MAGIC The same query runs in real-time mode and in micro-batch mode, on the same records, and the last table compares the latencies.
# MAGIC **Nobody has run this notebook on Databricks.** Our tests run its cells on open-source Spark 4.3.0 with a real Kafka broker. What it says about Databricks comes from its documentation, with dates on the pages of the repository.
# MAGIC
# MAGIC Run the first two cells, fill in the fields at the top, then run the other cells.

# COMMAND ----------

# MAGIC %pip install confluent-kafka==2.16.1

# COMMAND ----------

dbutils.widgets.text("bootstrap_servers", "", "Kafka servers (empty: from the secret scope)")
dbutils.widgets.text("checkpoints", "", "Folder for checkpoints on a volume")
dbutils.widgets.text("secret_scope", "", "Secret scope with user and password (empty: no login)")
dbutils.widgets.dropdown("mechanism", "PLAIN", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], "Login mechanism")

# COMMAND ----------

# MAGIC %md
# MAGIC ## 1. Check the cluster and the broker
# MAGIC
# MAGIC Each line is `fine`, or says what to do. A changed cluster setting needs a restart of the cluster.

# COMMAND ----------

import json
import os
import time
import uuid

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

scope, mechanism = dbutils.widgets.get("secret_scope"), dbutils.widgets.get("mechanism")
servers = dbutils.widgets.get("bootstrap_servers") or dbutils.secrets.get(scope, "bootstrap-servers")
checkpoints = dbutils.widgets.get("checkpoints")
kafka, client = {"kafka.bootstrap.servers": servers}, {"bootstrap.servers": servers, "log_level": 3}
if scope:
    user, password = dbutils.secrets.get(scope, "user"), dbutils.secrets.get(scope, "password")
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    words = [json.dumps(word, ensure_ascii=False) for word in (user, password)]
    jaas = f"kafkashaded.org.apache.kafka.common.security.{module}LoginModule required"
    login = {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism}
    kafka |= {f"kafka.{name}": value for name, value in login.items()}
    kafka["kafka.sasl.jaas.config"] = f"{jaas} username={words[0]} password={words[1]};"
    client |= {**login, "sasl.username": user, "sasl.password": password}
admin = AdminClient(client)
try:
    admin.list_topics(timeout=20)
    broker = "fine"
except KafkaException as error:
    broker = f"no answer ({error}): correct the servers, the login, or the network between the cluster and the broker"
runtime = os.environ.get("DATABRICKS_RUNTIME_VERSION", "0")
flag = "spark.databricks.streaming.realTimeMode.enabled"
slots = spark.sparkContext.defaultParallelism
checks = {
    "runtime": "fine" if int(runtime.partition(".")[0]) >= 18 else f"{runtime}: select Databricks Runtime 18 or newer",
    "flag": "fine" if spark.conf.get(flag, "") == "true" else f"add `{flag} true` to the cluster's Spark config",
    "slots": "fine" if slots >= 2 else f"{slots}, but two queries need 2: select a worker with 4 cores, no autoscaling",
    "folder": "fine" if checkpoints else "fill in a folder for checkpoints, such as /Volumes/main/default/checkpoints",
    "broker": broker,
}
print("\n".join(f"{name:8} {answer}" for name, answer in checks.items()))
assert set(checks.values()) == {"fine"}, "correct the lines above, then run this cell again"

# COMMAND ----------

# MAGIC %md
# MAGIC ## 2. Start the query in both modes
# MAGIC
# MAGIC Kafka must store the time at which it appends a record, because the latency is a difference of two such times. A record that is not valid text gets an empty result, so no record makes the query fail.

# COMMAND ----------

run = uuid.uuid4().hex[:8]
source, targets = f"first-hour-{run}", {mode: f"first-hour-{run}-{mode}" for mode in ("real-time", "micro-batch")}
config = {} if ".servicebus.windows.net" in servers else {"message.timestamp.type": "LogAppendTime"}
topics = [NewTopic(name, 1, config=config) for name in (source, *targets.values())]
for created in admin.create_topics(topics).values():
    created.result(30)
clicks = spark.readStream.format("kafka").options(**kafka, subscribe=source, startingOffsets="earliest").load()
shouts = clicks.selectExpr(
    "left(key, 1000) as key", "left(upper(try_validate_utf8(cast(value as string))), 100000) as value"
)
real_time = (
    shouts.writeStream.format("kafka")
    .options(**kafka, topic=targets["real-time"])
    .option("checkpointLocation", f"{checkpoints}/{run}/real-time")
    .queryName("first_hour_real_time")
    .outputMode("update")
    .trigger(realTime="5 minutes")
    .start()
)
micro_batch = (
    shouts.writeStream.format("kafka")
    .options(**kafka, topic=targets["micro-batch"])
    .option("checkpointLocation", f"{checkpoints}/{run}/micro-batch")
    .queryName("first_hour_micro_batch")
    .outputMode("update")
    .trigger(processingTime="0 seconds")
    .start()
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## 3. Send records
# MAGIC
# MAGIC Ten records per second for half a minute. The first records are slow, because the query is still starting.

# COMMAND ----------

RECORDS = 300
producer = Producer(client)
for number in range(RECORDS):
    producer.produce(source, f"click {number}", key=str(number))
    producer.poll(0.1)
producer.flush(30)

# COMMAND ----------

# MAGIC %md
# MAGIC ## 4. Compare the latencies
# MAGIC
# MAGIC The latency of a record is the time at which Kafka appended its result, minus the time at which Kafka appended the record.

# COMMAND ----------


def read(topic):
    """Return the keys of a topic's records, and the times at which Kafka appended them."""
    return spark.read.format("kafka").options(**kafka, subscribe=topic).load().selectExpr("key", "timestamp as time")


def latencies(mode):
    """Return one row with the latencies of a mode, without the first half of the records."""
    results = read(targets[mode]).withColumnRenamed("time", "result_time")
    rows = read(source).where(f"cast(cast(key as string) as int) >= {RECORDS // 2}").join(results, "key")
    latency = "unix_millis(result_time) - unix_millis(time)"
    return rows.selectExpr(
        f"'{mode}' as mode",
        "count(*) as records",
        f"percentile_approx({latency}, 0.5) as p50_ms",
        f"percentile_approx({latency}, 0.99) as p99_ms",
    )


deadline = time.time() + 60
while min(read(topic).count() for topic in targets.values()) < RECORDS:
    for query in (real_time, micro_batch):
        if query.exception():
            raise query.exception()
    assert time.time() < deadline, "a query is active but slow; read the page Debugging"
compared = latencies("real-time").union(latencies("micro-batch"))
compared.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## 5. Stop both queries
# MAGIC
# MAGIC Otherwise they would occupy their task slots until the cluster ends. Next: the job of the bundle, and the page Production, which explains each of its settings.

# COMMAND ----------

for query in (real_time, micro_batch):
    query.stop()
for deleted in admin.delete_topics([source, *targets.values()]).values():
    deleted.result(30)
