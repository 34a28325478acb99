frame.write.option("realtime", "true").save("/realtime")
client.option("realTime", "true")
