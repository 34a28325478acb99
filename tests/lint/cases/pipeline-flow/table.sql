CREATE OR REFRESH STREAMING TABLE alerts
TBLPROPERTIES ('pipelines.trigger' = 'RealTime') -- expect: pipeline-flow
AS SELECT * FROM STREAM read_kafka(subscribe => 'events');
SET pipelines.trigger = 'RealTime'; -- expect: pipeline-flow
