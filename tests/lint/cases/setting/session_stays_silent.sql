-- for queries in real-time mode
SET spark.sql.streaming.stateStore.checkpointFormatVersion = 2;
SET spark.databricks.streaming.realTimeMode.enabled;
SET spark.databricks.streaming.realTimeMode.streamStreamJoin.enabled = true;
SET spark.databricks.streaming.realTimeMode.enabled = true; -- rtm: ignore[flag-in-session] the cluster sets it, too
