-- for queries in real-time mode
SET spark.sql.streaming.stateStore.checkpointFormatVersion = 1; -- expect: setting
SET spark.sql.shuffle.partitions = 200; -- expect: shuffle-partitions
