-- not in real-time mode
CREATE OR REFRESH STREAMING TABLE alerts TBLPROPERTIES ('pipelines.trigger.interval' = '10 seconds')
AS SELECT * FROM STREAM read_kafka(subscribe => 'events');
-- TBLPROPERTIES ('pipelines.trigger' = 'RealTime')
