def read():
    return spark.readStream.format("kafka").option("subscribe", "events").load()


read().union(read()).writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
