def read(kind):
    return spark.readStream.format(kind).load()  # expect: source


read("delta").writeStream.format("kafka").option("topic", "out").option("checkpointLocation", "/c").outputMode("update").trigger(realTime="5 minutes").start()
