"""Works without real-time mode."""

def read(kind):
    return spark.readStream.format(kind).load()


read("delta").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(processingTime="1 second").start()
